"""``rdma_ctl status``: whether RDMA over Thunderbolt is switched on (macOS 26.2 and newer)."""

from __future__ import annotations

from distconfig.probes.parsed import Parsed, misunderstood, split_lines

__all__ = ["parse_rdma_ctl"]


def parse_rdma_ctl(stdout: bytes) -> Parsed[str]:
    """``enabled`` or ``disabled``, for the whole Mac; it says nothing about single ports.

    Raises:
        UnexpectedOutput: It printed anything else.

    Example:
        >>> parse_rdma_ctl(b"enabled\\n").value
        'enabled'
    """
    lines = split_lines(stdout)
    if lines not in (["enabled"], ["disabled"]):
        raise misunderstood("neither enabled nor disabled", "\n".join(lines[:2]))
    return Parsed(lines[0])
