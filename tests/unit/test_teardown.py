"""What a teardown takes back, what it leaves, and what it says about that."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path

from distconfig.cabling.topology import CableEnd, Stranger
from distconfig.recordings.recording import OperatorNetwork
from distconfig.setup.addressing import plan_addresses
from distconfig.setup.apply import apply_setup
from distconfig.setup.journal import Journal
from distconfig.setup.setup_script import plan_setup
from distconfig.setup.teardown import TeardownResult, apply_teardown
from distconfig.setup.teardown_plan import TeardownScript, UndoStep, plan_teardown
from tests.model_mac import ModelInterface, ModelLab, ModelMac, domain_of
from tests.model_shell import ModelShell

OPERATOR = OperatorNetwork((), ())


def pair() -> ModelLab:
    """``a`` en2 cabled to ``b`` en3, both with all ports in bridge0."""
    lab = ModelLab.of(ModelMac("a"), ModelMac("b", lan=IPv4Interface("192.168.1.11/24")))
    for mac in lab.macs.values():
        mac.add_bridge("bridge0", mac.ports)
    lab.plug("a", "en2", "b", "en3")
    return lab


def set_up(lab: ModelLab, *, mtu: int | None = None) -> dict[str, Journal]:
    topology = lab.topology()
    scripts = plan_setup(topology, None, plan_addresses(topology, OPERATOR), mtu=mtu)
    journals = {}
    for host, script in scripts.items():
        lab.macs[host].run_script(script)
        empty = Journal(host, lab.macs[host].hardware_uuid)
        journals[host] = empty.with_planned(script).with_unconfirmed("done")
    return journals


def commands(script: TeardownScript) -> list[str]:
    return [" ".join(step.argv) for step in script.steps]


def test_the_journal_is_walked_backwards() -> None:
    lab = pair()
    journals = set_up(lab)
    script = plan_teardown(lab.topology(), journals)["a"]
    assert script == TeardownScript(
        "a",
        (
            UndoStep(("/sbin/ifconfig", "en2", "inet", "10.231.0.1", "-alias"), 2),
            UndoStep(("/sbin/ifconfig", "bridge0", "up"), 1),
            UndoStep(("/sbin/ifconfig", "bridge0", "addm", "en2"), 0),
        ),
        settled=frozenset({0, 1, 2, 3}),
    )


def test_a_route_that_the_setup_added_goes_first() -> None:
    lab = pair()
    journals = set_up(lab)
    lab.macs["a"].static_routes[IPv4Network("10.231.0.2/32")] = (None, "en2")
    script = plan_teardown(lab.topology(), journals)["a"]
    assert commands(script)[0] == "/sbin/route -n delete -host 10.231.0.2 -interface en2"


def test_what_someone_else_changed_stays_and_is_said() -> None:
    lab = pair()
    journals = set_up(lab, mtu=9000)
    a = lab.macs["a"]
    a.interfaces["en2"].mtu = 4000
    a.interfaces["en2"].addresses.append(IPv4Interface("192.168.77.1/24"))
    script = plan_teardown(lab.topology(), journals)["a"]
    assert commands(script) == [
        "/sbin/ifconfig en2 inet 10.231.0.1 -alias",
        "/sbin/ifconfig bridge0 up",
    ]
    assert script.left == (
        "en2 has mtu 4000, which no setup gave it",
        "en2 stays out of bridge0, since it has 192.168.77.1/24",
    )
    assert script.settled == frozenset(range(4))


def test_a_bridge_that_is_gone_or_another_one_is_said() -> None:
    lab = pair()
    journals = set_up(lab)
    del lab.macs["a"].bridges["bridge0"], lab.macs["a"].interfaces["bridge0"]
    lab.macs["b"].add_bridge("bridge5", ["en3"])
    scripts = plan_teardown(lab.topology(), journals)
    assert scripts["a"].left == ("en2 was in bridge0, which is gone",)
    assert scripts["b"].left == ("en3 is in bridge5 now, not in bridge0 as before",)


def test_a_second_teardown_has_nothing_to_do() -> None:
    lab = pair()
    journals = {
        host: replace(journal, steps=tuple(replace(step, state="undone") for step in journal.steps))
        for host, journal in set_up(lab).items()
    }
    script = plan_teardown(lab.topology(), journals)["a"]
    assert (script.steps, script.left, script.settled) == ((), (), frozenset())


# Loops


def triangle(*, in_use: bool = False) -> ModelLab:
    lab = ModelLab.of(*(ModelMac(host, lan=None) for host in "abc"))
    for mac in lab.macs.values():
        mac.interfaces["en8"] = ModelInterface()
        mac.add_bridge("bridge0", [*mac.ports, *(["en8"] if in_use else [])])
    lab.plug("a", "en3", "b", "en2")
    lab.plug("b", "en3", "c", "en2")
    lab.plug("a", "en2", "c", "en3")
    return lab


def test_in_a_cycle_the_ports_go_back_and_the_bridges_stay_off() -> None:
    lab = triangle()
    journals = set_up(lab)
    script = plan_teardown(lab.topology(), journals)["a"]
    assert commands(script)[-2:] == [
        "/sbin/ifconfig bridge0 addm en3",
        "/sbin/ifconfig bridge0 addm en2",
    ]
    assert script.left == (
        "bridge0 stays off, since it would close a loop of bridges, maybe through machines not "
        "named; pull a cable of it, then: sudo /sbin/ifconfig bridge0 up",
    )
    assert len(script.settled) == 6  # all but the bridge's


def test_in_a_cycle_ports_stay_out_of_a_bridge_that_is_up() -> None:
    lab = triangle(in_use=True)
    journals = set_up(lab)
    script = plan_teardown(lab.topology(), journals)["a"]
    assert "addm" not in " ".join(commands(script))
    assert script.left == tuple(
        f"{port} stays out of bridge0, where it would close a loop of bridges, maybe through "
        f"machines not named; pull a cable of it, then: sudo /sbin/ifconfig bridge0 addm {port}"
        for port in ("en3", "en2")
    )


def test_a_loop_through_machines_that_are_not_listed_is_not_closed_either() -> None:
    lab = triangle()
    journals = set_up(lab)
    for hosts in (["a"], ["a", "b"]):
        topology = lab.topology(hosts)
        strangers = tuple(
            Stranger(CableEnd(host, "1", port), domain_of("c", "en2"))
            for host, port in (("a", "en2"), ("a", "en3"), ("b", "en3"))
            if host in hosts and (len(hosts) == 1 or (host, port) != ("a", "en3"))
        )
        scripts = plan_teardown(replace(topology, strangers=strangers), journals)
        for script in scripts.values():
            assert "bridge0 up" not in " ".join(commands(script))


def test_one_way_to_a_machine_that_is_not_listed_is_no_loop() -> None:
    lab = pair()
    journals = set_up(lab)
    stranger = Stranger(CableEnd("a", "2", "en3"), domain_of("z", "en2"))
    topology = replace(lab.topology(), strangers=(stranger,))
    assert "/sbin/ifconfig bridge0 up" in commands(plan_teardown(topology, journals)["a"])


def test_a_cluster_that_shares_a_host_is_torn_down_alone() -> None:
    lab = ModelLab.of(*(ModelMac(host, lan=None) for host in "abc"))
    for mac in lab.macs.values():
        mac.add_bridge("bridge0", mac.ports)
    lab.plug("a", "en2", "b", "en2")
    lab.plug("b", "en3", "c", "en2")
    journals = set_up(lab)
    stranger = Stranger(CableEnd("b", "1", "en2"), domain_of("a", "en2"))
    topology = replace(lab.topology(["b", "c"]), strangers=(stranger,))
    scripts = plan_teardown(topology, journals)
    assert commands(scripts["b"]) == [
        "/sbin/ifconfig en3 inet 10.231.0.5 -alias",
        "/sbin/ifconfig bridge0 addm en3",
    ]
    assert scripts["b"].left == (
        "en2 stays as it is, since it is cabled to a machine that is not named",
    )
    assert "/sbin/ifconfig bridge0 up" in commands(scripts["c"])
    alone = replace(lab.topology(["b"]), strangers=(stranger,))
    assert len(plan_teardown(alone, journals)["b"].steps) == 5


# Without a journal


def test_without_a_journal_only_addresses_of_ours_go_and_the_rest_is_said() -> None:
    lab = pair()
    set_up(lab)
    a = lab.macs["a"]
    a.interfaces["en4"].addresses.append(IPv4Interface("192.168.77.1/24"))
    script = plan_teardown(lab.topology(), {})["a"]
    assert script == TeardownScript(
        "a",
        (UndoStep(("/sbin/ifconfig", "en2", "inet", "10.231.0.1", "-alias")),),
        (
            "no setup of this host is known here; only addresses are removed",
            "bridge0 is off; to switch it on: sudo /sbin/ifconfig bridge0 up",
            "en2 is in no bridge; to put it back: sudo /sbin/ifconfig bridge0 addm en2",
        ),
    )


def test_an_address_on_one_end_only_is_ours_in_our_blocks() -> None:
    lab = pair()
    set_up(lab)
    lab.macs["b"].interfaces["en3"].addresses.clear()
    scripts = plan_teardown(lab.topology(), {})
    assert commands(scripts["a"]) == ["/sbin/ifconfig en2 inet 10.231.0.1 -alias"]
    assert commands(scripts["b"]) == []


def test_an_old_route_comes_back_only_where_the_setup_changed_it() -> None:
    lab = pair()
    peer = IPv4Network("10.231.0.2/32")
    set_up(lab)
    lab.macs["a"].static_routes[peer] = (IPv4Address("192.168.1.1"), "en0")
    journals = set_up(lab)
    restore = "/sbin/route -n change -host 10.231.0.2 192.168.1.1"
    assert restore in commands(plan_teardown(lab.topology(), journals)["a"])
    lab.macs["a"].static_routes[peer] = (None, "en3")
    assert restore not in commands(plan_teardown(lab.topology(), journals)["a"])


# Running it


def set_up_for_real(lab: ModelLab, folder: Path) -> dict[str, object]:
    """Set the lab up with journals; the states before."""
    before: dict[str, object] = {host: mac.state() for host, mac in lab.macs.items()}
    topology = lab.topology()
    scripts = plan_setup(topology, None, plan_addresses(topology, OPERATOR))
    apply_setup({host: ModelShell(lab, host) for host in lab.macs}, scripts, journals=folder)
    return before


def shells_of(lab: ModelLab) -> dict[str, ModelShell]:
    return {host: ModelShell(lab, host) for host in lab.macs}


def states(lab: ModelLab) -> dict[str, object]:
    return {host: mac.state() for host, mac in lab.macs.items()}


UNDO_OF_A = (
    ("/sbin/ifconfig", "en2", "inet", "10.231.0.1", "-alias"),
    ("/sbin/ifconfig", "bridge0", "up"),
    ("/sbin/ifconfig", "bridge0", "addm", "en2"),
)


def test_a_teardown_restores_the_hosts_and_ends_the_journals(tmp_path: Path) -> None:
    lab = pair()
    before = set_up_for_real(lab, tmp_path)
    shown = apply_teardown(shells_of(lab), lab.topology(), journals=tmp_path, dry_run=True)
    assert shown["a"] == TeardownResult("a", UNDO_OF_A, is_settled=False)
    assert states(lab) != before
    done = apply_teardown(shells_of(lab), lab.topology(), journals=tmp_path)
    assert done["a"] == TeardownResult("a", UNDO_OF_A)
    assert states(lab) == before
    assert list(tmp_path.iterdir()) == []
    again = apply_teardown(shells_of(lab), lab.topology(), journals=tmp_path)
    assert again["a"].commands == ()
    assert states(lab) == before


def test_a_host_without_the_right_is_left_to_the_person(tmp_path: Path) -> None:
    lab = pair()
    before = set_up_for_real(lab, tmp_path)
    configured = states(lab)
    shells = shells_of(lab)
    shells["a"].may = frozenset(UNDO_OF_A[:2])
    results = apply_teardown(shells, lab.topology(), journals=tmp_path)
    assert results["a"].commands == UNDO_OF_A
    assert "sudo /sbin/ifconfig bridge0 addm en2" in results["a"].pending
    assert not results["a"].is_settled
    assert states(lab) == {"a": configured["a"], "b": before["b"]}
    assert [path.stem for path in tmp_path.iterdir()] == [str(lab.macs["a"].hardware_uuid)]


def test_a_command_that_fails_stays_in_the_journal(tmp_path: Path) -> None:
    lab = pair()
    before = set_up_for_real(lab, tmp_path)
    shells = shells_of(lab)
    shells["a"].failing_undo = 2
    results = apply_teardown(shells, lab.topology(), journals=tmp_path)
    assert results["a"].left == ("sudo /sbin/ifconfig bridge0 addm en2 failed: ",)
    assert (results["a"].is_settled, results["b"].is_settled) == (False, True)
    again = apply_teardown(shells_of(lab), lab.topology(), journals=tmp_path)
    assert again["a"] == TeardownResult("a", UNDO_OF_A[2:])
    assert states(lab) == before
    assert list(tmp_path.iterdir()) == []


def test_a_host_that_is_lost_is_said_and_its_journal_kept(tmp_path: Path) -> None:
    lab = pair()
    set_up_for_real(lab, tmp_path)
    for lost_in in ("check", "undo"):
        shells = shells_of(lab)
        shells["a"].lost_in = lost_in
        result = apply_teardown(shells, lab.topology(), journals=tmp_path)["a"]
        assert "the connection ended" in " ".join((result.pending, *result.left))
        assert not result.is_settled
    assert [path.stem for path in tmp_path.iterdir()] == [str(lab.macs["a"].hardware_uuid)]


def test_what_others_changed_meanwhile_is_said(tmp_path: Path) -> None:
    lab = pair()
    set_up_for_real(lab, tmp_path)
    lab.macs["a"].interfaces["bridge0"].mtu = 9000
    result = apply_teardown(shells_of(lab), lab.topology(), journals=tmp_path)["a"]
    assert result.left == ("not as before: bridge0 has mtu 9000 instead of 1500",)
    assert result.is_settled
    assert list(tmp_path.iterdir()) == []


def test_the_dead_man_of_a_killed_setup_may_be_faster(tmp_path: Path) -> None:
    """The teardown was planned before it fired; its commands then fail and nothing is left."""
    lab = pair()
    before = set_up_for_real(lab, tmp_path)
    topology = lab.topology()
    assert [lab.macs["a"].run(argv) for argv in UNDO_OF_A] == [0, 0, 0]
    result = apply_teardown(shells_of(lab), topology, journals=tmp_path)["a"]
    assert result.left == ()
    assert result.is_settled
    assert states(lab) == before
    assert list(tmp_path.iterdir()) == []
