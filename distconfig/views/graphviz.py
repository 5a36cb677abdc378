"""Pictures through Graphviz's ``dot`` program."""

from __future__ import annotations

import os
import shutil
import subprocess

from distconfig.errors import UsageError
from ring_runtime.hostfile import save_bytes

__all__ = ["draw"]

_TIMEOUT_S = 60
_INSTALL = "Install Graphviz (macOS: brew install graphviz; Debian: apt-get install graphviz)"


def draw(dot_text: str, path: str | os.PathLike[str], picture_format: str) -> None:
    """Write the picture of a DOT text; an existing file is replaced whole or not at all.

    Args:
        picture_format: ``png`` or ``svg``.

    Raises:
        UsageError: ``dot`` is missing or fails, or the file can not be written.
    """
    program = shutil.which("dot")
    if program is None:
        raise UsageError(
            "the program dot was not found",
            hint=f"{_INSTALL}, or use --dot and draw the text elsewhere.",
        )
    try:
        drawn = subprocess.run(
            [program, f"-T{picture_format}"],
            input=dot_text.encode(),
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        if drawn.returncode != 0 or not drawn.stdout:
            said = drawn.stderr.decode(errors="replace").strip()
            raise UsageError(
                f"dot could not draw {path}: {said or f'exit {drawn.returncode}'}",
                hint="Use --dot, and check your Graphviz with: dot -V",
            )
        save_bytes(drawn.stdout, path)
    except OSError as error:
        raise UsageError(
            f"{path} can not be written: {error.strerror or error}", hint="Check the folder."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"dot did not finish within {_TIMEOUT_S} s", hint="Use --dot and draw it elsewhere."
        ) from error
