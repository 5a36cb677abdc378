"""One task per host, all at once; what each came to, and never an exception in between."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

from distconfig.errors import ProbeError
from distconfig.hosts.deadline import Deadline

__all__ = ["ask_all"]

T = TypeVar("T")


def ask_all(
    tasks: Mapping[str, Callable[[], T]],
    *,
    timeout_s: float,
    give_up: Callable[[str], ProbeError],
) -> dict[str, T | ProbeError]:
    """The result or error of each host's task, in the order given.

    Each task runs in a thread of its own. A task that is not done in time, for
    instance because the resolver hangs, is left behind and does not keep the
    interpreter from ending.

    Args:
        tasks: Host to what to do; a task may raise ProbeError and nothing else.
        give_up: Makes the error for a host whose task was not done in time.
    """
    results: dict[str, T | ProbeError] = {}

    def work(host: str, task: Callable[[], T]) -> None:
        try:
            results[host] = task()
        except ProbeError as error:
            results[host] = error

    deadline = Deadline(timeout_s)
    threads = {
        host: threading.Thread(target=work, args=(host, task), name=f"ask {host}", daemon=True)
        for host, task in tasks.items()
    }
    for thread in threads.values():
        thread.start()
    for thread in threads.values():
        thread.join(deadline.left())
    unfinished = {host for host, thread in threads.items() if thread.is_alive()}
    return {host: give_up(host) if host in unfinished else results[host] for host in tasks}
