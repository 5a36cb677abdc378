"""The printed commands that keep a setup over a restart."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone
from ipaddress import IPv4Interface
from pathlib import Path

import pytest

from distconfig.cli import main
from distconfig.recordings.recording import (
    HostRecording,
    OperatorNetwork,
    Recording,
    save_recording,
)
from distconfig.reports.report import HostReport
from distconfig.upkeep.persist import PersistStep, plan_persist, render_persist
from tests.fakemac import Bridge, Mac, connect
from tests.macos_output import Inet
from tests.model_mac import ModelLab, ModelMac

SET_MANUAL = ("/usr/sbin/networksetup", "-setmanual")


def report(**changes: object) -> HostReport:
    """A Mac with 10.231.0.1/30 on port 2 (en3), a LAN, and nothing else."""
    lab = ModelLab.of(ModelMac("a"), ModelMac("b"))
    lab.plug("a", "en3", "b", "en2")
    lab.macs["a"].interfaces["en3"].addresses.append(IPv4Interface("10.231.0.1/30"))
    return replace(lab.report("a"), **changes)  # type: ignore[arg-type]


def test_each_addressed_port_gets_a_service_with_its_address() -> None:
    assert plan_persist(report()) == (
        PersistStep(
            "the service Ring port 2, by which en3 keeps 10.231.0.1/30",
            (
                ("/usr/sbin/networksetup", "-createnetworkservice", "Ring port 2", "en3"),
                (*SET_MANUAL, "Ring port 2", "10.231.0.1", "255.255.255.252", ""),
            ),
            (("/usr/sbin/networksetup", "-removenetworkservice", "Ring port 2"),),
        ),
    )


def test_a_service_that_is_there_already_is_kept_and_handed_to_dhcp_afterwards() -> None:
    (step,) = plan_persist(report(services=(("Büro", "en3", True), ("Ethernet", "en0", True))))
    assert step.commands == ((*SET_MANUAL, "Büro", "10.231.0.1", "255.255.255.252", ""),)
    assert step.undo == (("/usr/sbin/networksetup", "-setdhcp", "Büro"),)


def test_a_service_of_ours_is_removed_afterwards_also_on_a_second_run() -> None:
    (step,) = plan_persist(report(services=(("Ring port 2", "en3", True),)))
    assert step.undo == (("/usr/sbin/networksetup", "-removenetworkservice", "Ring port 2"),)


def test_an_mtu_is_kept_too_and_taken_back_first() -> None:
    lab = ModelLab.of(ModelMac("a"), ModelMac("b"))
    lab.macs["a"].interfaces["en3"].addresses.append(IPv4Interface("10.231.0.1/30"))
    lab.macs["a"].interfaces["en3"].mtu = 9000
    (step,) = plan_persist(lab.report("a"))
    assert step.commands[-1] == ("/usr/sbin/networksetup", "-setMTU", "en3", "9000")
    assert step.undo[0] == ("/usr/sbin/networksetup", "-setMTU", "en3", "1500")


def test_addresses_that_no_setup_gave_are_left_alone() -> None:
    lab = ModelLab.of(ModelMac("a"), ModelMac("b"))
    for text in ("169.254.7.3/16", "10.0.0.5/24", "8.8.8.1/30"):
        lab.macs["a"].interfaces["en3"].addresses.append(IPv4Interface(text))
    assert plan_persist(lab.report("a")) == ()


def test_names_are_quoted_for_the_shell_and_the_undo_comes_last_port_first() -> None:
    steps = [
        PersistStep("one", (("/bin/a", "it's; rm"),), (("/bin/b", "1"),)),
        PersistStep("two", (("/bin/a", ""),), (("/bin/b", "2"),)),
    ]
    assert render_persist({"studio1": steps}) == (
        "# studio1: run these on it. Not yet proved on hardware.\n"
        "# one\nsudo /bin/a 'it'\"'\"'s; rm'\n# two\nsudo /bin/a ''\n"
    )
    assert render_persist({"studio1": steps}, undo=True) == (
        "# studio1: run these on it. Not yet proved on hardware.\n"
        "# undo: two\nsudo /bin/b 2\n# undo: one\nsudo /bin/b 1\n"
    )


# The command, on a recording


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Two Macs joined by a cable that was set up."""
    one, two = (
        Mac("studio1", bridge=Bridge(is_up=False)),
        Mac("studio2", bridge=Bridge(is_up=False)),
    )
    connect(one, 2, two, 1)
    one.addresses["en3"] = (Inet(IPv4Interface("10.231.0.1/30")),)
    two.addresses["en2"] = (Inet(IPv4Interface("10.231.0.2/30")),)
    hosts = tuple(HostRecording(mac.name, mac.answers()) for mac in (one, two))
    now = datetime(2026, 9, 30, tzinfo=timezone.utc)
    save_recording(Recording(now, OperatorNetwork(), hosts), tmp_path / "recording")
    return tmp_path / "recording"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(list(words))
    captured = capsys.readouterr()
    code = left.value.code
    assert isinstance(code, int)
    return code, captured.out, captured.err


def test_persist_prints_the_commands_of_a_recording(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "persist", "--from", str(recording), "--print", "--json")
    assert (code, err) == (0, "")
    hosts = json.loads(out)["hosts"]
    assert [step["commands"][0][-2:] for step in hosts["studio1"]] == [["Ring port 2", "en3"]]
    assert [step["commands"][0][-2:] for step in hosts["studio2"]] == [["Ring port 1", "en2"]]
    code, out, _ = run(capsys, "unpersist", "--from", str(recording), "--print")
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("sudo")] == [
        "sudo /usr/sbin/networksetup -removenetworkservice 'Ring port 2'",
        "sudo /usr/sbin/networksetup -removenetworkservice 'Ring port 1'",
    ]


def test_without_print_nothing_happens(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "persist", "--from", str(recording))
    assert (code, out) == (2, "")
    assert "--print" in err


def test_status_and_doctor_read_a_recording_too(
    recording: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    code, out, err = run(capsys, "status", "--from", str(recording))
    assert (code, out) == (2, "")
    assert "nothing is known to have been set up" in err
    hostfile = tmp_path / "hostfile.json"
    entries = [{"ssh": "studio1", "ips": ["10.231.0.1"]}, {"ssh": "studio2", "ips": ["10.231.0.6"]}]
    hostfile.write_text(json.dumps(entries))
    code, out, _ = run(
        capsys, "status", "--from", str(recording), "--hostfile", str(hostfile), "--json"
    )
    assert code == 8
    assert [each["text"] for each in json.loads(out)["drifts"]] == [
        "studio1: no cable to studio2 can be told to carry 10.231.0.4/30.",
        "studio1: the end with 10.231.0.5/30 has no interface.",
        "studio2: the end with 10.231.0.6/30 has no interface.",
    ]
    code, out, _ = run(
        capsys, "reapply", "--from", str(recording), "--hostfile", str(hostfile), "--dry-run"
    )
    assert code == 0
    assert "sudo /sbin/ifconfig bridge0 deletem en3" in out
    assert " inet " not in out
    code, out, _ = run(capsys, "doctor", "--from", str(recording), "--json")
    assert (code, json.loads(out)["findings"]) == (0, [])
