"""What every parser here returns and raises, and the checks on single words that they share.

Everything a host prints is untrusted: an interface name, UUID or address that
passed through here has the shape of one and nothing else in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address
from typing import Generic, TypeVar
from uuid import UUID

from distconfig.errors import UnexpectedOutput

__all__ = [
    "Parsed",
    "is_interface_name",
    "misunderstood",
    "parse_address",
    "parse_interface_name",
    "parse_uuid",
    "split_lines",
]

_Value = TypeVar("_Value", covariant=True)

_INTERFACE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,14}")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_LONGEST_SHOWN = 200


@dataclass(frozen=True)
class Parsed(Generic[_Value]):
    """What a command said, and its lines that were not understood and carry no fact we use."""

    value: _Value
    notes: tuple[str, ...] = ()


def misunderstood(what: str, at: str = "") -> UnexpectedOutput:
    """The error for output that carries a fact we use and can not be read.

    Args:
        at: The offending line, or the path to the offending value.
    """
    shown = at if len(at) <= _LONGEST_SHOWN else at[:_LONGEST_SHOWN] + "..."
    hint = "If this host works otherwise, report it with a recording (--save DIR --anonymise)."
    return UnexpectedOutput(what, at=shown, hint=hint)


def split_lines(stdout: bytes) -> list[str]:
    """The lines of a command's output; bytes that are not UTF-8 become U+FFFD.

    Raises:
        UnexpectedOutput: The last line has no end, so something of it may be missing.

    Example:
        >>> split_lines(b"en0\\nen1\\n")
        ['en0', 'en1']
    """
    lines = stdout.decode("utf-8", errors="replace").split("\n")
    if lines[-1]:
        raise misunderstood("the output ends in the middle of a line", lines[-1])
    return [line.removesuffix("\r") for line in lines[:-1]]


def is_interface_name(word: str) -> bool:
    """The word could name an interface of the kernel: ``en5``, ``bridge0``, ``XHC20``."""
    return _INTERFACE_NAME.fullmatch(word) is not None


def parse_interface_name(word: str, at: str) -> str:
    """The word itself, if it can name an interface.

    Raises:
        UnexpectedOutput: It can not.
    """
    if not is_interface_name(word):
        raise misunderstood(f"{word[:40]!r} is not the name of an interface", at)
    return word


def parse_uuid(word: str, at: str) -> UUID:
    """The UUID written in the word, in 8-4-4-4-12 digits of either case.

    Raises:
        UnexpectedOutput: It is not one.
    """
    if not _UUID.fullmatch(word):
        raise misunderstood(f"{word[:40]!r} is not a UUID", at)
    return UUID(word)


def parse_address(word: str, at: str) -> IPv4Address:
    """The IPv4 address written in the word.

    Raises:
        UnexpectedOutput: It is not one.
    """
    try:
        return IPv4Address(word)
    except AddressValueError as error:
        raise misunderstood(f"{word[:40]!r} is not an IPv4 address", at) from error
