"""The commands for a host: what is done, what is left alone, what takes it back."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Any

import pytest

from distconfig.cabling.topology import Topology
from distconfig.errors import UsageError
from distconfig.recordings.recording import OperatorNetwork
from distconfig.reports.report import HostReport, Route
from distconfig.rings.ring import RingPlan
from distconfig.setup.addressing import plan_addresses
from distconfig.setup.setup_script import RouteGoal, SetupScript, plan_setup, render_setup
from distconfig.setup.sudoers import render_sudoers
from tests.model_mac import ModelLab, ModelMac

OPERATOR = OperatorNetwork((), ())


def pair(*, up: bool = True, members: str = "en2 en3 en4", bridge: str = "bridge0") -> ModelLab:
    """``a`` en2 cabled to ``b`` en3; ``a`` has a bridge, ``b`` has none."""
    lab = ModelLab.of(ModelMac("a"), ModelMac("b", lan=IPv4Interface("192.168.1.11/24")))
    lab.plug("a", "en2", "b", "en3")
    if members:
        lab.macs["a"].add_bridge(bridge, members.split(), up=up)
    return lab


def planned(lab: ModelLab, **options: Any) -> dict[str, SetupScript]:
    topology = lab.topology()
    return plan_setup(topology, None, plan_addresses(topology, OPERATOR), **options)


def with_report(topology: Topology, host: str, **changes: Any) -> Topology:
    reports = {**topology.reports, host: replace(topology.reports[host], **changes)}
    return replace(topology, reports=reports)


def replanned(topology: Topology) -> SetupScript:
    """The script of ``a``."""
    return plan_setup(topology, None, plan_addresses(topology, OPERATOR))["a"]


def commands(script: SetupScript) -> list[str]:
    """Each command without its path, the commands that undo it after a bar."""

    def short(argv: tuple[str, ...]) -> str:
        return " ".join(argv).replace("/sbin/", "").replace("/usr", "")

    return [
        f"{short(step.argv)} | {' ; '.join(short(argv) for argv in step.undo)}"
        for step in script.steps
    ]


SET_A = "ifconfig en2 inet 10.231.0.1 netmask 255.255.255.252 up | ifconfig en2 inet 10.231.0.1"
ROUTE_A = (
    "route -n add -host 10.231.0.2 -interface en2 | route -n delete -host 10.231.0.2 -interface en2"
)


def test_a_port_leaves_its_bridge_which_goes_off_and_gets_its_address() -> None:
    scripts = planned(pair())
    assert commands(scripts["a"]) == [
        "ifconfig bridge0 deletem en2 | ifconfig bridge0 addm en2",
        "ifconfig bridge0 down | ifconfig bridge0 up",
        f"{SET_A} -alias",
        ROUTE_A,
    ]
    assert commands(scripts["b"]) == [
        "ifconfig en3 inet 10.231.0.2 netmask 255.255.255.252 up "
        "| ifconfig en3 inet 10.231.0.2 -alias",
        "route -n add -host 10.231.0.1 -interface en3 "
        "| route -n delete -host 10.231.0.1 -interface en3",
    ]
    assert (scripts["a"].refused, scripts["a"].warnings) == ((), ())
    route_step = scripts["a"].steps[-1]
    assert route_step.unless == RouteGoal(IPv4Address("10.231.0.2"), "en2")
    change = ("/sbin/route", "-n", "change", "-host", "10.231.0.2", "-interface", "en2")
    assert route_step.otherwise == change
    assert [state.name for state in scripts["a"].before] == ["en2", "bridge0"]
    assert [state.name for state in scripts["b"].before] == ["en3"]


def test_the_goals_say_what_each_end_is_afterwards() -> None:
    lab = pair()
    topology = lab.topology()
    (cable,) = topology.usable_cables
    ring = RingPlan(("a", "b"), ((cable,), (cable,)))
    scripts = plan_setup(topology, ring, plan_addresses(topology, OPERATOR), mtu=9000)
    (goal,) = scripts["b"].goals
    assert (goal.cable, goal.interface, goal.peer_host, goal.mtu, goal.carries_ring) == (
        cable,
        "en3",
        "a",
        9000,
        True,
    )
    assert (str(goal.address), str(goal.peer)) == ("10.231.0.2/30", "10.231.0.1")


def test_a_bridge_of_another_name_that_is_down_stays_down() -> None:
    assert commands(planned(pair(up=False, bridge="bridge1"))["a"])[:2] == [
        "ifconfig bridge1 deletem en2 | ifconfig bridge1 addm en2",
        f"{SET_A} -alias",
    ]


def test_a_bridge_with_a_member_in_use_stays_up_and_the_person_is_warned() -> None:
    lab = pair(members="en2 en3 en8")
    script = planned(lab)["a"]
    assert "ifconfig bridge0 down" not in " ".join(commands(script))
    assert script.warnings == (
        "bridge0 stays up, since en8 is in use there; "
        "macOS may put en2 back into it, which ends their addresses.",
    )


def test_a_bridge_with_an_address_of_its_own_goes_off_with_a_warning() -> None:
    lab = pair()
    bridge = lab.macs["a"].interfaces["bridge0"]
    bridge.addresses += [IPv4Interface("169.254.3.4/16"), IPv4Interface("10.9.9.1/24")]
    script = planned(lab)["a"]
    assert commands(script)[1] == "ifconfig bridge0 down | ifconfig bridge0 up"
    assert script.warnings == (
        "bridge0 has the address 10.9.9.1/24, which answers no more while bridge0 is off.",
    )


def test_a_port_cabled_to_a_machine_that_is_not_listed_is_in_use() -> None:
    lab = pair()
    lab.macs["z"] = ModelMac("z")
    lab.plug("a", "en4", "z", "en2")
    topology = lab.topology(["a", "b"])
    assert "en4 is in use there" in replanned(topology).warnings[0]


def test_a_ring_takes_out_all_its_ports_and_leaves_hosts_outside_alone() -> None:
    lab = ModelLab.of(*(ModelMac(host, lan=None) for host in "abc"))
    ab = lab.plug("a", "en2", "b", "en2")
    surplus = lab.plug("a", "en3", "b", "en3")
    lab.plug("a", "en4", "c", "en2")
    topology = lab.topology()
    ring = RingPlan(("a", "b"), ((ab,), (ab,)))
    scripts = plan_setup(topology, ring, plan_addresses(topology, OPERATOR))
    assert list(scripts) == ["a", "b"]
    assert [(goal.cable, goal.carries_ring) for goal in scripts["a"].goals] == [
        (ab, True),
        (surplus, False),
    ]
    assert [step.why for step in scripts["a"].steps][::2] == [
        "set up en2, cabled to b en2",
        "set up en3, cabled to b en3, which the ring does not use",
    ]


# What a port has already


def test_a_port_that_is_down_is_switched_on_and_off_again() -> None:
    lab = pair(members="")
    lab.macs["a"].interfaces["en2"].up = False
    assert commands(planned(lab)["a"])[0] == f"{SET_A} -alias ; ifconfig en2 down"


def test_a_foreign_address_stays_beside_ours() -> None:
    lab = pair(members="")
    lab.macs["a"].interfaces["en2"].addresses.append(IPv4Interface("192.168.5.1/24"))
    script = planned(lab)["a"]
    assert commands(script)[0] == (
        "ifconfig en2 inet 10.231.0.1 netmask 255.255.255.252 alias up "
        "| ifconfig en2 inet 10.231.0.1 -alias"
    )
    assert script.warnings == (
        "en2 keeps its address 192.168.5.1/24 beside the new one; "
        "--replace-addresses would take it off.",
    )


def test_a_foreign_address_goes_when_asked_to() -> None:
    lab = pair(members="")
    lab.macs["a"].interfaces["en2"].addresses.append(IPv4Interface("192.168.5.1/24"))
    assert commands(planned(lab, replace_addresses=True)["a"])[:2] == [
        "ifconfig en2 inet 192.168.5.1 -alias "
        "| ifconfig en2 inet 192.168.5.1 netmask 255.255.255.0 alias",
        f"{SET_A} -alias",
    ]


def test_an_address_that_macos_manages_is_handed_back_to_it() -> None:
    lab = pair(members="")
    lab.macs["a"].interfaces["en2"].addresses.append(IPv4Interface("169.254.7.2/16"))
    kept = planned(lab)["a"]
    assert (commands(kept)[0].split(" | ")[0], kept.warnings) == (
        "ifconfig en2 inet 10.231.0.1 netmask 255.255.255.252 alias up",
        (),
    )
    replaced = planned(lab, replace_addresses=True)["a"]
    assert commands(replaced)[0] == ("ifconfig en2 inet 169.254.7.2 -alias | ipconfig set en2 DHCP")


def test_an_old_setup_in_the_home_lan_is_replaced_without_asking() -> None:
    lab = ModelLab.of(
        ModelMac("a", lan=IPv4Interface("192.168.0.20/24"), client="192.168.0.9"),
        ModelMac("b", lan=IPv4Interface("192.168.0.21/24"), client="192.168.0.9"),
    )
    lab.plug("a", "en2", "b", "en3")
    for host, port, last in (("a", "en2", 1), ("b", "en3", 2)):
        lab.macs[host].interfaces[port].addresses.append(IPv4Interface(f"192.168.0.{last}/30"))
    assert commands(planned(lab)["a"])[:2] == [
        "ifconfig en2 inet 192.168.0.1 -alias "
        "| ifconfig en2 inet 192.168.0.1 netmask 255.255.255.252 alias",
        f"{SET_A} -alias",
    ]


def test_mtu_is_set_on_both_ends_and_only_where_it_differs() -> None:
    lab = pair(members="")
    lab.macs["b"].interfaces["en3"].mtu = 9000
    scripts = planned(lab, mtu=9000)
    assert commands(scripts["a"])[0] == (
        "ifconfig en2 inet 10.231.0.1 netmask 255.255.255.252 mtu 9000 up "
        "| ifconfig en2 inet 10.231.0.1 -alias ; ifconfig en2 mtu 1500"
    )
    assert "mtu" not in " ".join(commands(scripts["b"]))


@pytest.mark.parametrize("mtu", [0, 575, 65536])
def test_an_mtu_no_interface_takes_is_refused(mtu: int) -> None:
    with pytest.raises(UsageError):
        planned(pair(), mtu=mtu)


def test_what_is_as_planned_needs_no_step() -> None:
    lab = pair()
    for host, script in planned(lab).items():
        lab.macs[host].run_script(script)
    again = planned(lab)
    assert [script.steps for script in again.values()] == [(), ()]
    assert [len(script.goals) for script in again.values()] == [1, 1]
    assert render_setup(again) == "# a: nothing to do\n\n# b: nothing to do\n"


def test_a_port_that_macos_put_back_leaves_again() -> None:
    lab = pair()
    for host, script in planned(lab).items():
        lab.macs[host].run_script(script)
    lab.macs["a"].bridges["bridge0"].add("en2")
    assert commands(planned(lab)["a"]) == [
        "ifconfig bridge0 deletem en2 | ifconfig bridge0 addm en2"
    ]


def test_a_route_to_the_peer_over_the_lan_is_changed_and_changed_back() -> None:
    lab = pair(members="")
    for host, script in planned(lab).items():
        lab.macs[host].run_script(script)
    peer = IPv4Network("10.231.0.2/32")
    lab.macs["a"].static_routes[peer] = (IPv4Address("192.168.1.1"), "en0")
    script = planned(lab)["a"]
    assert commands(script) == [
        "route -n change -host 10.231.0.2 -interface en2 "
        "| route -n change -host 10.231.0.2 192.168.1.1"
    ]
    lab.macs["a"].run_script(script)
    assert lab.macs["a"].way_to(peer.network_address) == "en2"


# What must not be touched


def refusals(report: HostReport, **changes: Any) -> tuple[str, ...]:
    topology = pair().topology()
    topology = with_report(topology, "a", **changes)
    script = replanned(topology)
    assert script.steps == ()
    assert [goal.interface for goal in script.refused_goals] == ["en2"]
    assert script.goals == ()
    return script.refused


def reached_over(report: HostReport, name: str, address: str) -> dict[str, Any]:
    """The report's changes if ssh comes in at this address of this interface."""
    interfaces = tuple(
        replace(each, addresses=(IPv4Interface(address),)) if each.name == name else each
        for each in report.interfaces
    )
    server = address.partition("/")[0]
    return {"interfaces": interfaces, "ssh_connection": ("10.7.7.7", "5", server, "22")}


