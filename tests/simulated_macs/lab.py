"""The room in which the simulated Macs stand: it starts them and moves their cables.

One process, alone in a network namespace. Each receptacle is a veth pair whose one end is the
Mac's interface and whose other end hangs in this namespace; a cable is a bridge that joins two
such ends, so the Mac keeps its interface, as a real one does, when a cable is pulled. The LAN
is one more bridge. When this process ends, however it ends, the kernel kills all hosts and
every namespace goes with them.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.simulated_macs.boot import Power, run_host
from tests.simulated_macs.layout import Cable, End, Layout, Mac
from tests.simulated_macs.namespaces import CLONE_NEWNET, CLONE_NEWNS, fork_as_init, unshare
from tests.simulated_macs.network import quieten_network, run_ip, run_tc
from tests.simulated_macs.operator import make_keys, run_operator
from tests.simulated_macs.portrait import ether
from tests.simulated_macs.world_file import World, WorldFile

__all__ = ["Lab"]

_LAN = "lan"


class Lab:
    """All hosts of a layout, running.

    Args:
        folder: An empty folder; each host and the operator get one inside.
        shared: Folders that every host sees too.
    """

    def __init__(self, layout: Layout, folder: Path, shared: Sequence[Path] = ()) -> None:
        self.layout = layout
        self.folder = folder
        self.shared = tuple(shared)
        self.world = World(layout.macs, (), dict.fromkeys(layout.names(), 0))
        self.world_file = WorldFile(folder, layout.macs)
        self.pids: dict[str, int] = {}
        self.operator_pid = 0
        self.authorized_key = ""
        # The kernel's name of each cable, the cables of hosts without power, the shaped ends.
        self._bridges: dict[Cable, str] = {}
        self._bridges_made = 0
        self._dark: list[Cable] = []
        self._limited: set[End] = set()

    def start(self) -> None:
        """Bring everything up; every host answers ssh when this returns."""
        unshare(CLONE_NEWNET | CLONE_NEWNS)
        quieten_network()
        address = f"{self.layout.gateway()}/{self.layout.lan.prefixlen}"
        commands = ["link set lo up", f"link add {_LAN} type bridge mcast_snooping 0"]
        commands += [f"addr add {address} dev {_LAN}", f"link set {_LAN} up"]
        run_ip("-batch", "-", batch="\n".join(commands))
        self.authorized_key = make_keys(self.folder, self.layout)
        self.world_file.write(self.world)
        self._start_operator()
        self._start_hosts(self.layout.names())
        self._plug_all(self.layout.cables)

    # Cables

    def plug(self, one: End, two: End) -> None:
        """Put a cable between two empty receptacles."""
        for end in (one, two):
            self._require_power(end.host)
            if end.interface not in self.layout[end.host].ports:
                raise ValueError(f"there is no {end.interface} on {end.host}")
            if self.world.peer(end):
                raise ValueError(f"a cable is in {end.interface} of {end.host}")
        self._plug_all([(one, two)])

    def cut(self, end: End) -> None:
        """Take out the cable that is in a receptacle."""
        for cable in self.world.cables:
            if end in cable:
                self._unplug(cable)
                return
        raise ValueError(f"no cable is in {end.interface} of {end.host}")

    def _plug_all(self, cables: Sequence[Cable]) -> None:
        commands = []
        for cable in cables:
            bridge = f"cable{self._bridges_made}"
            self._bridges_made += 1
            self._bridges[cable] = bridge
            commands.append(f"link add {bridge} mtu 65535 type bridge mcast_snooping 0")
            for end in cable:
                commands.append(f"link set {self._room_end(end)} master {bridge} up")
            commands.append(f"link set {bridge} up")
        run_ip("-batch", "-", batch="\n".join(commands))
        self._write(replace(self.world, cables=(*self.world.cables, *cables)))

    def _unplug(self, cable: Cable) -> None:
        commands = [f"link set {self._room_end(end)} down" for end in cable]
        commands.append(f"link del {self._bridges.pop(cable)}")
        run_ip("-batch", "-", batch="\n".join(commands))
        for end in cable:
            self._limit(end, "")
        left = tuple(other for other in self.world.cables if other != cable)
        self._write(replace(self.world, cables=left))

    def shape(self, end: End, rate: str) -> None:
        """Let a cable carry at most this much each way (``500mbit``), until it is cut.

        Args:
            rate: Empty to lift the limit.
        """
        other = self.world.peer(end)
        if other is None:
            raise ValueError(f"no cable is in {end.interface} of {end.host}")
        for each in (end, other):
            self._limit(each, rate)

    def _limit(self, end: End, rate: str) -> None:
        device = self._room_end(end)
        if end in self._limited:
            run_tc("qdisc", "del", "dev", device, "root")
            self._limited.remove(end)
        if rate:
            words = ["rate", rate, "burst", "256kb", "latency", "20ms"]
            run_tc("qdisc", "add", "dev", device, "root", "tbf", *words)
            self._limited.add(end)

    def set_lan(self, host: str, is_up: bool) -> None:
        """Plug in or pull the LAN cable of a host."""
        end = End(host, "en0")
        run_ip("link", "set", self._room_end(end), "up" if is_up else "down")

    # Hosts

    def reboot(self, host: str) -> None:
        """Switch a host off and on; everything not on its disk is forgotten."""
        self.switch_off(host)
        self.switch_on(host)

    def switch_on(self, host: str) -> None:
        """Give a host its power back; it answers ssh when this returns."""
        if host in self.pids:
            raise ValueError(f"{host} is on")
        self._start_hosts([host])
        linked = [each for each in self._dark if {end.host for end in each} <= set(self.pids)]
        self._dark = [each for each in self._dark if each not in linked]
        self._plug_all(linked)

    def switch_off(self, host: str) -> None:
        """Take the power from a host: its processes end and its cables lose their link."""
        self._require_power(host)
        for cable in list(self.world.cables):
            if host in (cable[0].host, cable[1].host):
                self._unplug(cable)
                self._dark.append(cable)
        ends = [self._room_end(End(host, name)) for name in _interfaces(self.layout[host])]
        run_ip("-batch", "-", batch="\n".join(f"link del {end}" for end in ends))
        pid = self.pids.pop(host)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    def stop(self) -> None:
        """End every process of every machine; when this returns none is left."""
        for pid in [*self.pids.values(), self.operator_pid]:
            os.kill(pid, signal.SIGKILL)
        for pid in [*self.pids.values(), self.operator_pid]:
            os.waitpid(pid, 0)

    def _require_power(self, host: str) -> None:
        if host not in self.pids:
            raise ValueError(f"{host} is off")

    def _start_hosts(self, names: Sequence[str]) -> None:
        """Boot hosts side by side and wait until each answers ssh."""
        boots = {**self.world.boots, **{name: self.world.boots[name] + 1 for name in names}}
        self._write(replace(self.world, boots=boots))
        lines: dict[str, socket.socket] = {}
        for name in names:
            lines[name], theirs = socket.socketpair()
            power = Power(
                mac=self.layout[name],
                folder=self.folder / name,
                authorized_key=self.authorized_key,
                shared=self.shared,
                lan_address=self.layout.lan_address(name),
                gateway=self.layout.gateway(),
                world_file=self.world_file,
                line=theirs,
            )
            keep = (theirs.fileno(), self.world_file.descriptor)
            self.pids[name] = fork_as_init(partial(run_host, power), keep=keep)
            theirs.close()
        self._await(lines)
        self._make_interfaces(names)
        for line in lines.values():
            line.send(b"the interfaces are there")
        self._await(lines)

    def _await(self, lines: Mapping[str, socket.socket]) -> None:
        """Wait until each of the machines has said that it is ready for the next thing."""
        for name, line in lines.items():
            if not line.recv(64):
                log = (self.folder / name / "log").read_text()
                raise RuntimeError(f"{name} did not boot:\n{log}")

    def _make_interfaces(self, names: Sequence[str]) -> None:
        commands = []
        for name in names:
            mac = self.layout[name]
            for interface in _interfaces(mac):
                end = self._room_end(End(name, interface))
                address = ether(mac, interface)
                peer = f"peer name {interface} address {address} netns {self.pids[name]}"
                commands.append(f"link add {end} mtu 65535 type veth {peer}")
            commands.append(f"link set {self._room_end(End(name, 'en0'))} master {_LAN} up")
            if mac.usb_card:
                commands.append(f"link set {self._room_end(End(name, 'en8'))} up")
        run_ip("-batch", "-", batch="\n".join(commands))

    def _start_operator(self) -> None:
        line, theirs = socket.socketpair()
        body = partial(
            run_operator,
            home=self.folder / "operator",
            address=self.layout.operator_address(),
            gateway=self.layout.gateway(),
            line=theirs,
        )
        self.operator_pid = fork_as_init(body, keep=[theirs.fileno()])
        theirs.close()
        self._await({"operator": line})
        peer = f"peer name eth0 netns {self.operator_pid}"
        commands = [f"link add operator type veth {peer}", f"link set operator master {_LAN} up"]
        run_ip("-batch", "-", batch="\n".join(commands))
        line.send(b"the interface is there")
        self._await({"operator": line})

    def _room_end(self, end: End) -> str:
        return f"{self.layout.names().index(end.host)}-{end.interface}"

    def _write(self, world: World) -> None:
        self.world = world
        self.world_file.write(world)


def _interfaces(mac: Mac) -> list[str]:
    return ["en0", *mac.ports, *(["en8"] if mac.usb_card else [])]
