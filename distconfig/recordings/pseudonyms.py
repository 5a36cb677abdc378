"""Names that stand for others: one per value, whatever form the value is written in."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv6Address
from typing import TypeVar
from uuid import UUID

__all__ = ["Pseudonyms"]

T = TypeVar("T")

_EUI_MIDDLE = b"\xff\xfe"
_GROUP_ADDRESS = 1


class Pseudonyms:
    """Gives the same value the same pseudonym, numbered in the order they are asked for.

    Args:
        taken: Lower-case words that no pseudonym of a name may be.
    """

    def __init__(self, taken: frozenset[str] = frozenset()) -> None:
        self._taken = taken
        self._uuids: dict[UUID, UUID] = {}
        self._macs: dict[bytes, bytes] = {}
        self._uids: dict[bytes, bytes] = {}
        self._words: dict[str, dict[str, str]] = {}
        self._ipv6_networks: dict[bytes, bytes] = {}
        self._ipv6_hosts: dict[bytes, bytes] = {}

    def uuid(self, value: UUID) -> UUID:
        """A UUID of version 4 that stands for this one.

        Example:
            >>> Pseudonyms().uuid(UUID("01e40eec-b573-42ce-adcc-411fd8565b44"))
            UUID('00000001-0000-4000-8000-000000000001')
        """
        return _once(self._uuids, value, lambda n: UUID(f"{n:08x}-0000-4000-8000-{n:012x}"))

    def mac(self, value: bytes) -> bytes:
        """A MAC address with the same first octet; zeros and group addresses stay.

        Example:
            >>> Pseudonyms().mac(bytes.fromhex("367eb011e500")).hex(":")
            '36:00:00:00:00:01'
        """
        if value == bytes(6) or value[0] & _GROUP_ADDRESS:
            return value
        return _once(self._macs, value, lambda n: value[:1] + n.to_bytes(5, "big"))

    def switch_uid(self, value: bytes) -> bytes:
        """The UID of a Thunderbolt switch, with the same vendor in front; zeros stay."""
        if value == bytes(8):
            return value
        return _once(self._uids, value, lambda n: value[:2] + n.to_bytes(6, "big"))

    def knows_uid(self, value: bytes) -> bool:
        """The UID was given a pseudonym before."""
        return value in self._uids

    def word(self, kind: str, value: str) -> str:
        """A word such as ``host1`` for a name, whatever its case.

        Example:
            >>> names = Pseudonyms(taken=frozenset({"host1"}))
            >>> names.word("host", "Atlas"), names.word("host", "birch"), names.word("x", "atlas")
            ('host2', 'host3', 'host2')
        """
        for words in self._words.values():
            if value.lower() in words:
                return words[value.lower()]
        words = self._words.setdefault(kind, {})
        number = 1
        while f"{kind}{number}" in self._taken or f"{kind}{number}" in words.values():
            number += 1
        words[value.lower()] = f"{kind}{number}"
        return words[value.lower()]

    def ipv6(self, value: IPv6Address) -> IPv6Address:
        """An address whose halves stand for the halves of this one.

        An interface identifier made of a MAC address stays made of that one's
        pseudonym; short ones such as ``::1`` and group addresses stay.
        """
        packed = value.packed
        if packed[0] == 0xFF or packed[:8] == bytes(8):
            return value
        return IPv6Address(self._ipv6_network(packed[:8]) + self._ipv6_host(packed[8:]))

    def _ipv6_network(self, half: bytes) -> bytes:
        if half[0] == 0xFE and half[1] & 0xC0 == 0x80:
            return half
        front = b"\xfd\0\0\0" if half[0] & 0xFE == 0xFC else b"\x20\x01\x0d\xb8"
        return _once(self._ipv6_networks, half, lambda n: front + n.to_bytes(4, "big"))

    def _ipv6_host(self, half: bytes) -> bytes:
        if half[:7] == bytes(7):
            return half
        if half[3:5] == _EUI_MIDDLE:
            mac = self.mac(bytes([half[0] ^ 2]) + half[1:3] + half[5:])
            return bytes([mac[0] ^ 2]) + mac[1:3] + _EUI_MIDDLE + mac[3:]
        return _once(self._ipv6_hosts, half, lambda n: b"\1" + n.to_bytes(7, "big"))


def _once(made: dict[T, T], value: T, make: Callable[[int], T]) -> T:
    if value not in made:
        made[value] = make(len(made) + 1)
    return made[value]
