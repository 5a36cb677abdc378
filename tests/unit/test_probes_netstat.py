"""``netstat -rn`` is read with BSD's abbreviations."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

import pytest

from distconfig.errors import UnexpectedOutput
from distconfig.probes.netstat import Route, parse_destination, parse_netstat
from distconfig.probes.parsed import Parsed

TABLE = """\
Routing tables

Internet:
Destination        Gateway            Flags               Netif Expire
default            192.168.1.1        UGScg                 en0
default            link#22            UCSIg           bridge100      !
127                127.0.0.1          UCS                   lo0
10.231/20          10.66.0.1          UGSc                utun4
0/1                10.66.0.1          UGSc                utun4
128.0/1            utun4              USc                 utun4
169.254            link#7             UCS                   en0      !
192.168.1          link#7             UCS                   en0      !
192.168.1.21/32    link#7             UCS                   en0      !
192.168.1.1        0:11:32:5:c7:9f    UHLWIir               en0   1167

Internet6:
Destination       Gateway           Flags               Netif Expire
::1               ::1               UHL                   lo0
"""


def route(destination: str, gateway: str | None, interface: str, flags: str) -> Route:
    hop = IPv4Address(gateway) if gateway else None
    return Route(IPv4Network(destination), hop, interface, flags)


def test_every_route_of_the_internet_table_is_read() -> None:
    assert parse_netstat(TABLE.encode()) == Parsed(
        (
            route("0.0.0.0/0", "192.168.1.1", "en0", "UGScg"),
            route("0.0.0.0/0", None, "bridge100", "UCSIg"),
            route("127.0.0.0/8", "127.0.0.1", "lo0", "UCS"),
            route("10.231.0.0/20", "10.66.0.1", "utun4", "UGSc"),
            route("0.0.0.0/1", "10.66.0.1", "utun4", "UGSc"),
            route("128.0.0.0/1", None, "utun4", "USc"),
            route("169.254.0.0/16", None, "en0", "UCS"),
            route("192.168.1.0/24", None, "en0", "UCS"),
            route("192.168.1.21/32", None, "en0", "UCS"),
            route("192.168.1.1/32", None, "en0", "UHLWIir"),
        )
    )


def test_the_older_columns_are_found_by_their_heading() -> None:
    table = (
        "Routing tables\n\nInternet:\n"
        "Destination        Gateway            Flags        Refs      Use   Netif Expire\n"
        "default            192.168.1.1        UGSc           74        0     en0\n"
    )
    assert parse_netstat(table.encode()).value == (
        route("0.0.0.0/0", "192.168.1.1", "en0", "UGSc"),
    )


@pytest.mark.parametrize(
    ("word", "network"),
    [
        ("default", "0.0.0.0/0"),
        ("10", "10.0.0.0/8"),
        ("172.16", "172.16.0.0/16"),
        ("172.16/12", "172.16.0.0/12"),
        ("192.168.0/16", "192.168.0.0/16"),
        ("10.231.0.4/30", "10.231.0.4/30"),
        ("224.0.0/4", "224.0.0.0/4"),
        ("224.0.0.251", "224.0.0.251/32"),
    ],
)
def test_destinations_are_completed(word: str, network: str) -> None:
    assert parse_destination(word, word) == IPv4Network(network)


@pytest.mark.parametrize(
    "word", ["", "256", "10.1.2.3.4", "10/33", "10.231.0.1/30", "ten", "10&0xff00ff00", "1234", "١"]
)
def test_a_destination_that_is_none_is_refused(word: str) -> None:
    with pytest.raises(UnexpectedOutput):
        parse_destination(word, "the line")


@pytest.mark.parametrize(
    ("gone", "what"),
    [
        ("Internet:\n", "the Internet table is missing"),
        ("Internet6:\n", "the heading of another table is missing"),
        (
            "Destination        Gateway            Flags               Netif Expire\n",
            "the heading of the routes is missing",
        ),
    ],
)
def test_a_missing_heading_is_refused(gone: str, what: str) -> None:
    with pytest.raises(UnexpectedOutput, match=what):
        parse_netstat(TABLE.replace(gone, "", 1).encode())


@pytest.mark.parametrize(
    "line",
    [
        "10.231/20          10.66.0.1          UGSc",
        "10.231/20          10.66.0.1          UGSc                ut;un4       ",
        "10.231/20          10.66.0.1          UG<b>               utun4       ",
        "10.231/99          10.66.0.1          UGSc                utun4       ",
    ],
)
def test_a_route_that_can_not_be_read_is_shown(line: str) -> None:
    table = TABLE.replace("\nInternet6:", f"{line}\n\nInternet6:")
    with pytest.raises(UnexpectedOutput) as caught:
        parse_netstat(table.encode())
    assert caught.value.at == line


def test_a_cut_off_line_is_refused() -> None:
    with pytest.raises(UnexpectedOutput, match="ends in the middle of a line"):
        parse_netstat(TABLE[: TABLE.index("10.66.0.1")].encode())


def test_a_line_before_the_tables_is_noted() -> None:
    assert parse_netstat(f"netstat: hello\n{TABLE}".encode()).notes == ("netstat: hello",)
