"""``sudo -n true`` and ``sudo -n -l``: what sudo allows without a password."""

from __future__ import annotations

from dataclasses import dataclass

from distconfig.hosts.shell import Completed
from distconfig.probes.parsed import Parsed

__all__ = ["SudoAbility", "parse_sudo"]


@dataclass(frozen=True)
class SudoAbility:
    """What sudo allows without a password.

    Args:
        everything: ``sudo -n true`` succeeded.
        listing: Output of ``sudo -n -l`` where it answered; empty otherwise.
        problem: Why not, in sudo's own words; empty when everything is allowed.
    """

    everything: bool
    listing: str = ""
    problem: str = ""


def parse_sudo(true: Completed, listing: Completed | None = None) -> Parsed[SudoAbility]:
    """What sudo allows, from how two commands ended; its words are only shown, never read.

    Args:
        true: ``sudo -n true``.
        listing: ``sudo -n -l``, which lists single commands that are allowed.

    Example:
        >>> refused = Completed(("sudo",), 1, stderr=b"sudo: a password is required\\n")
        >>> parse_sudo(refused).value
        SudoAbility(everything=False, listing='', problem='sudo: a password is required')
    """
    everything = true.returncode == 0
    words = true.stderr.decode("utf-8", errors="replace").strip()
    problem = "" if everything else words or f"sudo ended with {true.returncode}"
    listed = listing.stdout if listing is not None and listing.returncode == 0 else b""
    return Parsed(SudoAbility(everything, listed.decode("utf-8", errors="replace"), problem))
