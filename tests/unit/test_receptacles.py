"""Receptacles get their interface from the first source that names it, and their peers."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from distconfig.errors import InconsistentReport
from distconfig.probes.ibv_devices import RdmaDevice
from distconfig.probes.ioreg_ports import IoregPort
from distconfig.probes.network_interfaces import StoredInterface
from distconfig.probes.networksetup_ports import HardwarePort
from distconfig.probes.thunderbolt_buses import AttachedDevice, AttachedPeer, Bus, BusReceptacle
from distconfig.reports.port_interfaces import InterfaceSources, NamedInterfaces, name_interfaces
from distconfig.reports.receptacles import (
    AmbiguousSighting,
    PeerSighting,
    Receptacle,
    assemble_receptacles,
)

ONE, TWO = UUID(int=1), UUID(int=2)
FAR, FURTHER = UUID(int=101), UUID(int=102)
NO_SOURCE = "neither ioreg nor networksetup names an interface for it"
SILICON = (
    Bus(ONE, (BusReceptacle(1, "1"),), switch_uid="0x05AC3111C304E480"),
    Bus(TWO, (BusReceptacle(1, "2"),), switch_uid="0x05AC3111C304E481"),
)
PORTS = (
    HardwarePort("Thunderbolt Bridge", "bridge0", "36:00:00:00:00:00"),
    HardwarePort("Thunderbolt 1", "en2", "36:00:00:00:00:00"),
    HardwarePort("Thunderbolt 2", "en3", "36:00:00:00:00:04"),
)
BOTH = NamedInterfaces({"1": "en2", "2": "en3"}, {})


def named(**sources: object) -> NamedInterfaces:
    return name_interfaces(SILICON, InterfaceSources(**sources))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "sources",
    [
        InterfaceSources(ioreg=(IoregPort("1", "en2"), IoregPort("2", "en3"))),
        InterfaceSources(hardware_ports=PORTS),
        InterfaceSources(stored=(StoredInterface("1", "en2"), StoredInterface("2", "en3"))),
        InterfaceSources(
            rdma_devices=(
                RdmaDevice("rdma_en3", "en3", "81e404c31131ac05"),
                RdmaDevice("rdma_en2", "en2", "80e404c31131ac05"),
            )
        ),
        InterfaceSources(
            ioreg=(IoregPort("2", "en3"),),
            stored=(StoredInterface("1", "en2"), StoredInterface("2", "en12")),
        ),
    ],
    ids=["ioreg", "networksetup", "store", "guid", "each its own"],
)
def test_each_source_suffices(sources: InterfaceSources) -> None:
    assert name_interfaces(SILICON, sources) == BOTH


def test_without_a_source_the_reason_is_given() -> None:
    assert named() == NamedInterfaces({}, {"1": NO_SOURCE, "2": NO_SOURCE})


def test_translated_names_end_in_the_number() -> None:
    ports = (
        HardwarePort("雷雳网桥", "bridge0", "36:00:00:00:00:00"),
        HardwarePort("雷雳 1", "en2", "36:00:00:00:00:00"),
        HardwarePort("雷雳2", "en3", "36:00:00:00:00:04"),
        HardwarePort("Adapter Slot 1", "en11", "02:00:00:00:00:01"),
    )
    assert named(hardware_ports=ports) == BOTH


@pytest.mark.parametrize(
    "port",
    [
        HardwarePort("Thunderbolt Ethernet Slot 0", "en10", "02:00:00:00:00:00"),
        HardwarePort("Thunderbolt Ethernet Slot 1, Port 1", "en11", "36:00:00:00:01:00"),
        HardwarePort("Ethernet Adapter (en1)", "en1", "9e:00:00:00:00:70"),
        HardwarePort("Thunderbolt", "en9", "36:00:00:00:00:08"),
        HardwarePort("Lab 1", "bridge2", "36:00:00:00:00:00"),
    ],
    ids=lambda port: port.name,
)
def test_no_other_port_is_taken_for_a_receptacle(port: HardwarePort) -> None:
    assert named(hardware_ports=(port, *PORTS)) == BOTH


def test_ioreg_is_believed_against_networksetup() -> None:
    found = named(hardware_ports=PORTS, ioreg=(IoregPort("1", "en6"), IoregPort("2", "en3")))
    assert found == NamedInterfaces(
        {"1": "en6", "2": "en3"},
        {},
        ("networksetup says that port 1 is en2, ioreg that it is en6; ioreg is believed.",),
    )


def test_a_source_that_contradicts_itself_is_passed_over() -> None:
    twice = (IoregPort("1", "en2"), IoregPort("1", "en6"), IoregPort("2", "en3"))
    assert named(ioreg=twice) == NamedInterfaces({"2": "en3"}, {"1": NO_SOURCE})


def test_an_interface_that_ifconfig_does_not_list_is_a_problem_of_the_port() -> None:
    found = named(hardware_ports=PORTS, known_interfaces=frozenset({"en0", "en3"}))
    assert found == NamedInterfaces(
        {"2": "en3"}, {"1": "it should be en2, which ifconfig does not list"}
    )


def test_two_receptacles_can_not_have_one_interface() -> None:
    found = named(ioreg=(IoregPort("1", "en2"), IoregPort("2", "en2")))
    assert found == NamedInterfaces(
        {}, dict.fromkeys("12", "ports 1 and 2 claim the same interface, en2")
    )


@pytest.mark.parametrize("name", ["bridge0", "utun4", "lo0", "en12345"])
def test_only_an_ethernet_interface_can_be_that_of_a_receptacle(name: str) -> None:
    assert named(ioreg=(IoregPort("1", name), IoregPort("2", "en3"))).names == {"2": "en3"}


# Peers


def intel(*peers: AttachedPeer, devices: tuple[AttachedDevice, ...] = ()) -> Bus:
    both = (BusReceptacle(1, "2", True), BusReceptacle(2, "1", True))
    return Bus(ONE, both, peers, devices)


def disconnected(bus: Bus, label: str) -> Bus:
    receptacles = tuple(
        replace(each, is_connected=False) if each.label == label else each
        for each in bus.receptacles
    )
    return replace(bus, receptacles=receptacles)


def peers_of(
    bus: Bus, ioreg: tuple[IoregPort, ...] = ()
) -> tuple[dict[str, list[UUID]], tuple[AmbiguousSighting, ...]]:
    found, ambiguous, _ = assemble_receptacles([bus], InterfaceSources(ioreg=ioreg))
    return {each.label: [peer.domain_uuid for peer in each.peers] for each in found}, ambiguous


def test_a_peer_is_at_the_receptacle_that_is_connected() -> None:
    bus = disconnected(intel(AttachedPeer(FAR)), "2")
    assert peers_of(bus) == ({"1": [FAR], "2": []}, ())


def test_a_peer_is_not_where_a_dock_is() -> None:
    bus = intel(AttachedPeer(FAR), devices=(AttachedDevice("Dock", 0, 1),))
    assert peers_of(bus) == ({"1": [FAR], "2": []}, ())


def test_a_peer_behind_a_dock_is_where_the_dock_is() -> None:
    bus = intel(AttachedPeer(FAR, via=("Dock",), tag=1), devices=(AttachedDevice("Dock", 0, 1),))
    assert peers_of(bus) == ({"1": [], "2": [FAR]}, ())


def test_ioreg_tells_where_a_peer_is_linked() -> None:
    ports = (IoregPort("1", "en1", has_peer=False), IoregPort("2", "en2", has_peer=True))
    assert peers_of(intel(AttachedPeer(FAR)), ports) == ({"1": [], "2": [FAR]}, ())


def test_two_peers_at_two_receptacles_are_ambiguous() -> None:
    bus = intel(AttachedPeer(FAR), AttachedPeer(FURTHER))
    assert peers_of(bus) == (
        {"1": [], "2": []},
        (
            AmbiguousSighting(PeerSighting(FAR), ("1", "2")),
            AmbiguousSighting(PeerSighting(FURTHER), ("1", "2")),
        ),
    )


def test_a_receptacle_of_unknown_state_may_hold_the_peer() -> None:
    unknown = (BusReceptacle(1, "2", None), BusReceptacle(2, "1", True))
    bus = replace(intel(AttachedPeer(FAR)), receptacles=unknown)
    assert peers_of(bus) == (
        {"1": [], "2": []},
        (AmbiguousSighting(PeerSighting(FAR), ("1", "2")),),
    )


def test_a_peer_where_nothing_is_connected_is_left_out_and_said_so() -> None:
    bus = replace(disconnected(intel(), "1"), peers=(AttachedPeer(FAR, "Mac16,9"),))
    found, ambiguous, problems = assemble_receptacles([disconnected(bus, "2")], InterfaceSources())
    assert [each.peers for each in found] == [(), ()]
    assert ambiguous == ()
    assert problems == (
        "A peer (Mac16,9) is seen where no port with a number is connected; it was left out.",
    )


def test_a_receptacle_without_a_number_is_left_out_with_its_peer() -> None:
    bus = Bus(ONE, (BusReceptacle(1, "", True),), (AttachedPeer(FAR, "Mac16,9"),))
    found, ambiguous, problems = assemble_receptacles([bus], InterfaceSources())
    assert (found, ambiguous) == ((), ())
    assert len(problems) == 1


def test_several_peers_behind_one_dock_share_a_receptacle() -> None:
    peers = (AttachedPeer(FAR, via=("Dock",)), AttachedPeer(FURTHER, via=("Dock",)))
    bus = Bus(ONE, (BusReceptacle(1, "4", True),), peers, (AttachedDevice("Dock"),))
    assert peers_of(bus) == ({"4": [FAR, FURTHER]}, ())


def test_everything_known_of_a_receptacle_is_put_together() -> None:
    peer = AttachedPeer(FAR, "Mac16,9", ("Dock",), True, 1)
    bus = Bus(
        ONE,
        (BusReceptacle(1, "3", True, 80, None),),
        (peer,),
        (AttachedDevice("Dock", 0, 1), AttachedDevice("SSD", 1, 1)),
        "0x05AC3111C304E482",
    )
    sources = InterfaceSources(
        ioreg=(IoregPort("3", "en4", True),),
        rdma_devices=(RdmaDevice("rdma_en4", "en4", "82e404c31131ac05"),),
    )
    assert assemble_receptacles([bus], sources)[0] == (
        Receptacle(
            "3",
            ONE,
            "en4",
            is_connected=True,
            peers=(PeerSighting(FAR, "Mac16,9", ("Dock",), True),),
            devices=("Dock", "SSD"),
            link_gbps=80,
            rdma_device="rdma_en4",
            switch_uid="0x05AC3111C304E482",
        ),
    )


def test_the_speed_of_an_idle_link_is_not_one() -> None:
    bus = Bus(ONE, (BusReceptacle(1, "1", False, 10, None),))
    assert assemble_receptacles([bus], InterfaceSources())[0][0].link_gbps is None


def test_receptacles_are_sorted_by_number() -> None:
    buses = [Bus(UUID(int=n), (BusReceptacle(1, str(n)),)) for n in (10, 9, 2, 1)]
    found, _, _ = assemble_receptacles(buses, InterfaceSources())
    assert [each.label for each in found] == ["1", "2", "9", "10"]


def test_two_receptacles_with_one_number_are_refused() -> None:
    buses = [Bus(ONE, (BusReceptacle(1, "1"),)), Bus(TWO, (BusReceptacle(1, "1"),))]
    with pytest.raises(InconsistentReport, match="several receptacles have the number 1"):
        assemble_receptacles(buses, InterfaceSources())