def test_a_port_that_carries_the_ssh_connection_is_left_alone() -> None:
    report = pair(members="").topology().reports["a"]
    assert refusals(report, **reached_over(report, "en2", "10.7.7.1/24")) == (
        "this ssh connection comes in through en2 (10.7.7.1); "
        "name the host by its address 192.168.1.10 on en0 instead.",
    )


def test_the_members_of_a_bridge_that_carries_the_ssh_connection_are_left_alone() -> None:
    report = pair().topology().reports["a"]
    assert refusals(report, **reached_over(report, "bridge0", "169.254.9.1/16")) == (
        "en2 is in bridge0: this ssh connection comes in through bridge0 (169.254.9.1); "
        "name the host by its address 192.168.1.10 on en0 instead.",
    )


def test_ssh_over_link_local_ipv6_names_the_interface_itself() -> None:
    report = pair().topology().reports["a"]
    for zone, where in (("en2", "en2 (fe80::2%en2)"), ("bridge0", "bridge0 (fe80::2%bridge0)")):
        ssh_connection = (f"fe80::1%{zone}", "5", f"fe80::2%{zone}", "22")
        (reason,) = refusals(report, ssh_connection=ssh_connection)
        assert f"this ssh connection comes in through {where}" in reason


def test_the_way_back_to_the_ssh_client_is_left_alone() -> None:
    report = pair().topology().reports["a"]
    routes = (*report.routes, Route(IPv4Network("10.9.0.0/16"), None, "bridge0", "UGSc"))
    ssh_connection = ("10.9.3.4", "5", "192.168.1.10", "22")
    assert refusals(report, routes=routes, ssh_connection=ssh_connection) == (
        "en2 is in bridge0: bridge0 leads back to the ssh client 10.9.3.4; "
        "name the host by its address 192.168.1.10 on en0 instead.",
    )


