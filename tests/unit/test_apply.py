"""When a setup is refused, what it says, and answers it must not trust."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Interface
from pathlib import Path

import pytest

from distconfig.errors import ApplyError, UnexpectedOutput, VerifyError
from distconfig.hosts.shell import Completed
from distconfig.recordings.recording import OperatorNetwork
from distconfig.setup.addressing import plan_addresses
from distconfig.setup.apply import SetupOutcome, apply_setup
from distconfig.setup.setup_script import SetupScript, plan_setup
from tests.model_mac import ModelLab, ModelMac
from tests.model_shell import ModelShell


def triangle() -> ModelLab:
    lab = ModelLab.of(*(ModelMac(host, lan=None) for host in "abc"))
    lab.plug("a", "en3", "b", "en2")
    lab.plug("b", "en3", "c", "en2")
    lab.plug("a", "en2", "c", "en3")
    return lab


def planned(lab: ModelLab, mtu: int | None = None) -> dict[str, SetupScript]:
    topology = lab.topology()
    return plan_setup(topology, None, plan_addresses(topology, OperatorNetwork()), mtu=mtu)


def shells_of(lab: ModelLab) -> dict[str, ModelShell]:
    return {host: ModelShell(lab, host) for host in lab.macs}


def test_every_host_is_checked_then_changed_then_confirmed(tmp_path: Path) -> None:
    lab = triangle()
    shells = shells_of(lab)
    told: list[tuple[str, str]] = []
    outcome = apply_setup(
        shells, planned(lab), journals=tmp_path, on_progress=lambda *words: told.append(words)
    )
    cables = lab.topology().usable_cables
    assert outcome == SetupOutcome(("a", "b", "c"), {}, cables)
    assert {tuple(shell.rounds) for shell in shells.values()} == {("check", "apply", "commit")}
    assert [text for host, text in told if host == "a"] == [
        "checking 4 commands",
        "running 4 commands",
        "verified 2 cable ends",
        "confirmed",
    ]
    again = shells_of(lab)
    assert apply_setup(again, planned(lab), journals=tmp_path) == SetupOutcome((), {}, cables)
    assert {tuple(shell.rounds) for shell in again.values()} == {("apply",)}


def test_a_port_of_the_ring_that_must_not_be_touched_stops_everything(tmp_path: Path) -> None:
    lab = triangle()
    topology = lab.topology()
    report = replace(topology.reports["b"], receptacles=topology.reports["b"].receptacles[1:])
    topology = replace(topology, reports={**topology.reports, "b": report})
    scripts = plan_setup(topology, None, plan_addresses(topology, OperatorNetwork()))
    shells = shells_of(lab)
    with pytest.raises(ApplyError) as caught:
        apply_setup(shells, scripts, journals=tmp_path)
    assert caught.value.what == "b: en2 is not a Thunderbolt port."
    assert caught.value.undone == "nothing was changed"
    assert all(shell.rounds == [] for shell in shells.values())


def test_a_surplus_cable_that_must_not_be_touched_is_left_out(tmp_path: Path) -> None:
    lab = triangle()
    scripts = planned(lab)
    unused = scripts["b"].goals[0].cable
    goals = {
        host: tuple(replace(goal, carries_ring=goal.cable != unused) for goal in script.goals)
        for host, script in scripts.items()
    }
    scripts = {host: replace(scripts[host], goals=goals[host]) for host in scripts}
    scripts["b"] = replace(
        scripts["b"],
        goals=goals["b"][1:],
        refused_goals=goals["b"][:1],
        refused=("en2: because.",),
        steps=tuple(step for step in scripts["b"].steps if "en2" not in step.argv),
    )
    outcome = apply_setup(shells_of(lab), scripts, journals=tmp_path)
    others = tuple(cable for cable in lab.topology().usable_cables if cable != unused)
    assert outcome == SetupOutcome(("a", "b", "c"), {}, others)


def test_without_its_hardware_uuid_a_host_can_not_be_set_up(tmp_path: Path) -> None:
    lab = triangle()
    scripts = planned(lab)
    scripts["c"] = replace(scripts["c"], hardware_uuid=None)
    with pytest.raises(ApplyError, match="c: it did not print its hardware UUID"):
        apply_setup(shells_of(lab), scripts, journals=tmp_path)


def test_a_host_that_changed_since_the_plan_stops_everything(tmp_path: Path) -> None:
    lab = triangle()
    scripts = planned(lab)
    lab.macs["a"].interfaces["en3"].addresses.append(IPv4Interface("10.7.0.1/24"))
    lab.macs["c"].interfaces["en2"].up = False
    shells = shells_of(lab)
    with pytest.raises(ApplyError) as caught:
        apply_setup(shells, scripts, journals=tmp_path)
    assert caught.value.what == (
        "a: en3 has got the address 10.7.0.1/24 since the plan was made; "
        "c: en2 is down since the plan was made"
    )
    assert all(shell.rounds == ["check"] for shell in shells.values())
    assert list(tmp_path.iterdir()) == []


def test_every_fault_of_the_verification_is_named(tmp_path: Path) -> None:
    lab = triangle()
    scripts = planned(lab)
    lab.plugged.remove(("a", "en3", "b", "en2"))
    before = [mac.state() for mac in lab.macs.values()]
    with pytest.raises(VerifyError) as caught:
        apply_setup(shells_of(lab), scripts, journals=tmp_path)
    assert caught.value.what == (
        "a en3 -> b en2: b does not answer at 10.231.0.2, neither a ping nor on TCP port 22; "
        "b en2 -> a en3: a does not answer at 10.231.0.1, neither a ping nor on TCP port 22 "
        "(undone on a, b, c)"
    )
    assert caught.value.cable == "a en3 -- b en2"
    assert [mac.state() for mac in lab.macs.values()] == before


class Liar(ModelShell):
    """A host that answers its steps with this instead."""

    said = b""

    def run(self, script: str, *, timeout_s: float) -> Completed:
        completed = super().run(script, timeout_s=timeout_s)
        return replace(completed, stdout=self.said) if "set_up() {" in script else completed


SNAPSHOT = b"@ snapshot\nen2: flags=8863<UP> mtu 1500\n@ end\n"


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (SNAPSHOT, "its commands did not run to the end"),
        (b"@ step 99 1\n@ step 0 x\n@ unrouted 77\n" + SNAPSHOT, "did not run to the end"),
        (b"@ unwatched 0\n" + SNAPSHOT, "the dead-man was gone before this step"),
        (b"@ unrouted 1\n" + SNAPSHOT, "the route still leads elsewhere after this step"),
        (b"@ step 0 1\nsudo: a \x1b[2Jpassword\n" + SNAPSHOT, "exit code 1: sudo: a"),
        (b"\xff\xfe@ end\n", "lost while its commands were running: a script did not run"),
    ],
)
def test_whatever_a_host_answers_all_are_undone(said: bytes, text: str, tmp_path: Path) -> None:
    lab = triangle()
    before = [mac.state() for mac in lab.macs.values()]
    shells = shells_of(lab)
    liar = Liar(lab, "b")
    liar.said = said
    shells["b"] = liar
    with pytest.raises(ApplyError) as caught:
        apply_setup(shells, planned(lab), journals=tmp_path)
    assert text in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert caught.value.host == "b"
    assert caught.value.undone == "undone on a, b, c"
    assert [mac.state() for mac in lab.macs.values()] == before
    if said.startswith(b"\xff"):
        assert isinstance(caught.value.__cause__, UnexpectedOutput)
