"""Status and reapply on model Macs: each drift has its sentence, and reapply mends exactly it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distconfig.errors import UsageError
from distconfig.recordings.recording import OperatorNetwork
from distconfig.setup.addressing import plan_addresses
from distconfig.setup.setup_script import plan_setup
from distconfig.upkeep.cable_record import (
    change_record,
    load_record,
    parse_record,
    record_path,
    render_record,
)
from distconfig.upkeep.intended import (
    IntendedCable,
    IntendedEnd,
    find_intended,
    intended_of_setup,
    replace_intended,
)
from distconfig.upkeep.reapply import plan_reapply
from distconfig.upkeep.status import DriftKind, find_drifts
from ring_runtime.hostfile import Hostfile, HostfileEntry
from tests.model_mac import ModelLab, ModelMac

HOSTS = ("studio1", "studio2", "studio3")
Record = tuple[IntendedCable, ...]


def set_up_lab(mtu: int | None = None) -> tuple[ModelLab, Record]:
    """Three Macs in a ring, en3 of each to en2 of the next, set up; and the record of it."""
    macs = [ModelMac(host, lan=IPv4Interface(f"192.168.1.{11 + n}/24")) for n, host in
            enumerate(HOSTS)]  # fmt: skip
    for mac in macs:
        mac.add_bridge("bridge0", mac.ports)
    lab = ModelLab.of(*macs)
    lab.plug("studio1", "en3", "studio2", "en2")
    lab.plug("studio1", "en2", "studio3", "en3")
    lab.plug("studio2", "en3", "studio3", "en2")
    topology = lab.topology()
    plan = plan_addresses(topology, OperatorNetwork())
    scripts = plan_setup(topology, None, plan, mtu=mtu)
    for host, script in scripts.items():
        lab.macs[host].run_script(script)
    return lab, intended_of_setup(scripts, topology)


def sentences(record: Record, lab: ModelLab) -> list[str]:
    return [drift.text for drift in find_drifts(record, lab.topology())]


def reapply(record: Record, lab: ModelLab) -> tuple[str, ...]:
    """Run the plan on the models; what it says can not be mended."""
    topology = lab.topology()
    plan = plan_reapply(record, find_drifts(record, topology), topology)
    for host, script in plan.scripts.items():
        lab.macs[host].run_script(script)
    return plan.hopeless


def test_what_was_just_set_up_has_no_drift_and_nothing_to_reapply() -> None:
    lab, record = set_up_lab(mtu=9000)
    assert len(record) == 3
    assert sentences(record, lab) == []
    plan = plan_reapply(record, (), lab.topology())
    assert not plan.has_steps
    assert plan.hopeless == ()


# studio2 has 10.231.0.2 on en2 (to studio1 en3) and 10.231.0.9 on en3 (to studio3 en2).


def reboot(mac: ModelMac) -> None:
    for port in mac.ports:
        mac.interfaces[port].addresses.clear()
        mac.interfaces[port].mtu = 1500
    mac.bridges["bridge0"] = set(mac.ports)
    mac.interfaces["bridge0"].up = True


def put_back(mac: ModelMac) -> None:
    mac.bridges["bridge0"].add("en3")
    mac.interfaces["bridge0"].up = True


def lose_address(mac: ModelMac) -> None:
    mac.interfaces["en2"].addresses.clear()


def switch_off(mac: ModelMac) -> None:
    mac.interfaces["en3"].up = False


def shrink(mac: ModelMac) -> None:
    mac.interfaces["en2"].mtu = 1500


def lead_elsewhere(mac: ModelMac) -> None:
    mac.static_routes[IPv4Network("10.231.0.1/32")] = (IPv4Address("192.168.1.1"), "en0")


DRIFTS: list[tuple[Callable[[ModelMac], None], list[str]]] = [
    (
        reboot,
        [
            "studio2: en2 is back in bridge0.",
            "studio2: en2 has mtu 1500, not 9000.",
            "studio2: en2 has lost its address 10.231.0.2/30.",
            "studio2: en3 is back in bridge0.",
            "studio2: en3 has mtu 1500, not 9000.",
            "studio2: en3 has lost its address 10.231.0.9/30.",
        ],
    ),
    (put_back, ["studio2: en3 is back in bridge0."]),
    (lose_address, ["studio2: en2 has lost its address 10.231.0.2/30."]),
    (switch_off, ["studio2: en3 is down."]),
    (shrink, ["studio2: en2 has mtu 1500, not 9000."]),
    (lead_elsewhere, ["studio2: 10.231.0.1 is reached through en0, not en2."]),
]


@pytest.mark.parametrize(("change", "expected"), DRIFTS, ids=[d[0].__name__ for d in DRIFTS])
def test_each_drift_is_named_and_mended(
    change: Callable[[ModelMac], None], expected: list[str]
) -> None:
    lab, record = set_up_lab(mtu=9000)
    assert [str(end.address) for cable in record for end in cable.ends] == [
        "10.231.0.1/30", "10.231.0.2/30", "10.231.0.5/30", "10.231.0.6/30",
        "10.231.0.9/30", "10.231.0.10/30",
    ]  # fmt: skip
    others = {host: lab.macs[host].state() for host in ("studio1", "studio3")}
    change(lab.macs["studio2"])
    assert sentences(record, lab) == expected
    assert reapply(record, lab) == ()
    assert sentences(record, lab) == []
    assert {host: lab.macs[host].state() for host in others} == others


def move(lab: ModelLab, old: tuple[str, str, str, str], new: tuple[str, str, str, str]) -> None:
    lab.plugged.remove(old)
    lab.plug(*new)


def test_a_cable_moved_to_another_port_of_the_same_host_takes_its_address_along() -> None:
    lab, record = set_up_lab()
    move(lab, ("studio2", "en3", "studio3", "en2"), ("studio2", "en4", "studio3", "en2"))
    assert sentences(record, lab) == [
        "studio2: no cable is seen at port 2.",
        "studio3: port 1's cable now goes to studio2 port 3.",
    ]
    assert reapply(record, lab) == ()
    interfaces = lab.macs["studio2"].interfaces
    assert interfaces["en3"].addresses == []
    assert interfaces["en4"].addresses == [IPv4Interface("10.231.0.9/30")]
    topology = lab.topology()
    scripts = plan_reapply(record, (), topology).scripts
    now = replace_intended(record, intended_of_setup(scripts, topology))
    assert len(now) == 3
    assert find_drifts(now, topology) == ()


def test_two_cables_that_changed_places_between_the_same_hosts_swap_addresses() -> None:
    macs = [ModelMac("a"), ModelMac("b", lan=IPv4Interface("192.168.1.12/24"))]
    lab = ModelLab.of(*macs)
    lab.plug("a", "en2", "b", "en2")
    lab.plug("a", "en3", "b", "en3")
    topology = lab.topology()
    scripts = plan_setup(topology, None, plan_addresses(topology, OperatorNetwork()))
    for host, script in scripts.items():
        lab.macs[host].run_script(script)
    record = intended_of_setup(scripts, topology)
    lab.plugged[:] = [("a", "en2", "b", "en3"), ("a", "en3", "b", "en2")]
    assert sentences(record, lab) == [
        "a: port 1's cable now goes to b port 2.",
        "b: port 1's cable now goes to a port 2.",
        "a: port 2's cable now goes to b port 1.",
        "b: port 2's cable now goes to a port 1.",
    ]
    assert reapply(record, lab) == ()
    for a_port, b_port in (("en2", "en3"), ("en3", "en2")):
        (at_a,), (at_b,) = (
            lab.macs[host].interfaces[port].addresses
            for host, port in (("a", a_port), ("b", b_port))
        )
        assert at_a.network == at_b.network
        assert at_a != at_b


def test_a_cable_that_was_cut_is_left_to_a_person() -> None:
    lab, record = set_up_lab()
    lab.plugged.remove(("studio2", "en3", "studio3", "en2"))
    assert sentences(record, lab) == [
        "studio2: no cable is seen at port 2.",
        "studio3: no cable is seen at port 1.",
    ]
    before = {host: mac.state() for host, mac in lab.macs.items()}
    assert reapply(record, lab) == (
        "studio2 en3 -- studio3 en2: no cable joins studio2 and studio3 there any more. Plug it "
        "back, or set up the new cabling with --auto-setup.",
    )
    assert {host: mac.state() for host, mac in lab.macs.items()} == before


def test_a_cable_to_another_host_says_where_it_goes() -> None:
    lab, record = set_up_lab()
    move(lab, ("studio2", "en3", "studio3", "en2"), ("studio1", "en4", "studio3", "en2"))
    assert sentences(record, lab) == [
        "studio2: no cable is seen at port 2.",
        "studio3: port 1's cable now goes to studio1 port 3.",
    ]


def test_a_host_that_does_not_answer_is_a_drift_and_the_rest_is_still_mended() -> None:
    lab, record = set_up_lab()
    lose_address(lab.macs["studio2"])
    answered = lab.topology(["studio1", "studio2"])
    topology = replace(answered, hosts=HOSTS, unread={"studio3": "it is asleep"})
    drifts = find_drifts(record, topology)
    assert [drift.text for drift in drifts] == [
        "studio2: en2 has lost its address 10.231.0.2/30.",
        "studio3 did not answer: it is asleep.",
    ]
    assert drifts[1].kind is DriftKind.HOST
    plan = plan_reapply(record, drifts, topology)
    assert {host: len(script.steps) for host, script in plan.scripts.items()} == {
        "studio1": 0,
        "studio2": 2,  # the address, and the route if need be
    }
    assert len(plan.hopeless) == 2


HOSTFILE = Hostfile(
    (
        HostfileEntry("studio1", ("10.231.0.5",)),
        HostfileEntry("studio2", ("10.231.0.2",)),
        HostfileEntry("studio3", ("10.231.0.10",)),
    )
)


def test_a_hostfile_alone_tells_what_was_set_up() -> None:
    lab, record = set_up_lab()
    intended = find_intended((), HOSTFILE, lab.topology())
    assert {cable.network for cable in intended} == {cable.network for cable in record}
    assert find_drifts(intended, lab.topology()) == ()
    lose_address(lab.macs["studio2"])
    assert sentences(intended, lab) == ["studio2: en2 has lost its address 10.231.0.2/30."]
    reboot(lab.macs["studio1"])
    assert reapply(intended, lab) == ()
    assert sentences(intended, lab) == []


def test_the_record_goes_by_machine_and_the_hostfile_adds_what_it_lacks() -> None:
    lab, record = set_up_lab()
    old_names = tuple(
        IntendedCable(
            *(
                IntendedEnd(f"old-{e.host}", e.machine, e.port, e.interface, e.address)
                for e in each.ends
            )
        )
        for each in record
    )
    assert find_intended(old_names, HOSTFILE, lab.topology()) == record
    assert find_intended(record[:2], HOSTFILE, lab.topology())[:2] == record[:2]
    assert find_intended(record, None, lab.topology(["studio1", "studio2"])) == record[:1]


def test_the_record_survives_the_disk_and_forgets_what_was_torn_down(tmp_path: Path) -> None:
    lab, record = set_up_lab(mtu=9000)
    assert parse_record(render_record(record), "") == record
    path = record_path(tmp_path / "distributed_config/hosts")
    assert load_record(path) == ()
    change_record(path, lambda old: replace_intended(old, record))
    change_record(path, lambda old: replace_intended(old, record[:1]))
    assert set(load_record(path)) == set(record)
    assert path.stat().st_mode & 0o777 == 0o600
    machine = lab.macs["studio2"].hardware_uuid
    change_record(path, lambda old: replace_intended(old, (), [machine]))
    assert load_record(path) == record[1:2]


@pytest.mark.parametrize(
    "damage",
    [
        ('"format": 1', '"format": 2'),
        ('"host": "studio1"', '"host": "-oProxyCommand=x"'),
        ('"interface": "en3"', '"interface": "en3; reboot"'),
        ('"port": "1"', '"port": "../1"'),
        ('"10.231.0.1/30"', '"10.231.0.1/33"'),
        ('"mtu": null', '"mtu": 1.5'),
        ("{", "["),
    ],
)
def test_a_record_that_is_damaged_is_refused(damage: tuple[str, str]) -> None:
    _, record = set_up_lab()
    text = render_record(record)
    assert damage[0] in text
    with pytest.raises(UsageError, match=r"cables\.json can not be read"):
        parse_record(text.replace(*damage), "cables.json")


CHANGES = [reboot, put_back, lose_address, switch_off, shrink, lead_elsewhere]


@given(st.lists(st.tuples(st.sampled_from(HOSTS), st.sampled_from(CHANGES)), max_size=5))
def test_whatever_drifted_one_reapply_mends_all(
    changes: list[tuple[str, Callable[[ModelMac], None]]],
) -> None:
    lab, record = set_up_lab(mtu=9000)
    for host, change in changes:
        change(lab.macs[host])
    assert reapply(record, lab) == ()
    assert sentences(record, lab) == []
    assert isinstance(lab.macs["studio1"].hardware_uuid, UUID)
