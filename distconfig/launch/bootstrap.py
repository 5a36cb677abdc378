"""How the agent gets to where it runs: its modules' text, and what runs it there.

Nothing is installed on a host. The text travels over the channel and lives in
the memory of one interpreter.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["PYTHONS", "agent_command", "pack_agent", "remote_command"]

#: Where a Python is found on most hosts, best first: Homebrew's two places, then the PATH.
PYTHONS = ("/opt/homebrew/bin/python3", "/usr/local/bin/python3", "python3")

_MODULES = ("frames", "agent_mpi", "agent_checks", "agent_files", "agent_ranks", "agent")

#: Run by ``python -c``: reads modules, each after a line with its name and length.
_BOOTSTRAP = r"""
import os, sys
def take(nbytes):
    data = b""
    while len(data) < nbytes:
        more = os.read(0, nbytes - len(data))
        if not more:
            sys.exit(0)
        data += more
    return data.decode("utf-8")
Module = type(sys)
package = sys.modules["distconfig.launch"] = Module("distconfig.launch")
while True:
    name, length = take(32).split()
    if name == "end":
        break
    module = sys.modules["distconfig.launch." + name] = Module("distconfig.launch." + name)
    setattr(package, name, module)
    exec(compile(take(int(length)), module.__name__, "exec"), module.__dict__)
package.agent.main()
"""

# $1 is the program, the other words are interpreters to try in turn. Apple's
# /usr/bin/python3 is a stub that opens a dialog unless the developer tools are there.
_FIND_PYTHON = """
program=$1
shift
for word in "$@"; do
    case $word in "~/"*) word=$HOME/${word#"~/"} ;; esac
    case $word in */*) python=$word ;; *) python=$(command -v "$word") || continue ;; esac
    [ -x "$python" ] || continue
    if [ "$python" = /usr/bin/python3 ] && [ "$(uname -s)" = Darwin ]; then
        xcode-select -p >/dev/null 2>&1 || continue
    fi
    "$python" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 8))' \\
        </dev/null >/dev/null 2>&1 || continue
    exec "$python" -I -S -c "$program"
done
echo "no Python 3.8 or newer at any of: $*" >&2
exit 127
"""


def pack_agent() -> bytes:
    """The agent's modules, as the bootstrap reads them."""
    folder = Path(__file__).parent
    package = b""
    for name in _MODULES:
        text = (folder / f"{name}.py").read_bytes()
        package += b"%-20s%11d\n%s" % (name.encode(), len(text), text)
    return package + b"%-20s%11d\n" % (b"end", 0)


def agent_command(python: str) -> tuple[str, ...]:
    """The command that becomes the agent under this interpreter, once it gets its text."""
    return (python, "-I", "-S", "-c", _BOOTSTRAP)


def remote_command(pythons: tuple[str, ...], program: str = _BOOTSTRAP) -> tuple[str, ...]:
    """The command that becomes the agent on a host, under the first of these that works there.

    Args:
        pythons: Interpreters to try: paths, ``~/`` meaning the home there, or names on PATH.
        program: What to run instead of the agent; any Python from 3.8 on must read it.
    """
    return ("/bin/sh", "-c", _FIND_PYTHON, "find-python", program, *pythons)
