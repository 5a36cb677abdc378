"""Scripts whose output can be told from what a login shell prints around it.

A login shell may print a banner before it runs anything, and may not be a
POSIX shell. So every script is fed to ``/bin/sh`` on its standard input, and
prints a marker with a nonce on both streams before it begins.
"""

from __future__ import annotations

import shlex

__all__ = ["REMOTE_SHELL", "after_marker", "wrap_command", "wrap_script"]

#: What ssh asks the login shell to run; every shell in use understands it.
REMOTE_SHELL = "exec /bin/sh"


def wrap_script(script: str, nonce: str) -> bytes:
    """Text for ``/bin/sh`` that runs a script once all of it has arrived.

    The braces make the shell read to their end before it runs anything. The
    script's standard input is empty; file descriptor 3 is the channel.
    """
    return f"{_print_marker(nonce)}\n{{\n{script}\n}} 3<&0 </dev/null; exit $?\n".encode()


def wrap_command(command: tuple[str, ...], nonce: str) -> bytes:
    """A line for ``/bin/sh`` that runs a command; nothing may follow before the marker.

    A shell may read ahead, so bytes for the command are safe to send only
    after the marker came back. The shell stays, to report a signal as 128 plus
    its number.

    Example:
        >>> wrap_command(("cat", "-u"), "12").decode()
        'printf %s%s 1 2; printf %s%s 1 2 >&2; cat -u; exit $?\\n'
    """
    return f"{_print_marker(nonce)}; {shlex.join(command)}; exit $?\n".encode()


def _print_marker(nonce: str) -> str:
    """Commands that print the nonce, in halves: a shell that echoes them prints no marker."""
    middle = len(nonce) // 2
    halves = f"printf %s%s {nonce[:middle]} {nonce[middle:]}"
    return f"{halves}; {halves} >&2"


def after_marker(output: bytes, nonce: str) -> bytes | None:
    """What follows the marker; None if the marker is not there.

    Example:
        >>> after_marker(b"Welcome!\\nn1Darwin\\n", "n1")
        b'Darwin\\n'
    """
    _, marker, rest = output.partition(nonce.encode())
    return rest if marker else None
