"""A teardown after any setup, on model Macs in any state."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Network

from hypothesis import assume, given
from hypothesis import strategies as st

from distconfig.cabling.bridge_loops import bridges_of_ports, find_bridge_loops
from distconfig.errors import PoolExhausted
from distconfig.recordings.recording import OperatorNetwork
from distconfig.setup.addressing import plan_addresses
from distconfig.setup.journal import Journal
from distconfig.setup.setup_script import SetupScript, plan_setup
from distconfig.setup.teardown_plan import TeardownScript, plan_teardown
from tests.model_labs import looped_labs, model_labs
from tests.model_mac import ModelLab

OPERATOR = OperatorNetwork((), (IPv4Network("0.0.0.0/0"),))
MTUS = st.sampled_from([None, 1500, 9000])


def scripts_or_pass(lab: ModelLab, mtu: int | None, replaces: bool) -> dict[str, SetupScript]:
    topology = lab.topology()
    try:
        plan = plan_addresses(topology, OPERATOR)
    except PoolExhausted:
        assume(False)
        raise
    return plan_setup(topology, None, plan, mtu=mtu, replace_addresses=replaces)


def journals_of(lab: ModelLab, *setups: dict[str, SetupScript]) -> dict[str, Journal]:
    journals = {}
    for host, mac in lab.macs.items():
        journals[host] = Journal(host, mac.hardware_uuid)
        for scripts in setups:
            journals[host] = journals[host].with_planned(scripts[host])
    return journals


def has_loop(lab: ModelLab) -> bool:
    topology = lab.topology()
    return bool(find_bridge_loops(topology, bridges_of_ports(topology)))


def tear_down(lab: ModelLab, journals: dict[str, Journal]) -> dict[str, TeardownScript]:
    scripts = plan_teardown(lab.topology(), journals)
    for host, script in scripts.items():
        for step in script.steps:
            assert lab.macs[host].run(step.argv) == 0
    return scripts


@given(model_labs(), MTUS, st.booleans(), st.integers(0, 20))
def test_after_setup_and_teardown_a_host_is_what_it_was(
    lab: ModelLab, mtu: int | None, replaces: bool, steps: int
) -> None:
    """Also if the setup was killed after any of its steps."""
    scripts = scripts_or_pass(lab, mtu, replaces)
    assume(not has_loop(lab))
    before = {host: mac.state() for host, mac in lab.macs.items()}
    for host, script in scripts.items():
        lab.macs[host].run_script(script, steps=steps)
    torn = tear_down(lab, journals_of(lab, scripts))
    assert {host: mac.state() for host, mac in lab.macs.items()} == before
    assert {host: script.left for host, script in torn.items()} == dict.fromkeys(lab.macs, ())
    for host, script in torn.items():
        assert script.settled == frozenset(range(len(scripts[host].steps)))


@given(model_labs(), st.integers(0, 20), MTUS)
def test_a_second_setup_after_a_killed_one_is_torn_down_with_it(
    lab: ModelLab, steps: int, mtu: int | None
) -> None:
    first = scripts_or_pass(lab, None, False)
    assume(not has_loop(lab))
    before = {host: mac.state() for host, mac in lab.macs.items()}
    for host, script in first.items():
        lab.macs[host].run_script(script, steps=steps)
    second = scripts_or_pass(lab, mtu, False)
    for host, script in second.items():
        lab.macs[host].run_script(script)
    tear_down(lab, journals_of(lab, first, second))
    assert {host: mac.state() for host, mac in lab.macs.items()} == before


@given(model_labs(), MTUS)
def test_after_a_reboot_there_is_nothing_to_undo(lab: ModelLab, mtu: int | None) -> None:
    """A reboot restores what the setup changed."""
    scripts = scripts_or_pass(lab, mtu, False)
    assume(not has_loop(lab))
    for script in plan_teardown(lab.topology(), journals_of(lab, scripts)).values():
        assert script.steps == ()
        assert script.settled == frozenset(range(len(scripts[script.host].steps)))


@given(looped_labs())
def test_a_teardown_closes_no_loop_until_a_cable_is_pulled(lab: ModelLab) -> None:
    before = {host: mac.state() for host, mac in lab.macs.items()}
    scripts = scripts_or_pass(lab, None, False)
    for host, script in scripts.items():
        lab.macs[host].run_script(script)
    journals = journals_of(lab, scripts)
    torn = tear_down(lab, journals)
    assert not has_loop(lab)
    assert all(script.left for script in torn.values())
    for host, script in torn.items():
        steps = tuple(
            replace(step, state="undone" if index in script.settled else "done")
            for index, step in enumerate(journals[host].steps)
        )
        journals[host] = replace(journals[host], steps=steps)
    pulled = lab.plugged.pop()
    again = tear_down(lab, journals)
    lab.plugged.append(pulled)
    assert {host: mac.state() for host, mac in lab.macs.items()} == before
    assert all(not script.left for script in again.values())