def test_the_default_route_is_left_alone() -> None:
    report = pair().topology().reports["a"]
    gateway = IPv4Address("10.8.0.1")
    routes = (Route(IPv4Network("0.0.0.0/0"), gateway, "en2", "UGScg"),)
    lan = with_report(pair().topology(), "a", routes=routes, ssh_connection=())
    assert replanned(lan).refused == (
        "the default route goes through en2; "
        "name the host by its address 192.168.1.10 on en0 instead.",
    )
    scoped = tuple(replace(route, flags="UGScIg") for route in routes)
    lan_default = Route(IPv4Network("0.0.0.0/0"), gateway, "en0", "UGScg")
    topology = with_report(pair().topology(), "a", routes=(lan_default, *scoped))
    assert replanned(topology).refused == ()
    assert report.routes  # the model itself has one through en0


def test_what_is_no_thunderbolt_port_is_left_alone() -> None:
    report = pair().topology().reports["a"]
    others = tuple(each for each in report.receptacles if each.interface != "en2")
    assert refusals(report, receptacles=others) == ("en2 is not a Thunderbolt port.",)


def test_an_interface_of_unknown_state_is_left_alone() -> None:
    report = pair().topology().reports["a"]
    assert refusals(report, interfaces=report.interfaces[:1]) == (
        "en2: ifconfig did not show its state, so nothing could be undone.",
    )


