"""Steps that several tests on simulated Macs take."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.simulated_macs import SimulatedMac, SimulatedMacs

__all__ = ["address_both_ends", "await_ping", "carried", "reaches", "sudo", "wait_until"]


def wait_until(condition: Callable[[], object], seconds: float = 90) -> None:
    """Wait for something to come true; it takes so long only on a machine that is very busy."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"


def sudo(mac: SimulatedMac, *words: str) -> None:
    """Run a command on a host as root through its sudo; it must succeed in silence."""
    done = mac.run(["/usr/bin/sudo", "-n", *words])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def address_both_ends(macs: SimulatedMacs, one: tuple[str, str], two: tuple[str, str]) -> None:
    """Free two ports from their bridges and give them 10.231.0.1 and 10.231.0.2."""
    for (host, interface), last in ((one, 1), (two, 2)):
        sudo(macs[host], "/sbin/ifconfig", "bridge0", "deletem", interface)
        words = ["inet", f"10.231.0.{last}", "netmask", "255.255.255.252", "up"]
        sudo(macs[host], "/sbin/ifconfig", interface, *words)


def reaches(mac: SimulatedMac, address: str) -> bool:
    """Whether a ping is answered soon."""
    return mac.run(["/sbin/ping", "-c", "1", "-W", "400", address]).returncode == 0


def await_ping(mac: SimulatedMac, address: str) -> None:
    """Wait for a ping to be answered; where ARP just failed, its next try takes a second."""
    wait_until(lambda: reaches(mac, address))


def carried(mac: SimulatedMac) -> dict[str, int]:
    """Packets that each interface has sent and received."""
    return {
        name: count.sent_packets + count.received_packets for name, count in mac.counters().items()
    }
