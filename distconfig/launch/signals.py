"""The signals that a job hears, noted instead of acted on."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

__all__ = ["ENDING_SIGNALS", "note_signals"]

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def note_signals(wake: int) -> Iterator[list[int]]:
    """A list that grows by each signal that asks us to end or to stop, while the block runs.

    A signal that we were started to ignore (by nohup, or by a shell in the
    background) stays ignored.

    Args:
        wake: A descriptor to write a byte to when one has come.
    """
    noted: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        noted.append(number)

    before = {}
    for number in (*ENDING_SIGNALS, signal.SIGTSTP):
        if signal.getsignal(number) != signal.SIG_IGN:
            before[number] = signal.signal(number, note)
    # Reading a terminal from the background shall be an error, not stop us.
    before[signal.SIGTTIN] = signal.signal(signal.SIGTTIN, signal.SIG_IGN)
    wake_before = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    try:
        yield noted
    finally:
        signal.set_wakeup_fd(wake_before)
        for number, handler in before.items():
            signal.signal(number, handler)