def test_linux_is_left_alone() -> None:
    report = pair().topology().reports["a"]
    assert refusals(report, platform="Linux") == ("en2: setting up Linux is not supported yet.",)


# Loops


def test_three_bridged_hosts_in_a_cycle_are_warned_of_the_loop() -> None:
    lab = ModelLab.of(*(ModelMac(host, lan=None) for host in "abc"))
    for mac in lab.macs.values():
        mac.add_bridge("bridge0", mac.ports)
    lab.plug("a", "en2", "b", "en2")
    lab.plug("b", "en3", "c", "en2")
    open_chain = planned(lab)
    assert all(script.warnings == () for script in open_chain.values())
    lab.plug("a", "en3", "c", "en3")
    for script in planned(lab).values():
        assert script.warnings == (
            "Cables between bridge0 of a, bridge0 of b, bridge0 of c close a loop, in which "
            "packets circle for ever and can take the whole network down. "
            "The setup takes the ports out of the bridges.",
        )
    lab.macs["b"].interfaces["bridge0"].up = False
    assert all(script.warnings == () for script in planned(lab).values())


def test_two_cables_between_two_bridged_hosts_are_no_loop() -> None:
    lab = pair()
    lab.macs["b"].add_bridge("bridge0", ["en2", "en3"])
    lab.plug("a", "en3", "b", "en2")
    assert all(script.warnings == () for script in planned(lab).values())


