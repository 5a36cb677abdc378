"""Steps and their undo, on model Macs in any state."""

from __future__ import annotations

from ipaddress import IPv4Network

from hypothesis import assume, given
from hypothesis import strategies as st

from distconfig.errors import PoolExhausted
from distconfig.recordings.recording import OperatorNetwork
from distconfig.setup.addressing import plan_addresses
from distconfig.setup.setup_script import SetupScript, plan_setup
from tests.model_labs import model_labs
from tests.model_mac import ModelLab

OPERATOR = OperatorNetwork((), (IPv4Network("0.0.0.0/0"),))
MTUS = st.sampled_from([None, 1500, 9000])


def scripts_or_pass(
    lab: ModelLab, mtu: int | None = None, replace_addresses: bool = False
) -> dict[str, SetupScript]:
    topology = lab.topology()
    try:
        plan = plan_addresses(topology, OPERATOR)
    except PoolExhausted:
        assume(False)
        raise
    return plan_setup(topology, None, plan, mtu=mtu, replace_addresses=replace_addresses)


@given(model_labs(), MTUS, st.booleans(), st.integers(0, 20))
def test_however_far_the_steps_came_the_undo_restores_everything(
    lab: ModelLab, mtu: int | None, replace_addresses: bool, steps: int
) -> None:
    for host, script in scripts_or_pass(lab, mtu, replace_addresses).items():
        mac = lab.macs[host]
        before = mac.state()
        mac.run_script(script, steps=steps)
        mac.run_undo(script)
        assert mac.state() == before


@given(model_labs(), MTUS, st.booleans())
def test_all_steps_then_their_undo_twice_is_nothing(
    lab: ModelLab, mtu: int | None, replace_addresses: bool
) -> None:
    for host, script in scripts_or_pass(lab, mtu, replace_addresses).items():
        mac = lab.macs[host]
        before = mac.state()
        mac.run_script(script)
        mac.run_undo(script)
        mac.run_undo(script)
        assert mac.state() == before


@given(model_labs(), MTUS, st.booleans())
def test_planning_again_after_the_steps_finds_nothing_to_do(
    lab: ModelLab, mtu: int | None, replace_addresses: bool
) -> None:
    for host, script in scripts_or_pass(lab, mtu, replace_addresses).items():
        lab.macs[host].run_script(script)
    again = scripts_or_pass(lab, mtu, replace_addresses)
    assert {host: script.steps for host, script in again.items()} == dict.fromkeys(lab.macs, ())


@given(model_labs(), MTUS)
def test_no_step_touches_anything_but_cabled_ports_and_their_bridges(
    lab: ModelLab, mtu: int | None
) -> None:
    for host, script in scripts_or_pass(lab, mtu).items():
        mac = lab.macs[host]
        cabled = {port for each in lab.plugged for at, port in (each[:2], each[2:]) if at == host}
        holders = {name for name, members in mac.bridges.items() if members & cabled}
        for argv in script.commands:
            named = {word for word in argv if word in mac.interfaces}
            assert named <= cabled | holders


@given(model_labs())
def test_every_undo_comes_in_reverse(lab: ModelLab) -> None:
    for script in scripts_or_pass(lab).values():
        expected = [argv for step in script.steps[::-1] for argv in step.undo]
        assert list(script.undo) == expected
