"""Signals to processes that may end meanwhile."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable

__all__ = ["signal_all"]


def signal_all(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to each of these processes that still exists."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
