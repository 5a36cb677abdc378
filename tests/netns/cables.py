"""Network namespaces joined by veth pairs: hosts and cables, with a rate and a plug to pull."""

from __future__ import annotations

import contextlib
import os
import subprocess
from types import TracebackType

__all__ = ["CabledHosts"]

STARTING_PORT = 32323


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


class CabledHosts:
    """As many hosts as ranks, neighbours joined by ``width`` cables; removed at the end.

    Args:
        rate: As for ``tc ... tbf``: what each cable carries in each direction; "" for no limit.
        burst: As for ``tc ... tbf``: what it carries at once after a pause.
        latency: As for ``tc ... tbf``: how long a frame may wait before it is dropped.
    """

    def __init__(
        self,
        size: int,
        *,
        width: int = 1,
        rate: str = "",
        burst: str = "128kb",
        latency: str = "20ms",
    ) -> None:
        self.size = size
        self.width = width
        self.rate = rate
        self.burst = burst
        self.latency = latency
        self.names = [f"rr-{os.getpid()}-{rank}" for rank in range(size)]
        self.addresses: list[list[str]] = [[] for _ in range(size)]

    def __enter__(self) -> CabledHosts:
        try:
            for name in self.names:
                _ip("netns", "add", name)
                _ip("-n", name, "link", "set", "lo", "up")
            hops = 1 if self.size == 2 else self.size
            for hop in range(hops):
                for cable in range(self.width):
                    self._plug_in(hop, cable)
        except BaseException:
            self._remove()
            raise
        return self

    def _plug_in(self, hop: int, cable: int) -> None:
        """A cable between a rank and its right neighbour, as a /30 of its own."""
        left, right = hop, (hop + 1) % self.size
        ends = ((left, f"r{cable}", 1), (right, f"l{cable}", 2))
        self._join((self.names[left], ends[0][1]), (self.names[right], ends[1][1]))
        for rank, interface, last in ends:
            address = f"10.231.{hop}.{4 * cable + last}"
            name = self.names[rank]
            _ip("-n", name, "addr", "add", f"{address}/30", "dev", interface)
            _ip("-n", name, "link", "set", interface, "up")
            if self.rate:
                self._shape(name, interface, self.rate)
        self.addresses[right].append(f"10.231.{hop}.{4 * cable + 2}:{STARTING_PORT + cable}")
        if self.size == 2:
            self.addresses[left].append(f"10.231.{hop}.{4 * cable + 1}:{STARTING_PORT + cable}")

    def _join(self, near: tuple[str, str], far: tuple[str, str]) -> None:
        """Make the two interfaces, each given with its host, that are the ends of a cable."""
        _ip(
            *("-n", near[0], "link", "add", near[1], "type", "veth"),
            *("peer", "name", far[1], "netns", far[0]),
        )

    def prefix_of(self, rank: int) -> list[str]:
        """The words that run a command on a host."""
        return ["ip", "netns", "exec", self.names[rank]]

    def urgent_prefix_of(self, rank: int) -> list[str]:
        """The words that run a command on a host before all others: one that is measured."""
        return [*self.prefix_of(rank), "nice", "-n", "-10"]

    def _shape(self, name: str, interface: str, rate: str) -> None:
        shape = ["tbf", "rate", rate, "burst", self.burst, "latency", self.latency]
        tc = ["tc", "qdisc", "replace", "dev", interface, "root", *shape]
        subprocess.run(["ip", "netns", "exec", name, *tc], check=True, capture_output=True)

    def slow_down(self, rank: int, rate: str) -> None:
        """Limit the first cable between a rank and its right neighbour, in both directions."""
        self._shape(self.names[rank], "r0", rate)
        self._shape(self.names[(rank + 1) % self.size], "l0", rate)

    def pull(self, rank: int, cable: int = 0) -> None:
        """Pull a cable between a rank and its right neighbour."""
        _ip("-n", self.names[rank], "link", "set", f"r{cable}", "down")

    def _remove(self) -> None:
        for name in self.names:
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip("netns", "del", name)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._remove()
