"""What holds for the addresses of any hosts, whatever they have already."""

from __future__ import annotations

from ipaddress import IPv4Network
from itertools import combinations

from hypothesis import assume, given

from distconfig.cabling.topology import Topology
from distconfig.errors import PoolExhausted
from distconfig.recordings.recording import OperatorNetwork
from distconfig.setup.addressing import AddressPlan, plan_addresses
from distconfig.setup.setup_script import plan_setup
from tests.model_labs import model_labs
from tests.model_mac import ModelLab, ModelMac

OPERATOR = OperatorNetwork((), (IPv4Network("0.0.0.0/0"), IPv4Network("192.168.1.0/24")))


def plan_or_pass(topology: Topology) -> AddressPlan:
    """The plan; hosts that use up every private block prove nothing."""
    try:
        return plan_addresses(topology, OPERATOR)
    except PoolExhausted:
        assume(False)
        raise


def set_up(lab: ModelLab, plan: AddressPlan) -> None:
    for host, script in plan_setup(lab.topology(), None, plan).items():
        lab.macs[host].run_script(script)


@given(model_labs())
def test_every_cable_has_a_subnet_of_its_own_with_both_ends_in_it(lab: ModelLab) -> None:
    topology = lab.topology()
    plan = plan_or_pass(topology)
    assert list(plan.subnets) == list(topology.usable_cables)
    for cable, subnet in plan.subnets.items():
        ends = {plan.address(cable, end.host) for end in cable.ends}
        assert {str(each) for each in ends} == {f"{ip}/30" for ip in subnet.hosts()}
    assert not any(a.overlaps(b) for a, b in combinations(plan.subnets.values(), 2))


@given(model_labs())
def test_nothing_that_stays_on_a_host_overlaps_a_subnet(lab: ModelLab) -> None:
    plan = plan_or_pass(lab.topology())
    set_up(lab, plan)
    ours = {
        (end.host, end.interface, plan.address(cable, end.host))
        for cable in plan.subnets
        for end in cable.ends
    }
    for host, mac in lab.macs.items():
        for name, interface in mac.interfaces.items():
            for address in interface.addresses:
                if (host, name, address) not in ours and not address.is_link_local:
                    assert not any(address.network.overlaps(s) for s in plan.subnets.values())


@given(model_labs())
def test_a_second_plan_over_the_first_one_is_the_same(lab: ModelLab) -> None:
    first = plan_or_pass(lab.topology())
    set_up(lab, first)
    second = plan_addresses(lab.topology(), OPERATOR)
    assert (second.subnets, second.addresses) == (first.subnets, first.addresses)
    assert second.kept == frozenset(first.subnets)
    assert second.retired == {}


@given(model_labs())
def test_a_host_that_joins_changes_no_address(lab: ModelLab) -> None:
    first = plan_or_pass(lab.topology())
    set_up(lab, first)
    lab.macs["e"] = ModelMac("e")
    cabled = {end for plug in lab.plugged for end in (plug[:2], plug[2:])}
    free = [("a", port) for port in lab.macs["a"].ports if ("a", port) not in cabled]
    for port, other_port in zip(["en2", "en3"], free, strict=False):
        lab.plug(*other_port, "e", port)
    second = plan_addresses(lab.topology(), OPERATOR)
    for cable, subnet in first.subnets.items():
        assert second.subnets[cable] == subnet
        for end in cable.ends:
            assert second.address(cable, end.host) == first.address(cable, end.host)


@given(model_labs())
def test_the_order_in_which_interfaces_and_routes_are_listed_does_not_count(lab: ModelLab) -> None:
    first = plan_or_pass(lab.topology())
    for mac in lab.macs.values():
        mac.interfaces = dict(reversed(mac.interfaces.items()))
        mac.static_routes = dict(reversed(mac.static_routes.items()))
    second = plan_addresses(lab.topology(), OPERATOR)
    assert (second.subnets, second.addresses) == (first.subnets, first.addresses)


@given(model_labs())
def test_every_peer_is_reached_over_its_own_cable_afterwards(lab: ModelLab) -> None:
    """Except through ports that must not be touched."""
    plan = plan_or_pass(lab.topology())
    scripts = plan_setup(lab.topology(), None, plan)
    set_up(lab, plan)
    for host, script in scripts.items():
        for goal in script.goals:
            assert lab.macs[host].way_to(goal.peer) == goal.interface
