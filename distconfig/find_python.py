"""How a Python is found on a host that promised none: candidates, and a script that tries them."""

from __future__ import annotations

__all__ = ["PYTHONS", "python_command"]

#: Where a Python is looked for, best first: Homebrew's two places, then the PATH.
PYTHONS = ("/opt/homebrew/bin/python3", "/usr/local/bin/python3", "python3")

# $1 is the program, the other words are interpreters to try in turn. Apple's
# /usr/bin/python3 is a stub that opens a dialog unless the developer tools are there.
_FIND_PYTHON = """
program=$1
shift
for word in "$@"; do
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


def python_command(program: str, pythons: tuple[str, ...] = PYTHONS) -> tuple[str, ...]:
    """The command that becomes a program under the first Python that works on a host.

    It exits with 127 where there is none from 3.8 on.

    Args:
        pythons: Interpreters to try: absolute paths, or names on PATH.
    """
    return ("/bin/sh", "-c", _FIND_PYTHON, "find-python", program, *pythons)
