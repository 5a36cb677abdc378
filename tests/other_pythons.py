"""The pure tests on every other Python 3.10+ here: ``python -m tests.other_pythons``.

Each minor version gets its own ``.venv-3.N``. The interpreter that runs this
file already ran everything and is left out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PURE = ["tests/unit", "tests/property"]


def version_of(python: Path) -> tuple[int, int] | None:
    """The (major, minor) version of an interpreter, or None if it does not start."""
    asked = subprocess.run(
        [str(python), "-c", "import ensurepip, sys; print(*sys.version_info[:2])"],
        capture_output=True,
        text=True,
        check=False,
    )
    words = asked.stdout.split()
    return (int(words[0]), int(words[1])) if asked.returncode == 0 and len(words) == 2 else None


def find_pythons() -> dict[tuple[int, int], Path]:
    """One interpreter for each minor version from 3.10 on, other than our own."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    folders += sorted(Path.home().glob(".pyenv/versions/*/bin"))
    found: dict[tuple[int, int], Path] = {}
    for folder in folders:
        for minor in range(10, 20):
            python = folder / f"python3.{minor}"
            if python.exists() and (3, minor) not in found:
                version = version_of(python)
                if version == (3, minor) and version != sys.version_info[:2]:
                    found[version] = python
    return found


def main() -> int:
    """Run the pure tests on each interpreter; the exit code is that of the worst."""
    worst = 0
    for (major, minor), python in sorted(find_pythons().items()):
        venv = ROOT / f".venv-{major}.{minor}"
        inside = venv / "bin" / "python"
        print(f"== pure tests on Python {major}.{minor} ({python})", flush=True)
        if not inside.exists():
            shutil.rmtree(venv, ignore_errors=True)
            subprocess.run([str(python), "-m", "venv", str(venv)], check=True)
        pip = [str(inside), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--editable", f"{ROOT}[pure-test]"], check=True)
        tested = subprocess.run(
            [str(inside), "-m", "pytest", "--numprocesses", "4", "-m", "not slow", *PURE],
            cwd=ROOT,
            check=False,
        )
        worst = max(worst, tested.returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())
