"""`distributed_launch`: from the words of a command line to an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from distconfig.errors import DistconfigError, LaunchError, RankFailed
from distconfig.launch.job import run_job, say
from distconfig.launch.options import HELP, parse_options
from distconfig.launch.outcome import render_failure
from ring_runtime.errors import RingError

__all__ = ["main"]

OWN_FAILURE = 125
INTERRUPTED = 130


def main(words: Sequence[str] | None = None) -> int:
    """Launch what the command line asks for; the exit code says how it ended.

    Args:
        words: The command line. With none it is that of the process, which is then left
            at once: taking an interpreter down takes a tenth of a launch, and a thread
            of ours may still be waiting for a slow terminal.
    """
    _claim_standard_streams()
    code = _report(sys.argv[1:] if words is None else words)
    if words is None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _report(words: Sequence[str]) -> int:
    try:
        return _launch(words)
    except RankFailed as error:
        say(error.what)
        return error.returncode
    except (DistconfigError, RingError) as error:
        say(error.what if isinstance(error, LaunchError) else str(error))
        return OWN_FAILURE
    except KeyboardInterrupt:
        return INTERRUPTED


def _launch(words: Sequence[str]) -> int:
    options = parse_options(words)
    if options.help:
        print(HELP, end="")
        return 0
    if options.print_python:
        print(options.python or sys.executable)
        return 0
    conclusion = run_job(options)
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
