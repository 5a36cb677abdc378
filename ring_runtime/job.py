"""What all ranks of a job have to agree on, and what a disagreement is called."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass

from ring_runtime.hostfile import AddressList, Endpoint
from ring_runtime.wire import Hello

__all__ = ["Job", "Slot", "describe_mismatch", "find_exposed"]

# Where distributed_config takes the addresses of cables from, as long as they are free.
_CABLES = tuple(
    ipaddress.ip_network(block)
    for block in (
        *(f"10.{number}.0.0/20" for number in range(224, 232)),
        "172.29.0.0/20",
        "192.168.224.0/20",
    )
)

Slot = tuple[str, int]


@dataclass(frozen=True)
class Job:
    """What all ranks of a job have to agree on.

    Args:
        secret: None without one.
    """

    digest: bytes
    size: int
    rank: int
    secret: bytes | None

    def hello(self, peer: int, slot: Slot) -> Hello:
        """What we say on a connection with this rank."""
        kind, index = slot
        has_secret = self.secret is not None
        nonce = os.urandom(32)
        return Hello(self.digest, self.size, self.rank, peer, kind, index, has_secret, nonce)


def describe_mismatch(ours: Hello, theirs: Hello) -> str:
    """Why these two do not belong together, with both values, or "".

    Args:
        ours: Addressed to the rank we expect at the other end.
    """
    if theirs.version != ours.version:
        return f"the other speaks version {theirs.version} of the protocol, we {ours.version}"
    if theirs.size != ours.size:
        return f"the other belongs to a job of {theirs.size} ranks, we to one of {ours.size}"
    if theirs.digest != ours.digest:
        return (
            f"the other has another hostfile (digest {theirs.digest[:4].hex()}, "
            f"ours {ours.digest[:4].hex()})"
        )
    if (theirs.rank, theirs.peer) != (ours.peer, ours.rank):
        return (
            f"the other says it is rank {theirs.rank} speaking to rank {theirs.peer}; "
            f"we are rank {ours.rank} and expect rank {ours.peer}"
        )
    if (theirs.kind, theirs.index) != (ours.kind, ours.index):
        return (
            f"the other speaks of {theirs.kind} connection {theirs.index}, "
            f"we of {ours.kind} connection {ours.index}"
        )
    if theirs.has_secret != ours.has_secret:
        who = "the other has" if theirs.has_secret else "only we have"
        return f"{who} a RING_SECRET"
    return ""


def find_exposed(addresses: AddressList) -> Endpoint | None:
    """The first endpoint that others than this machine and its cables may reach, if any.

    Example:
        >>> find_exposed(((Endpoint("127.0.0.1", 1),), (Endpoint("10.231.0.5", 2),))) is None
        True
        >>> str(find_exposed(((Endpoint("192.168.1.20", 5000),),)))
        '192.168.1.20:5000'
    """
    for endpoints in addresses:
        for endpoint in endpoints:
            if not _is_private_to_us(endpoint.host):
                return endpoint
    return None


def _is_private_to_us(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host == "localhost"
    return address.is_loopback or any(address in block for block in _CABLES)
