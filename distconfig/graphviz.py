"""Pictures through Graphviz's ``dot`` program."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from distconfig.errors import UsageError

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
    target = Path(path)
    program = shutil.which("dot")
    if program is None:
        raise UsageError(
            "the program dot was not found",
            hint=f"{_INSTALL}, or use --dot and draw the text elsewhere.",
        )
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        drawn = subprocess.run(
            [program, f"-T{picture_format}", "-o", str(aside)],
            input=dot_text.encode(),
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        if drawn.returncode != 0 or not aside.exists():
            said = drawn.stderr.decode(errors="replace").strip()
            raise UsageError(
                f"dot could not draw {target}: {said or f'exit {drawn.returncode}'}",
                hint="Check that the folder exists and can be written, or use --dot.",
            )
        aside.replace(target)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"dot could not draw {target}: {error}", hint="Use --dot.") from error
    finally:
        aside.unlink(missing_ok=True)
