"""Cables with a delay: frames pass through this process, which holds each for a while."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import struct
import subprocess
import threading
import time
from collections import deque
from types import TracebackType

from tests.netns.cables import CabledHosts

__all__ = ["DelayedHosts"]

_TUNSETIFF = 0x400454CA
_TAP_WITHOUT_HEADER = 0x0002 | 0x1000
_MTU = 9000
_FRAME_NBYTES = 65536


class DelayedHosts(CabledHosts):
    """Hosts whose cables deliver every frame ``delay_s`` after it was sent, in both directions.

    Not every kernel has ``tc ... netem``; here each end of a cable is a TAP device. Frames
    are large, because every one costs this process some time.

    Args:
        rate: As for ``tc ... tbf``.
    """

    def __init__(self, size: int, *, delay_s: float, rate: str) -> None:
        super().__init__(size, rate=rate, burst="16kb", latency="400ms")
        self.delay_s = delay_s
        self._opposite: dict[int, int] = {}
        self._reads_stop, self._writes_stop = os.pipe()
        self._carrier = threading.Thread(target=self._carry)

    def __enter__(self) -> DelayedHosts:
        try:
            super().__enter__()
        except BaseException:
            self._close()
            raise
        self._carrier.start()
        return self

    def _join(self, near: tuple[str, str], far: tuple[str, str]) -> None:
        one, other = self._tap(*near), self._tap(*far)
        self._opposite[one], self._opposite[other] = other, one

    def _tap(self, host: str, interface: str) -> int:
        """A TAP device of that host, as the descriptor at which we are its cable."""
        tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        name = f"tap{os.getpid()}.{tap}"
        fcntl.ioctl(tap, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _TAP_WITHOUT_HEADER))
        moved = ["ip", "link", "set", name, "netns", host, "name", interface, "mtu", str(_MTU)]
        subprocess.run(moved, check=True, capture_output=True)
        return tap

    def _carry(self) -> None:
        """Until told to stop, write each frame where it goes, when its time has come."""
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, -15)  # of this thread: no cable is ever busy
        underway: deque[tuple[float, int, bytes]] = deque()
        while True:
            timeout = max(underway[0][0] - time.monotonic(), 0) if underway else None
            readable, _, _ = select.select([*self._opposite, self._reads_stop], [], [], timeout)
            if self._reads_stop in readable:
                return
            for tap in readable:
                frame = os.read(tap, _FRAME_NBYTES)
                underway.append((time.monotonic() + self.delay_s, self._opposite[tap], frame))
            while underway and underway[0][0] <= time.monotonic():
                _, tap, frame = underway.popleft()
                os.write(tap, frame)

    def _close(self) -> None:
        for descriptor in (*self._opposite, self._reads_stop, self._writes_stop):
            os.close(descriptor)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.write(self._writes_stop, b"stop")
        self._carrier.join()
        self._close()
        super().__exit__(kind, error, traceback)
