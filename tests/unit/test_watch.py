"""Rates between two looks, the tries of neighbours, and interface counters, as values."""

from __future__ import annotations

import json
import subprocess
from datetime import datetime
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from distconfig.errors import UnexpectedOutput
from distconfig.probes.interface_counters import ByteCounters, parse_interface_counters
from distconfig.upkeep.status import find_drifts
from distconfig.upkeep.tries import Try, TryResult, parse_tries, render_tries
from distconfig.upkeep.watch import find_rates, render_moment
from tests.unit.test_status import lose_address, set_up_lab

NETSTAT = b"""\
Name       Mtu   Network       Address            Ipkts Ierrs     Ibytes    Opkts Oerrs     Obytes  Coll
lo0        16384 <Link#1>                          4021     0     803117     4021     0     803118     0
lo0        16384 127           127.0.0.1           4021     -     803117     4021     -     803118     -
gif0*      1280  <Link#2>                             0     0          0        0     0          0     0
en3        1500  <Link#9>    36:00:c0:de:00:04  7100200     0 9100200300   610020     0   81002003     0
en3        1500  10.231.0/30   10.231.0.1       7100200     - 9100200300   610020     -   81002003     -
"""  # noqa: E501


def test_each_interface_is_counted_once_by_its_link() -> None:
    assert parse_interface_counters(NETSTAT).value == {
        "lo0": ByteCounters(803117, 803118),
        "gif0": ByteCounters(0, 0),
        "en3": ByteCounters(9100200300, 81002003),
    }


@pytest.mark.parametrize(
    "text", [b"", NETSTAT[:104], NETSTAT[:-1], NETSTAT.replace(b"81002003     0", b"many     0")]
)
def test_counters_that_can_not_be_read_are_refused(text: bytes) -> None:
    with pytest.raises(UnexpectedOutput):
        parse_interface_counters(text)


def test_rates_are_what_both_ends_sent_and_unknown_where_a_host_restarted() -> None:
    lab, record = set_up_lab()
    before = {
        "studio1": {"en3": ByteCounters(0, 1_000_000_000), "en2": ByteCounters(0, 500)},
        "studio2": {"en2": ByteCounters(0, 0)},
    }
    now = {
        "studio1": {"en3": ByteCounters(0, 1_500_000_000), "en2": ByteCounters(0, 400)},
        "studio2": {"en2": ByteCounters(0, 250_000_000)},
        "studio3": {"en3": ByteCounters(0, 7)},
    }
    rates = find_rates(record, lab.topology(), before, now, 2.0)
    assert [(rate.there, rate.back) for rate in rates] == [(2.0, 1.0), (None, None), (None, None)]


def test_a_moment_is_one_line_of_json() -> None:
    lab, record = set_up_lab()
    lose_address(lab.macs["studio2"])
    topology = lab.topology()
    rates = find_rates(record[:1], topology, {}, {}, 1.0)
    at = datetime(2026, 9, 30, 12, 0, 1)
    text = render_moment(rates, find_drifts(record, topology), at)
    assert text.count("\n") == 1
    assert json.loads(text) == {
        "format": 1,
        "at": "2026-09-30T12:00:01",
        "cables": [
            {
                "ends": [{"host": "studio1", "port": "2"}, {"host": "studio2", "port": "1"}],
                "gbps": [None, None],
                "drifts": ["studio2: en2 has lost its address 10.231.0.2/30."],
            }
        ],
    }


# Tries, with commands that print what macOS prints

PING = """\
#!/bin/sh
for address; do :; done
[ "$address" = 10.231.0.2 ] || exit 2
echo "5 packets transmitted, 5 packets received, 0.0% packet loss"
echo "round-trip min/avg/max/stddev = 0.098/0.122/0.180/0.030 ms"
"""
ROUTE = """\
#!/bin/sh
[ "$3" != 10.9.9.9 ] || { echo "route: writing to routing socket: not in table" >&2; exit 1; }
printf '   route to: %s\\ndestination: x\\n  interface: en3\\n      flags: <UP>\\n' "$3"
"""
NC = """\
#!/bin/sh
for word; do [ "$word" != 10.231.0.6 ] || exit 0; done
exit 1
"""


def test_tries_tell_route_time_and_whether_anybody_answered(tmp_path: Path) -> None:
    commands = {"/sbin/route": ROUTE, "/sbin/ping": PING, "/usr/bin/nc": NC}
    script = render_tries(
        [
            Try(IPv4Address("10.231.0.2"), IPv4Address("10.231.0.1")),
            Try(IPv4Address("10.231.0.6")),
            Try(IPv4Address("10.9.9.9")),
        ]
    )
    for path, text in commands.items():
        fake = tmp_path / Path(path).name
        fake.write_text(text)
        fake.chmod(0o755)
        script = script.replace(path, str(fake))
    done = subprocess.run(["/bin/sh"], input=script.encode(), capture_output=True, check=True)
    assert parse_tries(done.stdout, 3, "studio1") == (
        TryResult("en3", 0.122, True),
        TryResult("en3", None, True),
        TryResult("", None, False),
    )


@pytest.mark.parametrize(
    "text", [b"", b"@ try 1 en3 0.1 ping\n", b"@ try 0 en3 fast ping\n", b"@ try 0 en3 0.1 maybe\n"]
)
def test_a_missing_or_odd_answer_is_refused(text: bytes) -> None:
    with pytest.raises(UnexpectedOutput):
        parse_tries(text, 1, "studio1")


def test_an_interface_that_is_none_counts_as_no_route() -> None:
    assert parse_tries(b"@ try 0 $(x) - none\n", 1, "a") == (TryResult("", None, False),)
