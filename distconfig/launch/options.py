"""The command line of `distributed_launch`, as a value.

Read by a table of its own: typer would double the start-up time of a launch,
and argparse, besides its tenth, does not know options that end at the first
word that is not one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from distconfig.errors import UsageError

__all__ = ["HELP", "Options", "parse_options"]

HELP = """\
usage: distributed_launch [options] [--] command [arguments]

Run a program on every rank of a ring, and end all ranks when one fails.

  -n, --repeat-hosts N     ranks on each host (default: 1)
  --hosts A,B              hosts in rank order (default: this machine)
  --hostfile FILE          hosts with their addresses, from distributed_config
  --backend BACKEND        ring, mpi, jaccl, jaccl-ring or nccl
                           (default: the hostfile's, else ring)
  --env K=V                set a variable for every rank; may be repeated
  --cwd DIR                folder to run in on every host (default: this one)
  --python PATH            run the command under this Python on every host
  -p, --starting-port P    first TCP port of a ring (default: free ones if all
                           ranks are on this machine, else 32323)
  --connections-per-ip N   connections for each address of a ring (default: 1)
  --nccl-port P            TCP port of rank 0 for nccl (default: 12345)
  --mpi-arg ARGS           words for mpirun, split as a shell would; may be
                           repeated
  --tag-output             begin each line with its rank
  --log-dir DIR            also write each rank's output to files there
  --lost-after S           end all when a host is silent for S seconds
                           (default: 60)
  --accept-new-host-keys   trust hosts that ssh does not know yet
  --no-check               start without looking first
  --print-python           print the Python used here, and leave
  --verbose                say on stderr what runs where
  -h, --help               show this text

Options end at the first word that is not one. A script (*.py) or -m MODULE runs
under Python; any other program runs as it is.

  distributed_launch -n 4 train.py --epochs 3
  distributed_launch --hostfile hostfile.json train.py
  distributed_launch -n 2 -m mlx_lm chat --model m

The exit code is that of the rank that failed first (128 + number for a signal),
125 if nothing was started, 126 or 127 if the program can not be started, 255 if
a host was lost.
"""

_BACKENDS = ("ring", "mpi", "jaccl", "jaccl-ring", "nccl")
_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=[^\0]*", re.DOTALL)
_TRY_HELP = "See distributed_launch --help."


@dataclass(frozen=True)
class Options:
    """What was asked on the command line; None where nothing was.

    Args:
        repeat: How many ranks each host gets.
        mpi_args: Words for mpirun.
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


def _positive(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) == 0:
        raise ValueError("a number above 0")
    return int(text)


def _tcp_port(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= 65535:
        raise ValueError("a TCP port from 1 to 65535")
    return int(text)


def _seconds(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) or float(text) == 0:
        raise ValueError("a number of seconds above 0")
    return float(text)


def _setting(text: str) -> tuple[str, ...]:
    if not _SETTING.fullmatch(text):
        raise ValueError("NAME=VALUE")
    return (text,)


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"words as a shell takes them ({error})") from error


def _backend(text: str) -> str:
    if text not in _BACKENDS:
        raise ValueError(f"one of {', '.join(_BACKENDS)}")
    return text


#: Options that stand alone: the field, and what it becomes.
_FLAGS: dict[str, tuple[str, bool]] = {
    "--tag-output": ("tag_output", True),
    "--accept-new-host-keys": ("accept_new_host_keys", True),
    "--no-check": ("check", False),
    "--verbose": ("verbose", True),
    "--print-python": ("print_python", True),
    "--help": ("help", True),
    "-h": ("help", True),
}
#: Options that a value follows: the field, and what reads the value.
_VALUES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "--hosts": ("hosts", str),
    "--hostfile": ("hostfile", str),
    "--repeat-hosts": ("repeat", _positive),
    "-n": ("repeat", _positive),
    "--backend": ("backend", _backend),
    "--env": ("env", _setting),
    "--cwd": ("cwd", str),
    "--python": ("python", str),
    "--connections-per-ip": ("connections_per_ip", _positive),
    "--starting-port": ("starting_port", _tcp_port),
    "-p": ("starting_port", _tcp_port),
    "--nccl-port": ("nccl_port", _tcp_port),
    "--mpi-arg": ("mpi_args", _words),
    "--log-dir": ("log_dir", str),
    "--lost-after": ("lost_after_s", _seconds),
}
_REPEATABLE = ("env", "mpi_args")


def _split_option(word: str) -> tuple[str, str | None]:
    """The name in a word, and the value if the word holds it too.

    Example:
        >>> _split_option("--env=A=1"), _split_option("-n4"), _split_option("--env")
        (('--env', 'A=1'), ('-n', '4'), ('--env', None))
    """
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, value if equals else None
    return word[:2], word[2:] or None


def _read_option(word: str, rest: list[str]) -> tuple[str, Any]:
    """The field an option sets and to what; its value may be the first of the other words."""
    name, value = _split_option(word)
    if name in _FLAGS:
        if value is not None:
            raise UsageError(f"{name} takes no value", hint=_TRY_HELP)
        return _FLAGS[name]
    if name not in _VALUES:
        raise UsageError(f"there is no option {name}", hint=_TRY_HELP)
    if value is None:
        if not rest:
            raise UsageError(f"{name} needs a value", hint=_TRY_HELP)
        value = rest.pop(0)
    field, read = _VALUES[name]
    try:
        return field, read(value)
    except ValueError as error:
        raise UsageError(f"{name} needs {error}, not {value!r}", hint=_TRY_HELP) from error


def parse_options(words: Sequence[str]) -> Options:
    """What these words of a command line ask for.

    Raises:
        UsageError: A word is not an option, or a value is not one it takes.

    Example:
        >>> options = parse_options(["-n", "4", "train.py", "-n", "2"])
        >>> options.repeat, options.command
        (4, ('train.py', '-n', '2'))
    """
    values: dict[str, Any] = {}
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "--", "-m"):
        field, value = _read_option(rest.pop(0), rest)
        values[field] = values.get(field, ()) + value if field in _REPEATABLE else value
    if rest[:1] == ["--"]:
        rest.pop(0)
    options = Options(**values, command=tuple(rest))
    if options.hosts is not None and options.hostfile is not None:
        raise UsageError("--hosts and --hostfile were both given", hint="Give one of them.")
    if not (options.help or options.print_python or options.command):
        raise UsageError("there is no program to run", hint="distributed_launch -n 2 train.py")
    if options.command == ("-m",):
        raise UsageError("-m names no module", hint="distributed_launch -n 2 -m package.module")
    return options
