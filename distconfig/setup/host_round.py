"""One script on each of many hosts, all at once, ended early where one failure ends all."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping

from distconfig.errors import CommandFailed, ProbeError, ReportError
from distconfig.hosts.deadline import Deadline
from distconfig.hosts.shell import Shell
from distconfig.setup.script_answers import HostAnswer, parse_answer

__all__ = ["Result", "run_round"]

Result = HostAnswer | ProbeError | ReportError


def _never(result: Result) -> bool:
    return False


def run_round(
    shells: Mapping[str, Shell],
    scripts: Mapping[str, str],
    *,
    timeout_s: float,
    is_end: Callable[[Result], bool] = _never,
) -> dict[str, Result]:
    """What each host answered to its script, or why it did not.

    Args:
        scripts: Host to the text for its ``/bin/sh``.
        is_end: After such a result no other is waited for; hosts that were still busy
            are then missing from what is returned.
    """
    results: queue.SimpleQueue[tuple[str, Result]] = queue.SimpleQueue()

    def work(host: str, script: str) -> None:
        try:
            completed = shells[host].run(script, timeout_s=timeout_s)
            results.put((host, parse_answer(completed.stdout, host)))
        except (ProbeError, ReportError) as error:
            results.put((host, error))

    for item in scripts.items():
        threading.Thread(target=work, args=item, name=f"setup {item[0]}", daemon=True).start()
    deadline = Deadline(timeout_s + 5.0)
    answered: dict[str, Result] = {}
    while len(answered) < len(scripts):
        try:
            host, result = results.get(timeout=deadline.left())
        except queue.Empty:
            late = [host for host in scripts if host not in answered]
            return answered | {host: _no_answer(host, timeout_s) for host in late}
        answered[host] = result
        if is_end(result):
            break
    return {host: answered[host] for host in scripts if host in answered}


def _no_answer(host: str, timeout_s: float) -> ProbeError:
    return CommandFailed(f"no answer within {timeout_s:g} s", host=host, argv=("/bin/sh",))
