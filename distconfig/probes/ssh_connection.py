"""``$SSH_CONNECTION``: through which addresses we are talking to the host."""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address, IPv6Address

from distconfig.probes.parsed import Parsed, misunderstood, split_lines

__all__ = ["parse_ssh_connection"]


def _is_address(word: str) -> bool:
    try:
        IPv6Address(word) if ":" in word else IPv4Address(word)
    except AddressValueError:
        return False
    return True


def _is_port(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) <= 5 and int(word) <= 65535


def parse_ssh_connection(stdout: bytes) -> Parsed[tuple[str, ...]]:
    """Client address, client port, server address, server port; see sshd(8), ENVIRONMENT.

    Raises:
        UnexpectedOutput: It is set to anything else.

    Example:
        >>> parse_ssh_connection(b"192.168.1.10 52144 192.168.1.21 22\\n").value
        ('192.168.1.10', '52144', '192.168.1.21', '22')
    """
    lines = split_lines(stdout)
    words = tuple(lines[0].split(" ")) if len(lines) == 1 else ()
    if (
        len(words) != 4
        or not all(map(_is_address, words[::2]))
        or not all(map(_is_port, words[1::2]))
    ):
        raise misunderstood("not two addresses with their ports", "\n".join(lines[:2]))
    return Parsed(words)
