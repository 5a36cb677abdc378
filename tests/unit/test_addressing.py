"""Which /30 each cable gets, what stands in its way, and what it keeps."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

import pytest

from distconfig.errors import AddressInUse, PoolExhausted, UsageError
from distconfig.recordings.recording import OperatorNetwork
from distconfig.setup.addressing import AddressPlan, plan_addresses
from tests.model_mac import ModelInterface, ModelLab, ModelMac

OPERATOR = OperatorNetwork(
    (IPv4Interface("127.0.0.1/8"), IPv4Interface("192.168.1.2/24")),
    (IPv4Network("0.0.0.0/0"), IPv4Network("192.168.1.0/24"), IPv4Network("169.254.0.0/16")),
)


def pair() -> ModelLab:
    """``a`` en2 cabled to ``b`` en3."""
    lab = ModelLab.of(ModelMac("a"), ModelMac("b", lan=IPv4Interface("192.168.1.11/24")))
    lab.plug("a", "en2", "b", "en3")
    return lab


def give(lab: ModelLab, host: str, interface: str, *addresses: str) -> None:
    lab.macs[host].interfaces.setdefault(interface, ModelInterface()).addresses += [
        IPv4Interface(address) for address in addresses
    ]


def route(lab: ModelLab, host: str, *destinations: str, interface: str = "utun4") -> None:
    for destination in destinations:
        lab.macs[host].static_routes[IPv4Network(destination)] = (None, interface)


def ends(plan: AddressPlan) -> list[tuple[str, str]]:
    """Both addresses of each cable, canonical first end first."""
    return [
        (str(plan.address(cable, cable.a.host)), str(plan.address(cable, cable.b.host)))
        for cable in plan.subnets
    ]


def test_cables_get_the_lowest_subnets_in_canonical_order() -> None:
    lab = ModelLab.of(*(ModelMac(host, lan=None) for host in "abc"))
    third = lab.plug("b", "en2", "c", "en2")
    second = lab.plug("a", "en3", "c", "en3")
    first = lab.plug("a", "en2", "b", "en3")
    plan = plan_addresses(lab.topology(), OPERATOR)
    assert plan.subnets == {
        first: IPv4Network("10.231.0.0/30"),
        second: IPv4Network("10.231.0.4/30"),
        third: IPv4Network("10.231.0.8/30"),
    }
    assert ends(plan) == [
        ("10.231.0.1/30", "10.231.0.2/30"),
        ("10.231.0.5/30", "10.231.0.6/30"),
        ("10.231.0.9/30", "10.231.0.10/30"),
    ]
    assert (plan.kept, plan.retired) == (frozenset(), {})


def test_parallel_cables_of_a_pair_get_one_subnet_each() -> None:
    lab = pair()
    lab.plug("a", "en4", "b", "en2")
    assert ends(plan_addresses(lab.topology(), OPERATOR)) == [
        ("10.231.0.1/30", "10.231.0.2/30"),
        ("10.231.0.5/30", "10.231.0.6/30"),
    ]


def test_no_cable_needs_no_address() -> None:
    lab = ModelLab.of(ModelMac("a"), ModelMac("b"))
    assert plan_addresses(lab.topology(), OPERATOR) == AddressPlan({}, {})


@pytest.mark.parametrize(
    ("taken", "block"),
    [
        (["10.0.0.0/8"], "172.29.0.0/30"),
        (["10.231.15.255/32"], "172.29.0.0/30"),
        (["10.231.16.0/24"], "10.231.0.0/30"),
        (["10.0.0.0/8", "172.16.0.0/12"], "192.168.224.0/30"),
        (["10.231.0.0/16", "172.16.0.0/12", "192.168.0.0/16"], "10.230.0.0/30"),
        (["10.230.0.0/15", "172.16.0.0/12", "192.168.0.0/16"], "10.229.0.0/30"),
        (["10.1.0.0/16", "10.2.0.0/15", "10.4.0.0/14", "10.8.0.0/13", "10.16.0.0/12",
          "10.32.0.0/11", "10.64.0.0/10", "10.128.0.0/9", "172.29.8.0/24", "192.168.239.0/24"],
         "10.0.0.0/30"),
    ],
)  # fmt: skip
def test_the_first_block_that_overlaps_no_route_is_taken(taken: list[str], block: str) -> None:
    lab = pair()
    route(lab, "b", *taken)
    assert list(plan_addresses(lab.topology(), OPERATOR).subnets.values()) == [IPv4Network(block)]


def test_the_lan_of_any_host_is_avoided() -> None:
    lab = pair()
    give(lab, "b", "en7", "10.231.4.9/22")
    assert ends(plan_addresses(lab.topology(), OPERATOR))[0][0] == "172.29.0.1/30"


def test_the_far_end_of_a_tunnel_is_avoided() -> None:
    lab = pair()
    topology = lab.topology()
    report = topology.reports["a"]
    tunnel = replace(
        report.interfaces[0],
        name="utun4",
        addresses=(),
        peer_addresses=(IPv4Address("10.231.7.1"),),
    )
    reports = {**topology.reports, "a": replace(report, interfaces=(*report.interfaces, tunnel))}
    plan = plan_addresses(replace(topology, reports=reports), OPERATOR)
    assert ends(plan)[0][0] == "172.29.0.1/30"


def test_the_network_of_the_operator_is_avoided() -> None:
    by_address = OperatorNetwork((IPv4Interface("10.231.3.4/24"),), ())
    by_route = OperatorNetwork((), (IPv4Network("10.231.0.0/24"),))
    for operator in (by_address, by_route):
        assert ends(plan_addresses(pair().topology(), operator))[0][0] == "172.29.0.1/30"


@pytest.mark.parametrize(
    "routes",
    [
        ["0.0.0.0/0"],
        ["0.0.0.0/1", "128.0.0.0/1"],
        ["1.0.0.0/8", "2.0.0.0/7", "4.0.0.0/6", "8.0.0.0/5", "16.0.0.0/4", "32.0.0.0/3",
         "64.0.0.0/2", "128.0.0.0/1"],
        ["127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32"],
    ],
)  # fmt: skip
def test_a_default_route_in_any_spelling_takes_nothing(routes: list[str]) -> None:
    lab = pair()
    route(lab, "a", *routes)
    operator = OperatorNetwork((), tuple(map(IPv4Network, routes)))
    assert ends(plan_addresses(lab.topology(), operator)) == [("10.231.0.1/30", "10.231.0.2/30")]


def test_half_of_a_default_route_is_a_route() -> None:
    lab = pair()
    route(lab, "a", "0.0.0.0/1")
    assert ends(plan_addresses(lab.topology(), OPERATOR))[0][0] == "172.29.0.1/30"


# What is ours


def test_addresses_that_sit_on_both_ends_of_a_cable_stay_as_they_are() -> None:
    lab = pair()
    give(lab, "a", "en2", "192.168.0.2/30")
    give(lab, "b", "en3", "192.168.0.1/30")
    plan = plan_addresses(lab.topology(), OPERATOR)
    assert ends(plan) == [("192.168.0.2/30", "192.168.0.1/30")]
    assert plan.kept == frozenset(plan.subnets)
    assert plan.retired == {}


def test_an_old_setup_inside_the_home_lan_moves() -> None:
    lab = ModelLab.of(
        ModelMac("a", lan=IPv4Interface("192.168.0.20/24")),
        ModelMac("b", lan=IPv4Interface("192.168.0.21/24")),
    )
    lab.plug("a", "en2", "b", "en3")
    give(lab, "a", "en2", "192.168.0.1/30")
    give(lab, "b", "en3", "192.168.0.2/30")
    plan = plan_addresses(lab.topology(), OPERATOR)
    assert ends(plan) == [("10.231.0.1/30", "10.231.0.2/30")]
    assert plan.retired == {
        ("a", "en2"): (IPv4Interface("192.168.0.1/30"),),
        ("b", "en3"): (IPv4Interface("192.168.0.2/30"),),
    }


def test_one_end_is_enough_for_a_subnet_of_our_blocks() -> None:
    """The other host may have restarted, or its commands are still to be pasted."""
    lab = pair()
    give(lab, "b", "en3", "10.231.0.21/30")
    plan = plan_addresses(lab.topology(), OPERATOR)
    assert ends(plan) == [("10.231.0.22/30", "10.231.0.21/30")]
    assert plan.kept == frozenset(plan.subnets)


def test_one_end_is_not_enough_for_any_other_subnet() -> None:
    lab = pair()
    give(lab, "b", "en3", "192.168.7.1/30")
    plan = plan_addresses(lab.topology(), OPERATOR)
    assert ends(plan) == [("10.231.0.1/30", "10.231.0.2/30")]
    assert plan.retired == {}


def test_an_address_of_ours_on_a_port_of_another_cluster_takes_its_block() -> None:
    lab = pair()
    give(lab, "b", "en4", "10.231.0.1/30")  # towards a host that is not listed
    assert ends(plan_addresses(lab.topology(), OPERATOR)) == [("172.29.0.1/30", "172.29.0.2/30")]


def test_a_subnet_on_two_cables_stays_on_the_first() -> None:
    lab = pair()
    lab.plug("a", "en3", "b", "en4")
    for host, port, address in (
        ("a", "en2", "10.231.0.1/30"),
        ("b", "en3", "10.231.0.2/30"),
        ("a", "en3", "10.231.0.1/30"),
        ("b", "en4", "10.231.0.2/30"),
    ):
        give(lab, host, port, address)
    plan = plan_addresses(lab.topology(), OPERATOR)
    assert ends(plan) == [("10.231.0.1/30", "10.231.0.2/30"), ("10.231.0.5/30", "10.231.0.6/30")]
    assert plan.retired == {
        ("a", "en3"): (IPv4Interface("10.231.0.1/30"),),
        ("b", "en4"): (IPv4Interface("10.231.0.2/30"),),
    }


def test_public_wide_or_equal_addresses_are_not_ours() -> None:
    for one, two in (
        ("8.8.8.1/30", "8.8.8.2/30"),
        ("10.5.0.1/24", "10.5.0.2/24"),
        ("10.250.0.1/30", "10.250.0.1/30"),
        ("10.231.64.0/30", "10.231.64.3/30"),
    ):
        lab = pair()
        give(lab, "a", "en2", one)
        give(lab, "b", "en3", two)
        plan = plan_addresses(lab.topology(), OPERATOR)
        assert ends(plan) == [("10.231.0.1/30", "10.231.0.2/30")]
        assert (plan.kept, plan.retired) == (frozenset(), {})


def test_a_cable_whose_peer_is_routed_over_the_lan_keeps_its_addresses() -> None:
    """The setup mends the route."""
    lab = pair()
    give(lab, "a", "en2", "10.231.0.1/30")
    give(lab, "b", "en3", "10.231.0.2/30")
    route(lab, "a", "10.231.0.2/32", interface="en0")
    assert ends(plan_addresses(lab.topology(), OPERATOR)) == [("10.231.0.1/30", "10.231.0.2/30")]


def test_kept_subnets_are_not_given_to_new_cables() -> None:
    lab = pair()
    give(lab, "a", "en2", "10.231.0.5/30")
    give(lab, "b", "en3", "10.231.0.6/30")
    new = lab.plug("a", "en3", "b", "en4")
    newer = lab.plug("a", "en4", "b", "en2")
    plan = plan_addresses(lab.topology(), OPERATOR)
    assert plan.subnets[newer] == IPv4Network("10.231.0.8/30")
    assert plan.subnets[new] == IPv4Network("10.231.0.0/30")


def test_the_tool_may_run_on_one_of_the_hosts() -> None:
    lab = pair()
    give(lab, "a", "en2", "10.231.0.1/30")
    give(lab, "b", "en3", "10.231.0.2/30")
    on_a = OperatorNetwork(
        (IPv4Interface("192.168.1.10/24"), IPv4Interface("10.231.0.1/30")),
        (IPv4Network("10.231.0.0/30"), IPv4Network("10.231.0.2/32")),
    )
    assert ends(plan_addresses(lab.topology(), on_a)) == [("10.231.0.1/30", "10.231.0.2/30")]
    elsewhere = replace(on_a, addresses=(IPv4Interface("10.231.0.1/30"), *OPERATOR.addresses))
    assert ends(plan_addresses(lab.topology(), elsewhere)) == [("172.29.0.1/30", "172.29.0.2/30")]


def test_a_port_with_two_cables_behind_a_dock_has_an_address_for_each() -> None:
    lab = ModelLab.of(*(ModelMac(host, lan=None) for host in "abc"))
    lab.plug("a", "en2", "b", "en2")
    lab.plug("a", "en2", "c", "en2")
    plan = plan_addresses(lab.topology(), OPERATOR)
    assert ends(plan) == [("10.231.0.1/30", "10.231.0.2/30"), ("10.231.0.5/30", "10.231.0.6/30")]


# The pool


def test_a_pool_is_the_only_block_and_cables_outside_of_it_move() -> None:
    lab = pair()
    give(lab, "a", "en2", "10.231.0.1/30")
    give(lab, "b", "en3", "10.231.0.2/30")
    pool = IPv4Network("10.99.0.0/29")
    plan = plan_addresses(lab.topology(), OPERATOR, pool=pool)
    assert ends(plan) == [("10.99.0.1/30", "10.99.0.2/30")]
    assert plan.retired == {
        ("a", "en2"): (IPv4Interface("10.231.0.1/30"),),
        ("b", "en3"): (IPv4Interface("10.231.0.2/30"),),
    }


def test_a_pool_that_is_too_small() -> None:
    lab = pair()
    lab.plug("a", "en3", "b", "en4")
    for pool in ("10.99.0.0/30", "10.99.0.0/31"):
        with pytest.raises(PoolExhausted) as caught:
            plan_addresses(lab.topology(), OPERATOR, pool=IPv4Network(pool))
        assert f"the pool {pool} has no room for 2 more cable(s)" in str(caught.value)


def test_a_pool_that_clashes_says_with_what() -> None:
    lab = pair()
    route(lab, "b", "10.99.0.128/25", interface="utun3")
    with pytest.raises(AddressInUse) as caught:
        plan_addresses(lab.topology(), OPERATOR, pool=IPv4Network("10.99.0.0/24"))
    error = caught.value
    assert (error.host, error.interface, error.exit_code) == ("b", "utun3", 6)
    assert "the route 10.99.0.128/25" in error.what


@pytest.mark.parametrize("pool", ["8.8.8.0/24", "169.254.0.0/16", "127.0.0.0/8", "0.0.0.0/0"])
def test_a_pool_must_be_private(pool: str) -> None:
    with pytest.raises(UsageError):
        plan_addresses(pair().topology(), OPERATOR, pool=IPv4Network(pool))


def test_when_every_block_is_taken_the_error_names_one_of_them() -> None:
    lab = pair()
    route(lab, "a", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
    with pytest.raises(PoolExhausted) as caught:
        plan_addresses(lab.topology(), OPERATOR)
    assert "10.0.0.0/8 of a" in str(caught.value)
    assert "--pool" in caught.value.hint
