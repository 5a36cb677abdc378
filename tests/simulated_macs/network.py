"""The network of one simulated Mac: the interfaces, addresses and routes of its namespace.

What macOS does otherwise than Linux is added here: a bridge keeps its list of members while
it is down, and its ports then work on their own; the kernel refuses to add a port that
carries an address.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path
from typing import Any

from tests.simulated_macs.layout import Mac

__all__ = ["MAX_MTU", "Link", "Network", "NetworkRefusal", "quieten_network", "run_ip", "run_tc"]


MAX_MTU = 9000
"""The largest packet that a simulated Thunderbolt port takes; of real ones it is not known."""


_IFF_UP = 1


class NetworkRefusal(Exception):
    """The kernel said no; the text is what the C library calls the reason."""


@dataclass(frozen=True)
class Link:
    """One interface of the namespace.

    Args:
        has_carrier: A cable is in and the other end is up.
        bridge: The bridge whose list of members names it, up or down.
    """

    name: str
    index: int
    mac: str
    mtu: int
    is_up: bool
    has_carrier: bool
    addresses: tuple[IPv4Interface, ...]
    bridge: str = ""


@dataclass
class Bridge:
    """A bridge as macOS thinks of it; in Linux it holds ports only while it is up."""

    members: list[str] = field(default_factory=list)
    is_up: bool = True


def run_ip(*words: str, batch: str | None = None) -> str:
    """Run ``ip`` in this namespace and return what it printed.

    Args:
        batch: Commands for ``ip -batch -``, one a line.

    Raises:
        NetworkRefusal: With the kernel's reason.
    """
    return _run(["ip", *words], batch)


def run_tc(*words: str) -> None:
    """Run ``tc`` in this namespace; NetworkRefusal if it fails."""
    _run(["tc", *words], None)


def _run(words: list[str], text: str | None) -> str:
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip() or f"{words} failed").splitlines()[0]
        raise NetworkRefusal(reason.removeprefix("RTNETLINK answers: "))
    return done.stdout


def quieten_network() -> None:
    """Make a new namespace send nothing by itself, and answer ARP as BSD does.

    Without IPv6 the byte counters show only what somebody sent on purpose. An interface
    answers for its own addresses only, not for those of its neighbours.
    """
    settings = Path("/proc/sys/net")
    for which in ("all", "default"):
        (settings / f"ipv6/conf/{which}/disable_ipv6").write_text("1")
        (settings / f"ipv4/conf/{which}/arp_ignore").write_text("1")


class Network:
    """The interfaces of a Mac, changed and read as its own tools would."""

    def __init__(self, mac: Mac) -> None:
        self.mac = mac
        self.bridges: dict[str, Bridge] = {}

    # Reading

    def links(self, name: str = "") -> list[Link]:
        """All interfaces, in the order the kernel numbers them, or the one of this name."""
        words = ["dev", name] if name else []
        belongs = {port: name for name, each in self.bridges.items() for port in each.members}
        entries: list[dict[str, Any]] = json.loads(run_ip("-j", "addr", "show", *words))
        return [
            Link(
                name=entry["ifname"],
                index=entry["ifindex"],
                mac=entry.get("address", ""),
                mtu=entry["mtu"],
                is_up="UP" in entry["flags"],
                has_carrier="LOWER_UP" in entry["flags"],
                addresses=tuple(
                    IPv4Interface(f"{each['local']}/{each['prefixlen']}")
                    for each in entry["addr_info"]
                    if each.get("family") == "inet"
                ),
                bridge=belongs.get(entry["ifname"], ""),
            )
            for entry in entries
        ]

    def link(self, name: str) -> Link:
        """One interface.

        Raises:
            NetworkRefusal: There is none of this name.
        """
        return self.links(name)[0]

    def exists(self, name: str) -> bool:
        """Whether the kernel has an interface of this name."""
        return Path("/sys/class/net", name).exists()

    def routes(self) -> list[dict[str, Any]]:
        """The main table as ``ip -j route`` tells it."""
        found: list[dict[str, Any]] = json.loads(run_ip("-j", "route", "show"))
        return found

    def route_to(self, address: IPv4Address) -> dict[str, Any]:
        """The route that a packet to this address would take.

        Raises:
            NetworkRefusal: There is none.
        """
        found: dict[str, Any] = json.loads(run_ip("-j", "route", "get", str(address)))[0]
        return found

    # Interfaces

    def set_up(self, name: str, is_up: bool) -> None:
        """Mark an interface up or down; a bridge takes in or lets go of its ports with it."""
        run_ip("link", "set", name, "up" if is_up else "down")
        if name in self.bridges:
            self.bridges[name].is_up = is_up
            for port in self.bridges[name].members:
                self._attach(port, name if is_up else "")

    def set_mtu(self, name: str, mtu: int) -> None:
        """Set the largest packet that an interface sends."""
        run_ip("link", "set", name, "mtu", str(mtu))

    def add_address(self, name: str, address: IPv4Interface) -> None:
        """Give an interface one more address and mark it up, as BSD does."""
        words = ["addr", "add", str(address), "dev", name]
        if address.network.prefixlen < 31:
            words += ["brd", "+"]
        run_ip(*words)
        if not int(Path("/sys/class/net", name, "flags").read_text(), 16) & _IFF_UP:
            self.set_up(name, True)

    def remove_address(self, name: str, address: IPv4Interface) -> None:
        """Take one address from an interface."""
        run_ip("addr", "del", str(address), "dev", name)

    # Bridges

    def create_bridge(self, name: str, ether: str) -> None:
        """Make an empty bridge, down. It delivers broadcasts but does not relay them.

        A real bridge of macOS relays them, for ever if the cables close a cycle of three
        or more Macs; on one machine that would be a storm in the kernel of everybody.
        What arrives for an address of a port is dropped (Linux would take it).
        """
        run_ip("link", "add", name, "address", ether, "type", "bridge", "mcast_snooping", "0")
        Path(f"/proc/sys/net/ipv4/conf/{name}/rp_filter").write_text("1")
        self.bridges[name] = Bridge(is_up=False)

    def destroy_bridge(self, name: str) -> None:
        """Remove a bridge; its ports are free again."""
        for port in list(self.bridges[name].members):
            self.remove_member(name, port)
        del self.bridges[name]
        run_ip("link", "del", name)

    def add_member(self, bridge: str, port: str, *, by_configd: bool = False) -> None:
        """Put a port into a bridge.

        Args:
            by_configd: Do it even if the port carries an address, the worst configd may do.

        Raises:
            NetworkRefusal: The port carries an address or is in a bridge already.
        """
        link = self.link(port)
        if link.bridge:
            raise NetworkRefusal("Resource busy" if link.bridge != bridge else "File exists")
        if link.addresses and not by_configd:
            raise NetworkRefusal("Invalid argument")
        self.bridges[bridge].members.append(port)
        if self.bridges[bridge].is_up:
            self._attach(port, bridge)

    def remove_member(self, bridge: str, port: str) -> None:
        """Take a port out of a bridge.

        Raises:
            NetworkRefusal: It is not in it.
        """
        if port not in self.bridges[bridge].members:
            raise NetworkRefusal("No such file or directory")
        self.bridges[bridge].members.remove(port)
        if self.bridges[bridge].is_up:
            self._attach(port, "")

    def _attach(self, port: str, bridge: str) -> None:
        if not bridge:
            run_ip("link", "set", port, "nomaster")
            return
        run_ip("link", "set", port, "master", bridge)
        words = ["bcast_flood", "off", "mcast_flood", "off", "flood", "off"]
        run_ip("link", "set", port, "type", "bridge_slave", *words)

    def put_ports_back(self) -> list[str]:
        """Do what configd does with free ports: all go into the automatic bridge again.

        Returns:
            The ports that were free.
        """
        automatic = self.mac.bridge
        if automatic is None or automatic.name not in self.bridges:
            return []
        wanted = self.mac.ports if automatic.members is None else automatic.members
        served = self.mac.addresses if automatic.members is None else ()
        free = [
            link.name
            for link in self.links()
            if link.name in wanted and link.name not in served and not link.bridge
        ]
        for port in free:
            self.add_member(automatic.name, port, by_configd=True)
        return free

    def create_automatic_bridge(self) -> None:
        """Do what configd does when it starts: the automatic bridge and all its ports."""
        automatic = self.mac.bridge
        if automatic is None:
            return
        self.create_bridge(automatic.name, self.link(self.mac.ports[0]).mac)
        without_service = [port for port in self.mac.ports if port not in self.mac.addresses]
        members = without_service if automatic.members is None else automatic.members
        for port in members:
            self.add_member(automatic.name, port)
        self.set_up(automatic.name, automatic.up)

    # Routes

    def add_route(self, destination: IPv4Network, *, via: str = "", interface: str = "") -> None:
        """Add a route through a gateway or straight out of an interface."""
        run_ip("route", "add", str(destination), *_way(via, interface))

    def has_route(self, destination: IPv4Network) -> bool:
        """Whether the table has exactly this destination."""
        return bool(run_ip("route", "show", "exact", str(destination)).strip())

    def change_route(self, destination: IPv4Network, *, via: str = "", interface: str = "") -> None:
        """Replace a route that exists."""
        run_ip("route", "change", str(destination), *_way(via, interface))

    def delete_route(self, destination: IPv4Network) -> None:
        """Delete a route that exists."""
        run_ip("route", "del", str(destination))


def _way(via: str, interface: str) -> list[str]:
    words = ["via", via] if via else ["scope", "link"]
    return [*words, "dev", interface] if interface else words
