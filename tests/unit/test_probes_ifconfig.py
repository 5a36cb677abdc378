"""``ifconfig -a`` is read line by line, and a line out of order is refused."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Interface

import pytest

from distconfig.errors import UnexpectedOutput
from distconfig.probes.ifconfig import InterfaceState, parse_ifconfig
from distconfig.probes.parsed import Parsed

BRIDGED = """\
lo0: flags=8049<UP,LOOPBACK,RUNNING,MULTICAST> mtu 16384
\toptions=1203<RXCSUM,TXCSUM,TXSTATUS,SW_TIMESTAMP>
\tinet 127.0.0.1 netmask 0xff000000
\tinet6 ::1 prefixlen 128\x20
gif0: flags=8010<POINTOPOINT,MULTICAST> mtu 1280
XHC20: flags=0<> mtu 0
en2: flags=8963<UP,BROADCAST,SMART,RUNNING,PROMISC,SIMPLEX,MULTICAST> mtu 1500
\toptions=460<TSO4,TSO6,CHANNEL_IO>
\tether 82:ce:ad:64:d2:01\x20
\tmedia: autoselect <full-duplex>
\tstatus: active
bridge0: flags=8822<BROADCAST,SMART,SIMPLEX,MULTICAST> mtu 1500
\toptions=63<RXCSUM,TXCSUM,TSO4,TSO6>
\tether 82:ce:ad:64:d2:01\x20
\tinet 169.254.88.7 netmask 0xffff0000 broadcast 169.254.255.255
\tConfiguration:
\t\tid 0:0:0:0:0:0 priority 0 hellotime 0 fwddelay 0
\t\tmaxage 0 holdcnt 0 proto stp maxaddr 100 timeout 1200
\t\troot id 0:0:0:0:0:0 priority 0 ifcost 0 port 0
\t\tipfilter disabled flags 0x2
\tmember: en2 flags=3<LEARNING,DISCOVER>
\t        ifmaxaddr 0 port 5 priority 0 path cost 0
\tnd6 options=201<PERFORMNUD,DAD>
\tmedia: <unknown type>
\tstatus: inactive
utun4: flags=8051<UP,POINTOPOINT,RUNNING,MULTICAST> mtu 1380
\tinet 10.66.0.2 --> 10.66.0.1 netmask 0xffffffff
"""


def parse(text: str) -> Parsed[tuple[InterfaceState, ...]]:
    return parse_ifconfig(text.encode())


def test_every_interface_is_read() -> None:
    assert parse(BRIDGED) == Parsed(
        (
            InterfaceState("lo0", True, 16384, addresses=(IPv4Interface("127.0.0.1/8"),)),
            InterfaceState("gif0", False, 1280),
            InterfaceState("XHC20", False, 0),
            InterfaceState("en2", True, 1500, "82:ce:ad:64:d2:01", True),
            InterfaceState(
                "bridge0",
                False,
                1500,
                "82:ce:ad:64:d2:01",
                False,
                (IPv4Interface("169.254.88.7/16"),),
                members=("en2",),
                is_bridge=True,
            ),
            InterfaceState(
                "utun4",
                True,
                1380,
                addresses=(IPv4Interface("10.66.0.2/32"),),
                peer_addresses=(IPv4Address("10.66.0.1"),),
            ),
        )
    )


def test_a_bridge_without_members_is_a_bridge() -> None:
    text = "bridge1: flags=8863<UP> mtu 1500\n\tConfiguration:\n"
    assert parse(text).value == (InterfaceState("bridge1", True, 1500, is_bridge=True),)


def test_an_unknown_line_is_noted() -> None:
    text = "en2: flags=8863<UP> mtu 1500\n\tflux capacitance: 12\n\tstatus: active\n"
    assert parse(text) == Parsed(
        (InterfaceState("en2", True, 1500, is_active=True),), ("\tflux capacitance: 12",)
    )


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("en2: flags=8863<UP> mtu 1500", "en2: flags=8863<UP> mtu 1500"),  # no line end
        ("en2 flags=8863<UP> mtu 1500\n", "en2 flags=8863<UP> mtu 1500"),
        ("en2;reboot: flags=1<UP> mtu 1500\n", "en2;reboot: flags=1<UP> mtu 1500"),
        ('en2"x: flags=1<UP> mtu 1500\n', 'en2"x: flags=1<UP> mtu 1500'),
        ("en2: flags=1<UP> mtu x\n", "en2: flags=1<UP> mtu x"),
        ("en2: flags=1<UP> mtu 12345678901\n", "en2: flags=1<UP> mtu 12345678901"),
        ("\tinet 10.0.0.1 netmask 0xff000000\n", "\tinet 10.0.0.1 netmask 0xff000000"),
    ],
)
def test_a_header_that_is_none_is_refused(text: str, at: str) -> None:
    with pytest.raises(UnexpectedOutput) as caught:
        parse(text)
    assert caught.value.at == at


@pytest.mark.parametrize(
    "line",
    [
        "\tinet 10.0.0.1",
        "\tinet 10.0.0.1 netmask 255.0.0.0",
        "\tinet 10.0.0.1 netmask 0xff0000",
        "\tinet 10.0.0.1 netmask 0xff00ff00",
        "\tinet 10.0.0 netmask 0xff000000",
        "\tinet 10.0.0.1/8 netmask 0xff000000",
        "\tinet 10.0.0.1 --> 10.0.0.2 netmask 0xff000000",  # flags: not point to point
        "\tinet 10.0.0.1 netmask 0xff000000 broadcast 10.255.255.255",  # flags: no broadcast
        "\tether 36:14:c6:c2:3d",
        "\tether 36:14:c6:c2:3d:zz",
        "\tmember: en2;x flags=3<LEARNING,DISCOVER>",
        "\tmember: en2",
    ],
)
def test_a_fact_that_can_not_be_read_is_shown(line: str) -> None:
    with pytest.raises(UnexpectedOutput) as caught:
        parse(f"en2: flags=8061<UP> mtu 1500\n{line}\n")
    assert caught.value.at == line


@pytest.mark.parametrize("missing", ["en2: ", "bridge0: "])
def test_a_missing_header_does_not_hand_facts_to_the_interface_before(missing: str) -> None:
    lines = [line for line in BRIDGED.splitlines(keepends=True) if not line.startswith(missing)]
    if missing == "en2: ":  # the one before has no lines of its own, so put one there
        lines.insert(lines.index("XHC20: flags=0<> mtu 0\n") + 1, "\tstatus: inactive\n")
    with pytest.raises(UnexpectedOutput):
        parse("".join(lines))


def test_the_far_end_of_a_tunnel_must_be_an_address() -> None:
    with pytest.raises(UnexpectedOutput, match="not an IPv4 address"):
        parse("utun4: flags=8051<UP> mtu 1380\n\tinet 10.0.0.1 --> there netmask 0xffffffff\n")


def test_an_interface_listed_twice_is_refused() -> None:
    with pytest.raises(UnexpectedOutput, match="en2 is listed twice"):
        parse("en2: flags=1<UP> mtu 1500\n" * 2)


def test_two_status_lines_in_one_interface_are_refused() -> None:
    with pytest.raises(UnexpectedOutput, match="first line of an interface is missing"):
        parse("en2: flags=1<UP> mtu 1500\n\tstatus: active\n\tstatus: inactive\n")
