"""Write the recordings under ``fixtures/``: ``python -m tests.make_fixtures``.

Everything a scenario's hosts print is rendered by `tests.fakemac`, except what
the scenario takes from a sample: that text is already in the folder and is kept
as it is. ``scenario.toml`` and ``expected.py`` are typed by a person and never
touched.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from distconfig.hosts.shell import Completed
from distconfig.recordings.recording import HostRecording, Recording, save_recording
from distconfig.recordings.recording_json import folder_name
from tests.fakemac import LinuxHost, Mac
from tests.scenario_macs import OPERATOR, SCENARIOS, Scenario

__all__ = ["FIXTURES", "compose_recording", "main"]

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
_RECORDED_AT = datetime(2026, 9, 1, 10, 0, tzinfo=timezone.utc)


def _answers(scenario: Scenario, host: Mac | LinuxHost, samples: Path) -> dict[str, Completed]:
    answers = {
        name: replace(answer, seconds=0.05)
        for name, answer in host.answers().items()
        if name not in scenario.absent.get(host.name, ())
    }
    for probe in scenario.from_sample.get(host.name, ()):
        text = (samples / f"{probe}.out").read_bytes()
        answers[probe] = replace(host.answer(probe), stdout=text, seconds=0.05)
    return answers


def compose_recording(name: str, fixtures: Path = FIXTURES) -> Recording:
    """The recording of a scenario; the samples' text is read from the folder that is there."""
    scenario = SCENARIOS[name]
    hosts = tuple(
        HostRecording(
            host.name, _answers(scenario, host, fixtures / name / folder_name(place, host.name))
        )
        for place, host in enumerate(scenario.hosts(), 1)
    )
    return Recording(_RECORDED_AT, OPERATOR, hosts)


def main() -> int:
    """Write every scenario anew, leaving alone what a person typed."""
    for name in SCENARIOS:
        recording = compose_recording(name)
        with tempfile.TemporaryDirectory() as aside:
            save_recording(recording, Path(aside) / name)
            for old in FIXTURES.joinpath(name).glob("[0-9][0-9]-*"):
                shutil.rmtree(old)
            shutil.copytree(Path(aside) / name, FIXTURES / name, dirs_exist_ok=True)
        print(f"{name}: {len(recording.hosts)} hosts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
