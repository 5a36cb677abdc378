"""IPv4 addresses replaced so that every relation between their networks stays as it was.

The map is prefix-preserving, after Xu, Fan, Ammar and Moon ("Prefix-preserving
IP address anonymization", 2002): two addresses that share their first k bits
share them afterwards. Whether bit k is flipped depends on the bits before it,
so the choices form a binary tree. Some of its nodes are pinned, which keeps
special ranges, network addresses and broadcast addresses what they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv4Network

__all__ = ["ScrambledAddresses"]

_BITS = 32
_Node = tuple[int, int]  # how many bits, and which

_SPECIAL = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "1.0.0.0/8",  # with the first, keeps the steps in which a VPN splits the default route
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "224.0.0.0/3",
    )
)
_UNCHANGED = tuple(IPv4Network(text) for text in ("0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/3"))


class ScrambledAddresses:
    """The map for one set of addresses.

    Args:
        addresses: All that will be asked for and should change.
        networks: Those the addresses are in, and the destinations of routes; the first
            and the last address of each stay first and last.
        blocks: Networks that only map to themselves, though what is in them may move.
        unchanged: Networks in which every address stays as it is.
        key: Secret; without it nobody can undo the map.
    """

    def __init__(
        self,
        addresses: Iterable[IPv4Address],
        networks: Iterable[IPv4Network],
        blocks: Iterable[IPv4Network],
        unchanged: Iterable[IPv4Network],
        key: bytes,
    ) -> None:
        self._key = key
        self._unchanged = (*_UNCHANGED, *unchanged)
        self._pinned: set[_Node] = set()
        for network in (*_SPECIAL, *blocks, *self._unchanged):
            self._pinned.update(_path(int(network.network_address), 0, network.prefixlen))
        for network in networks:
            for end in (network.network_address, network.broadcast_address):
                self._pinned.update(_path(int(end), network.prefixlen, _BITS))
        self._flipped: set[_Node] = set()
        for address in sorted(addresses):
            self._make_sure_it_changes(address)

    def scramble(self, address: IPv4Address) -> IPv4Address:
        """The address that stands for this one."""
        if any(address in network for network in self._unchanged):
            return address
        number = int(address)
        result = 0
        for depth, prefix in _path(number, 0, _BITS):
            bit = number >> (_BITS - 1 - depth) & 1
            result = result << 1 | (bit ^ self._flips((depth, prefix)))
        return IPv4Address(result)

    def scramble_network(self, network: IPv4Network) -> IPv4Network:
        """The network that stands for this one."""
        mapped = int(self.scramble(network.network_address))
        return IPv4Network((mapped & int(network.netmask), network.prefixlen))

    def _flips(self, node: _Node) -> bool:
        if node in self._pinned:
            return False
        if node in self._flipped:
            return True
        depth, prefix = node
        text = depth.to_bytes(1, "big") + prefix.to_bytes(4, "big")
        return bool(hashlib.blake2b(text, key=self._key, digest_size=1).digest()[0] & 1)

    def _make_sure_it_changes(self, address: IPv4Address) -> None:
        """Flip the first bit that may be, of an address that chance left as it was.

        That moves whole subtrees, and brings no address back to where it was:
        a bit that was flipped stays so.
        """
        if self.scramble(address) != address:
            return
        free = (node for node in _path(int(address), 0, _BITS) if node not in self._pinned)
        if not any(address in network for network in self._unchanged):
            self._flipped.update(list(free)[:1])


def _path(number: int, first: int, end: int) -> Iterator[_Node]:
    """The nodes where bits ``first`` to ``end`` of a number are decided."""
    for depth in range(first, end):
        yield depth, number >> (_BITS - depth)
