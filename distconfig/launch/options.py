"""The command line of `distributed_launch`, as a value.

argparse reads it: typer would add a third to the start-up time of a launch.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from distconfig.errors import UsageError

__all__ = ["BACKENDS", "Options", "parse_options", "render_help"]

BACKENDS = ("ring", "mpi", "jaccl", "jaccl-ring", "nccl")
_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=[^\0]*", re.DOTALL)
_TRY_HELP = "See distributed_launch --help."
_EXAMPLES = """\
examples:
  distributed_launch -n 4 train.py --epochs 3           four ranks on this machine
  distributed_launch --hostfile hostfile.json train.py  one rank on each host of the file
  distributed_launch -n 2 -m mlx_lm chat --model m      a module
  distributed_launch --hosts 10.0.0.1,10.0.0.2 -- python train.py

Options end at the first word that is not one. A script (*.py) or -m MODULE runs
under Python; any other program runs as it is. The exit code is that of the rank
that failed first (128 + number for a signal), 125 if nothing was started,
126 or 127 if the program can not be started, 255 if a host was lost.
"""


@dataclass(frozen=True)
class Options:
    """What was asked on the command line; None where nothing was.

    Args:
        repeat: How many ranks each host gets.
        command: The program to run on every rank and its arguments.
    """

    hosts: str | None = None
    hostfile: str | None = None
    repeat: int = 1
    backend: str | None = None
    env: tuple[str, ...] = ()
    cwd: str | None = None
    python: str | None = None
    connections_per_ip: int = 1
    starting_port: int | None = None
    nccl_port: int = 12345
    mpi_args: tuple[str, ...] = ()
    tag_output: bool = False
    log_dir: str | None = None
    lost_after_s: float = 60.0
    accept_new_host_keys: bool = False
    check: bool = True
    verbose: bool = False
    print_python: bool = False
    help: bool = False
    command: tuple[str, ...] = ()


class _Parser(argparse.ArgumentParser):
    """An argparse parser that raises instead of leaving."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=_TRY_HELP)


def _positive(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return int(text)


def _tcp_port(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a TCP port from 1 to 65535")
    return int(text)


def _seconds(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) or float(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return float(text)


def _setting(text: str) -> str:
    if not _SETTING.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return text


def _make_parser() -> tuple[_Parser, dict[str, bool]]:
    """The parser, and for each option whether a value follows it."""
    parser = _Parser(
        prog="distributed_launch",
        usage="%(prog)s [options] [--] command [arguments]",
        description="Run a program on every rank of a ring, and end all ranks when one fails.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    takes_value: dict[str, bool] = {}

    def add(*names: str, **how: Any) -> None:
        parser.add_argument(*names, **how)
        takes_value.update(dict.fromkeys(names, "action" not in how or how["action"] == "append"))

    add("-h", "--help", action="store_true", help="show this text")
    add("--hosts", metavar="A,B", help="hosts in rank order (default: this machine)")
    add("--hostfile", metavar="FILE", help="hosts with their addresses, from distributed_config")
    add("-n", "--repeat-hosts", dest="repeat", type=_positive, metavar="N", default=1,
        help="ranks on each host (default: 1)")  # fmt: skip
    add("--backend", choices=BACKENDS, help="default: the hostfile's, else ring")
    add("--env", type=_setting, action="append", metavar="K=V", default=[],
        help="set a variable for every rank; may be repeated")  # fmt: skip
    add("--cwd", metavar="DIR", help="folder to run in on every host (default: this one)")
    add("--python", metavar="PATH", help="run the command under this Python on every host")
    add("--connections-per-ip", type=_positive, metavar="N", default=1,
        help="connections for each address of a ring (default: 1)")  # fmt: skip
    add("-p", "--starting-port", type=_tcp_port, metavar="P",
        help="first TCP port of a ring (default: free ones here, else 32323)")  # fmt: skip
    add("--nccl-port", type=_tcp_port, metavar="P", default=12345,
        help="TCP port of rank 0 for nccl (default: 12345)")  # fmt: skip
    add("--mpi-arg", dest="mpi_args", action="append", metavar="ARGS", default=[],
        help="words for mpirun, split as a shell would; may be repeated")  # fmt: skip
    add("--tag-output", action="store_true", help="begin each line with its rank")
    add("--log-dir", metavar="DIR", help="also write each rank's output to files there")
    add("--lost-after", dest="lost_after_s", type=_seconds, metavar="S", default=60.0,
        help="end all when a host is silent that long (default: 60)")  # fmt: skip
    add("--accept-new-host-keys", action="store_true", help="trust hosts ssh does not know yet")
    add("--no-check", dest="check", action="store_false", help="start without looking first")
    add("--verbose", action="store_true", help="say on stderr what is done")
    add("--print-python", action="store_true", help="print the Python used here, and leave")
    return parser, takes_value


def _split_command(
    words: Sequence[str], takes_value: dict[str, bool]
) -> tuple[list[str], tuple[str, ...]]:
    """The options, each with its value in one word, and the command after them."""
    options: list[str] = []
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "--", "-m"):
        word = rest.pop(0)
        if takes_value.get(word) and rest:
            word = f"{word}={rest.pop(0)}" if word.startswith("--") else word + rest.pop(0)
        options.append(word)
    if rest and rest[0] == "--":
        rest.pop(0)
    return options, tuple(rest)


def parse_options(words: Sequence[str]) -> Options:
    """What these words of a command line ask for.

    Raises:
        UsageError: A word is not an option, or a value is not one it takes.

    Example:
        >>> options = parse_options(["-n", "4", "train.py", "-n", "2"])
        >>> options.repeat, options.command
        (4, ('train.py', '-n', '2'))
    """
    parser, takes_value = _make_parser()
    head, command = _split_command(words, takes_value)
    found, unknown = parser.parse_known_args(head)
    if unknown:
        raise UsageError(f"there is no option {unknown[0]}", hint=_TRY_HELP)
    values = vars(found)
    values.update(env=tuple(found.env), mpi_args=tuple(found.mpi_args), command=command)
    options = Options(**values)
    if options.hosts is not None and options.hostfile is not None:
        raise UsageError("--hosts and --hostfile were both given", hint="Give one of them.")
    if not (options.help or options.print_python or options.command):
        raise UsageError("there is no program to run", hint="distributed_launch -n 2 train.py")
    if options.command[:1] == ("-m",) and len(options.command) == 1:
        raise UsageError("-m names no module", hint="distributed_launch -n 2 -m package.module")
    return options


def render_help() -> str:
    """The text of ``--help``."""
    return _make_parser()[0].format_help()
