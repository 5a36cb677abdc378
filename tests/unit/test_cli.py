"""The command line on recorded hosts: what goes to stdout, to stderr, and the exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ring_runtime.hostfile import Hostfile, HostfileEntry, load_hostfile
from tests.unit.test_cabling_json import check_schema
from tests.unit.test_dot import drawn

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
SCENARIOS = sorted(path.name for path in FIXTURES.iterdir() if (path / "recording.json").exists())


def test_the_fleet_has_no_ring_because_dune_has_one_cable(run, tmp_path: Path) -> None:
    target = tmp_path / "hostfile.json"
    outcome = run("--from", FIXTURES / "fleet_of_four", "-o", target)
    assert (outcome.code, outcome.out, target.exists()) == (5, "", False)
    assert (
        "error: no ring through all 4 hosts\nwhere: dune is cabled only to birch\n" in outcome.err
    )


def test_the_fleet_without_dune_is_a_ring(run, tmp_path: Path) -> None:
    target = tmp_path / "hostfile.json"
    outcome = run(
        "--from", FIXTURES / "fleet_of_four", "--hosts", "atlas,birch,cedar", "-o", target
    )
    assert outcome.code == 0
    assert "atlas en4 -- en3 birch en2 -- en2 cedar en6 -- en5 atlas" in outcome.err
    assert load_hostfile(target) == Hostfile(
        (
            HostfileEntry("atlas", ("10.231.0.5",)),
            HostfileEntry("birch", ("10.231.0.2",)),
            HostfileEntry("cedar", ("10.231.0.10",)),
        )
    )


def test_a_subset_is_the_largest_ring_and_says_who_is_left_out(run) -> None:
    outcome = run("--from", FIXTURES / "fleet_of_four", "--allow-subset")
    assert outcome.code == 0
    assert "left out, as no ring visits them too: dune" in outcome.err
    assert '"ssh": "cedar"' in outcome.out
    assert "dune" not in outcome.out


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_can_be_drawn(run, scenario: str) -> None:
    outcome = run("--from", FIXTURES / scenario, "--dot")
    assert outcome.code == 0, outcome.err
    names, _ = drawn(outcome.out)
    recorded = json.loads((FIXTURES / scenario / "recording.json").read_text())
    assert {entry["host"] for entry in recorded["hosts"]} <= set(names)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_as_json_keeps_the_schema(run, scenario: str) -> None:
    outcome = run("--from", FIXTURES / scenario, "--json")
    assert outcome.code == 0, outcome.err
    check_schema(outcome.out, ROOT)
    document = json.loads(outcome.out)
    assert (document["ring"] is None) == (document["no_ring"] is not None)


def test_ethernet_takes_the_lan_addresses_in_the_order_given(run) -> None:
    words = ("--from", FIXTURES / "four_studios", "--hosts", "studio3,studio1")
    outcome = run(*words, "--over", "ethernet")
    assert outcome.code == 0
    listed = json.loads(outcome.out.split("\n", 2)[2])
    addresses = {
        "studio1": lan_address("four_studios", "01-studio1"),
        "studio3": lan_address("four_studios", "03-studio3"),
    }
    assert listed == [
        {"ssh": "studio3", "ips": [addresses["studio3"]]},
        {"ssh": "studio1", "ips": [addresses["studio1"]]},
    ]


def lan_address(scenario: str, folder: str) -> str:
    """The address of en0, read off the recording by hand."""
    block = (FIXTURES / scenario / folder / "ifconfig.out").read_text().split("\nen0: ")[1]
    return block.split("\tinet ")[1].split(" ")[0]


def test_env_and_backend_are_kept_in_the_hostfile(run, tmp_path: Path) -> None:
    target = tmp_path / "hostfile.json"
    words = ("--from", FIXTURES / "triangle", "--env", "A=1", "--env", "B=x=y", "-o", target)
    assert run(*words).code == 0
    assert (load_hostfile(target).backend, load_hostfile(target).envs) == ("ring", ("A=1", "B=x=y"))


def test_a_dry_run_shows_each_undo_and_writes_nothing(run, tmp_path: Path) -> None:
    target = tmp_path / "hostfile.json"
    outcome = run("--from", FIXTURES / "triangle", "--dry-run", "--verbose", "-o", target)
    assert outcome.code == 0
    commands = [line for line in outcome.out.splitlines() if line.startswith("sudo ")]
    undone = [line for line in outcome.out.splitlines() if line.startswith("#   undo: sudo ")]
    assert len(undone) >= len(commands) > 0
    assert "NOPASSWD" in outcome.out
    assert not target.exists()


def test_hosts_come_from_a_hostfile_too(run, tmp_path: Path) -> None:
    listed = tmp_path / "hosts.json"
    listed.write_text('[{"ssh": "studio4"}, {"ssh": "studio1"}]')
    outcome = run("--from", FIXTURES / "four_studios", "--hostfile", listed, "--json")
    assert [host["host"] for host in json.loads(outcome.out)["hosts"]] == ["studio4", "studio1"]


def test_a_saved_recording_gives_the_identical_result(run, tmp_path: Path) -> None:
    first = run("--from", FIXTURES / "six_with_chords", "--save", tmp_path / "copy")
    second = run("--from", tmp_path / "copy")
    assert (second.code, second.out, second.err) == (first.code, first.out, first.err)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 2, "no host is named"),
        (("--hosts", ""), 2, "a host name is empty"),
        (("--hosts", "a,,b"), 2, "a host name is empty"),
        (("--hosts", "a,b,a"), 2, "host 'a' is given twice"),
        (("--hosts", "a,-oProxyCommand=x"), 2, "begins with '-'"),
        (("--hosts", "a,b;reboot"), 2, "'b;reboot' is not a host name"),
        (("--hosts", "a,b", "--over", "wifi"), 2, "--over 'wifi'"),
        (("--hosts", "a,b", "--backend", "gloo"), 2, "--backend 'gloo'"),
        (("--hosts", "a,b", "--env", "A"), 2, "--env 'A' is not K=V"),
        (("--hosts", "a,b", "--pool", "10.0.0.1/8"), 2, "--pool"),
        (("--hosts", "a,b", "--anonymise"), 2, "--anonymise without --save"),
        (("--hosts", "a,b", "--dot", "--json"), 2, "both print to stdout"),
        (("--hosts", "a,b", "--mtu", "big"), 2, "mtu"),
        (("--no-such-option",), 2, "no such option"),
        (("--from", FIXTURES / "no such folder"), 2, "no such folder"),
        (("--from", FIXTURES / "triangle", "--auto-setup"), 2, "can not be configured"),
        (("--from", FIXTURES / "triangle", "--hosts", "nobody"), 2, "nobody"),
        (("--from", FIXTURES / "idle_mac"), 2, "a ring needs two hosts or more"),
        (("--from", FIXTURES / "triangle", "--pool", "10.99.0.0/31"), 6, "pool"),
        (("--from", FIXTURES / "triangle", "--pool", "192.168.1.0/24"), 6, "192.168.1.0/24"),
        (("--from", FIXTURES / "triangle", "--mtu", "3"), 2, "--mtu 3"),
        (("--from", FIXTURES / "chain_of_four"), 5, "no ring"),
        (("--from", FIXTURES / "tb4_tb5_mixed", "--backend", "jaccl"), 5, "Thunderbolt 5"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_message(run, words, code: int, message: str) -> None:
    outcome = run(*words)
    assert (outcome.code, outcome.out) == (code, ""), outcome.err
    assert message.lower() in outcome.err.lower()
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    "text", ["", "studio1\nstudio2\n", "[1]", '{"hosts": 3}'], ids=["empty", "lines", "1", "3"]
)
def test_a_host_list_that_is_no_hostfile(run, tmp_path: Path, text: str) -> None:
    listed = tmp_path / "hosts.json"
    listed.write_text(text)
    outcome = run("--hostfile", listed)
    assert (outcome.code, outcome.out) == (2, "")
    assert str(listed) in outcome.err


@pytest.mark.parametrize("option", ["-o", "--png", "--save"])
def test_what_can_not_be_written_is_said_and_nothing_is_lost(
    run, tmp_path: Path, option: str
) -> None:
    (tmp_path / "file").write_text("old")
    outcome = run("--from", FIXTURES / "triangle", option, tmp_path / "file" / "inside")
    assert outcome.code == 2, outcome.err
    assert "file" in outcome.err
    assert (tmp_path / "file").read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def loaded_by(*words: str) -> set[str]:
    """The heavy modules that a run of the command line imports."""
    program = (
        "import sys\nfrom distconfig.cli import main\n"
        f"try:\n    main({list(words)!r})\nexcept SystemExit:\n    pass\n"
        "heavy = {'paramiko', 'networkx', 'pydot', 'numpy', 'cryptography'} & set(sys.modules)\n"
        "print('loaded:', *sorted(heavy))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(ran.stdout.splitlines()[-1].split()[1:])


def test_every_command_has_a_whole_sentence_in_the_list_of_commands(
    run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = run("--help").out.partition("Commands:\n")[2].splitlines()
    assert len(listed) == 11
    assert all(line.endswith(".") and not line.endswith("...") for line in listed)


def test_help_loads_nothing_heavy() -> None:
    assert loaded_by("--help") == set()


def test_replaying_a_recording_loads_no_ssh() -> None:
    words = ("--from", str(FIXTURES / "triangle"))
    assert loaded_by(*words) & {"paramiko", "cryptography"} == set()


def test_planning_a_small_ring_loads_nothing_heavy() -> None:
    """Each of them takes longer to load than the planning takes."""
    words = ("--from", str(FIXTURES / "four_studios"))
    assert loaded_by(*words) == set()
