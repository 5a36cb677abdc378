"""What a script of a host answers, and what follows from it."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface

import pytest

from distconfig.cabling.topology import Cable, CableEnd
from distconfig.errors import UnexpectedOutput
from distconfig.reports.report import InterfaceState
from distconfig.setup.script_answers import HostAnswer, StepResult, parse_answer
from distconfig.setup.setup_steps import EndGoal
from distconfig.setup.verify import find_differences, find_faults

CABLE = Cable(CableEnd("a", "1", "en2"), CableEnd("b", "2", "en3"))
GOAL = EndGoal(
    CABLE, "en3", IPv4Interface("10.231.0.2/30"), "a", IPv4Address("10.231.0.1"), mtu=9000
)

ANSWER = b"""\
@ step 0 0
@ step 1 1
ifconfig: no such thing
 @ not a marker
@ done
@ reached 0 ping
@ routed 0
@ mtu en3
Valid MTU Range: 1280-9000
@ snapshot
en3: flags=8863<UP,BROADCAST,SMART,RUNNING,SIMPLEX,MULTICAST> mtu 9000
	ether 36:aa:bb:cc:dd:04
	inet 10.231.0.2 netmask 0xfffffffc broadcast 10.231.0.3
	nd6 options=201<PERFORMNUD,DAD>
	media: autoselect <full-duplex>
	status: active
bridge0: flags=8822<BROADCAST,SMART,SIMPLEX,MULTICAST> mtu 1500
	Configuration:
	member: en4 flags=3<LEARNING,DISCOVER>
	media: <unknown type>
	status: inactive
@ end
"""
PORT = InterfaceState(
    "en3", True, 9000, "36:aa:bb:cc:dd:04", True, (IPv4Interface("10.231.0.2/30"),)
)
BRIDGE = InterfaceState("bridge0", False, 1500, is_active=False, members=("en4",), is_bridge=True)


def answer(
    port: InterfaceState | None = PORT,
    bridge: InterfaceState = BRIDGE,
    facts: tuple[str, ...] = ("reached 0 ping", "routed 0"),
) -> HostAnswer:
    interfaces = tuple(each for each in (port, bridge) if each is not None)
    return HostAnswer((), frozenset(tuple(fact.split()) for fact in facts), {}, interfaces)


def changed(state: InterfaceState, **changes: object) -> InterfaceState:
    return replace(state, **changes)  # type: ignore[arg-type]


def test_an_answer_is_read() -> None:
    assert parse_answer(ANSWER, "b") == HostAnswer(
        (StepResult(0, 0, ""), StepResult(1, 1, "ifconfig: no such thing\n @ not a marker")),
        frozenset({("done",), ("reached", "0", "ping"), ("routed", "0"), ("end",)}),
        {"en3": (1280, 9000)},
        (PORT, BRIDGE),
    )


@pytest.mark.parametrize(
    "stdout",
    [
        b"",
        b"Welcome\n",
        ANSWER.removesuffix(b"@ end\n"),
        ANSWER.replace(b"@ snapshot\n", b""),
        ANSWER.replace(b"inet 10.231.0.2 ", b"inet 10.231.0.2222 "),
    ],
)
def test_an_answer_that_can_not_be_read_names_the_host(stdout: bytes) -> None:
    with pytest.raises(UnexpectedOutput) as caught:
        parse_answer(stdout, "b")
    assert caught.value.host == "b"


def test_an_end_that_is_as_planned_has_no_fault() -> None:
    assert find_faults([GOAL], answer()) == ()
    assert find_faults([GOAL], answer(facts=("reached 0 tcp", "routed 0"))) == ()
    assert find_faults([GOAL], answer(facts=()), peers_tried=False) == ()


@pytest.mark.parametrize(
    ("answered", "reason"),
    [
        (answer(None), "en3 is gone"),
        (
            answer(bridge=changed(BRIDGE, is_up=True, members=("en3",))),
            "en3 is in bridge0, which is up; macOS may have put it back",
        ),
        (
            answer(changed(PORT, is_active=False)),
            "en3 has no link; the cable may have been pulled",
        ),
        (answer(changed(PORT, addresses=())), "en3 does not have its address 10.231.0.2/30"),
        (
            answer(changed(PORT, addresses=(IPv4Interface("10.231.0.2/24"),))),
            "en3 does not have its address 10.231.0.2/30",
        ),
        (answer(changed(PORT, is_up=False)), "en3 is down"),
        (answer(changed(PORT, mtu=1500)), "en3 has mtu 1500, not 9000"),
        (answer(facts=("reached 0 ping",)), "10.231.0.1 is not reached through en3"),
        (
            answer(facts=("routed 0", "reached 1 ping")),
            "a does not answer at 10.231.0.1, neither a ping nor on TCP port 22",
        ),
    ],
)
def test_each_fault_has_its_reason_and_its_direction(answered: HostAnswer, reason: str) -> None:
    (fault,) = find_faults([GOAL], answered)
    assert (fault.reason, fault.direction) == (reason, "b en3 -> a en2")


def test_a_port_in_a_bridge_that_is_down_is_as_planned() -> None:
    assert find_faults([GOAL], answer(bridge=changed(BRIDGE, members=("en3",)))) == ()


def test_differences_are_told_one_by_one() -> None:
    old_address = IPv4Interface("192.168.7.1/24")
    before = (
        changed(PORT, mtu=1500, is_up=False, addresses=(old_address,)),
        changed(BRIDGE, is_up=True, members=("en3",)),
        InterfaceState("en9", True, 1500),
    )
    assert find_differences(before, answer()) == (
        "en3 is up",
        "en3 has mtu 9000 instead of 1500",
        "en3 has lost the address 192.168.7.1/24",
        "en3 has got the address 10.231.0.2/30",
        "bridge0 is down",
        "bridge0 has lost the member en3",
        "bridge0 has got the member en4",
        "en9 is gone",
    )


def test_link_local_addresses_and_links_come_and_go() -> None:
    self_assigned = IPv4Interface("169.254.3.4/16")
    before = (changed(PORT, addresses=(*PORT.addresses, self_assigned)), BRIDGE)
    unplugged = answer(changed(PORT, is_active=False))
    assert find_differences(before, unplugged) == ()
    assert find_differences(before, unplugged, with_link=True) == (
        "en3 has lost its link; the cable may have been pulled",
    )