# Text


def test_the_text_to_paste() -> None:
    script = planned(pair())["a"]
    assert render_setup({"a": script}, with_undo=True, dead_man_s=60) == (
        """\
# a: run these on it
# armed first: unless confirmed within 60 s the host undoes all of it itself
# take en2 out of bridge0, where it has no address of its own
sudo /sbin/ifconfig bridge0 deletem en2
#   undo: sudo /sbin/ifconfig bridge0 addm en2
# switch bridge0 off, so that ports macOS puts back keep their addresses
sudo /sbin/ifconfig bridge0 down
#   undo: sudo /sbin/ifconfig bridge0 up
# set up en2, cabled to b en3
sudo /sbin/ifconfig en2 inet 10.231.0.1 netmask 255.255.255.252 up
#   undo: sudo /sbin/ifconfig en2 inet 10.231.0.1 -alias
# only if 10.231.0.2 is reached otherwise: lead it through en2
/sbin/route -n get 10.231.0.2 | grep -w 'interface: en2' || sudo /sbin/route -n add -host 10.231.0.2 -interface en2
/sbin/route -n get 10.231.0.2 | grep -w 'interface: en2' || sudo /sbin/route -n change -host 10.231.0.2 -interface en2
/sbin/route -n get 10.231.0.2 | grep -w 'interface: en2'
#   undo: sudo /sbin/route -n delete -host 10.231.0.2 -interface en2
"""  # noqa: E501 - lines to paste are as long as they are
    )


def test_a_comment_harms_no_shell_that_knows_no_comments() -> None:
    hostile = 'x\'; reboot `y` $(z) !1 "w" \x1b[2J (paren) *'
    script = SetupScript("a", (), refused=(hostile,), warnings=(hostile,))
    allowed = set(" #,.:/_@+-\n")
    for line in render_setup({hostile: script}).splitlines():
        assert line.startswith("# ")
        assert all(char.isalnum() or char in allowed for char in line)


def test_the_sudoers_snippet_lists_every_command_and_no_wildcard() -> None:
    assert render_sudoers({"a": planned(pair())["a"], "b": SetupScript("b", ())}, user="ada") == (
        """\
# a: sudo visudo -f /etc/sudoers.d/distributed_config
ada ALL = (root) NOPASSWD: \\
    /sbin/ifconfig bridge0 deletem en2, \\
    /sbin/ifconfig bridge0 down, \\
    /sbin/ifconfig en2 inet 10.231.0.1 netmask 255.255.255.252 up, \\
    /sbin/route -n add -host 10.231.0.2 -interface en2, \\
    /sbin/route -n change -host 10.231.0.2 -interface en2, \\
    /sbin/route -n delete -host 10.231.0.2 -interface en2, \\
    /sbin/ifconfig en2 inet 10.231.0.1 -alias, \\
    /sbin/ifconfig bridge0 up, \\
    /sbin/ifconfig bridge0 addm en2
"""
    )
