"""Which addresses each rank lists."""

from __future__ import annotations

from ipaddress import IPv4Interface

from distconfig.cabling.topology import Cable, CableEnd
from distconfig.hostfiles.hostfile_plan import plan_lan_hostfile, plan_ring_hostfile
from distconfig.rings.ring import RingPlan
from distconfig.setup.addressing import AddressPlan
from ring_runtime.hostfile import Hostfile, HostfileEntry

AB1 = Cable(CableEnd("a", "1", "en2"), CableEnd("b", "1", "en2"))
AB2 = Cable(CableEnd("a", "2", "en3"), CableEnd("b", "2", "en3"))
BC1 = Cable(CableEnd("b", "3", "en4"), CableEnd("c", "1", "en2"))
AC1 = Cable(CableEnd("a", "3", "en4"), CableEnd("c", "2", "en3"))


def addressed(*cables: Cable) -> AddressPlan:
    """Cable k gets 10.0.k.1 at its first end and 10.0.k.2 at its second."""
    addresses = {}
    for index, cable in enumerate(cables):
        for last, end in enumerate(cable.ends, start=1):
            addresses[cable, end.host] = IPv4Interface(f"10.0.{index}.{last}/30")
    return AddressPlan({}, addresses)


def test_a_rank_lists_its_addresses_on_the_cables_to_the_rank_before_it() -> None:
    ring = RingPlan(("a", "b", "c"), ((AB1,), (BC1,), (AC1,)))
    assert plan_ring_hostfile(ring, addressed(AB1, BC1, AC1)) == Hostfile(
        (
            HostfileEntry("a", ("10.0.2.1",)),
            HostfileEntry("b", ("10.0.0.2",)),
            HostfileEntry("c", ("10.0.1.2",)),
        )
    )


def test_two_hosts_list_both_ends_of_the_same_cables_in_one_order() -> None:
    ring = RingPlan(("a", "b"), ((AB2, AB1), (AB2, AB1)))
    hostfile = plan_ring_hostfile(ring, addressed(AB1, AB2), backend="ring", envs=["A=1"])
    assert hostfile == Hostfile(
        (
            HostfileEntry("a", ("10.0.1.1", "10.0.0.1")),
            HostfileEntry("b", ("10.0.1.2", "10.0.0.2")),
        ),
        "ring",
        ("A=1",),
    )


def test_on_a_lan_each_host_has_one_address_in_the_order_given() -> None:
    addresses = {"b": IPv4Interface("192.168.1.7/24"), "a": IPv4Interface("192.168.1.3/24")}
    assert plan_lan_hostfile(addresses) == Hostfile(
        (HostfileEntry("b", ("192.168.1.7",)), HostfileEntry("a", ("192.168.1.3",)))
    )
