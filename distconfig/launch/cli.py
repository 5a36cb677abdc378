"""`distributed_launch`: from the words of a command line to an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from distconfig.launch.local_agent import LocalAgent, is_surely_local

__all__ = ["main"]

OWN_FAILURE = 125
INTERRUPTED = 130


def main(words: Sequence[str] | None = None) -> int:
    """Launch what the command line asks for; the exit code says how it ended."""
    _claim_standard_streams()
    words = sys.argv[1:] if words is None else words
    try:
        return _launch(words, _start_ahead(words))
    except KeyboardInterrupt:
        return INTERRUPTED


def _start_ahead(words: Sequence[str]) -> LocalAgent | None:
    """The agent of a local job, which starts while we are still loading ourselves."""
    if is_surely_local(words):
        try:
            return LocalAgent()
        except OSError:
            pass  # it is tried again where the reason can be reported
    return None


def _launch(words: Sequence[str], local_agent: LocalAgent | None) -> int:
    from distconfig.errors import DistconfigError, LaunchError, RankFailed
    from distconfig.launch.job import run_job, say
    from distconfig.launch.options import parse_options, render_help
    from distconfig.launch.outcome import render_failure
    from ring_runtime.errors import RingError

    try:
        options = parse_options(words)
        if options.help:
            print(render_help(), end="")
            return 0
        if options.print_python:
            print(options.python or sys.executable)
            return 0
        conclusion = run_job(options, local_agent)
    except RankFailed as error:
        say(error.what)
        return error.returncode
    except (DistconfigError, RingError) as error:
        say(error.what if isinstance(error, LaunchError) else str(error))
        return OWN_FAILURE
    for host in conclusion.unconfirmed:
        say(f"{host} did not say whether its ranks have ended; look there for leftovers")
    if conclusion.failure is not None:
        say(render_failure(conclusion.failure))
    return conclusion.exit_code


def _claim_standard_streams() -> None:
    """Open what of descriptors 0 to 2 is closed, lest a pipe of ours becomes one of them."""
    while True:
        fd = os.open(os.devnull, os.O_RDWR)
        if fd > 2:
            os.close(fd)
            return


if __name__ == "__main__":
    sys.exit(main())
