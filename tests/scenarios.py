"""The scenarios under ``fixtures/``: recordings, why they exist and what is true of them."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from distconfig.recordings.recording import Recording, load_recording
from tests.expectation import Expected

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["FIXTURES", "StoredScenario", "load_scenarios", "scenario"]

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"


@dataclass(frozen=True)
class StoredScenario:
    """One folder of ``fixtures/``; the folder itself can be given to ``--from``.

    Args:
        about: What ``scenario.toml`` says: why, hardware, macos, samples, composed.
    """

    name: str
    folder: Path
    recording: Recording
    about: Mapping[str, Any]
    expected: Expected


def _load(folder: Path) -> StoredScenario:
    about = tomllib.loads((folder / "scenario.toml").read_text(encoding="utf-8"))
    expected = runpy.run_path(str(folder / "expected.py"))["EXPECTED"]
    return StoredScenario(folder.name, folder, load_recording(folder), about, expected)


@cache
def load_scenarios() -> tuple[StoredScenario, ...]:
    """Every scenario, in the order of their names; that there is none is an error."""
    folders = sorted(path for path in FIXTURES.iterdir() if path.is_dir())
    if not folders:
        raise FileNotFoundError(f"no scenario under {FIXTURES}")
    return tuple(_load(folder) for folder in folders)


def scenario(name: str) -> StoredScenario:
    """The scenario in the folder of this name.

    Raises:
        KeyError: There is none.
    """
    return {stored.name: stored for stored in load_scenarios()}[name]
