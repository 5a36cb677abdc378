"""What a teardown takes back on a host, judged by what the host is now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address

from distconfig.cabling.bridge_loops import find_bridge_loops
from distconfig.cabling.topology import Topology
from distconfig.reports.report import HostReport
from distconfig.setup import mac_commands as mac
from distconfig.setup.addressing import CANDIDATE_BLOCKS
from distconfig.setup.journal import Journal, JournalStep
from distconfig.setup.live_host import LiveHost
from distconfig.setup.occupancy import find_claims
from distconfig.setup.setup_text import render_command

__all__ = ["TeardownScript", "UndoStep", "plan_teardown"]


@dataclass(frozen=True)
class UndoStep:
    """One command of a teardown.

    Args:
        journal_index: The step of the journal that it takes back; None without a journal.
    """

    argv: mac.Argv
    journal_index: int | None = None


@dataclass(frozen=True)
class TeardownScript:
    """What to run on one host, and what is left alone.

    Args:
        left: Sentences about what is not taken back.
        settled: Indices of the journal's steps of which nothing is left after the commands.
    """

    host: str
    steps: tuple[UndoStep, ...]
    left: tuple[str, ...] = ()
    settled: frozenset[int] = frozenset()


def plan_teardown(
    topology: Topology, journals: Mapping[str, Journal | None]
) -> dict[str, TeardownScript]:
    """For each host that answered, the commands that take its setups back.

    With a journal its steps are walked backwards, and only what is still as the
    setup left it is undone. Without one the addresses that are ours by their
    pattern are removed, and the rest is said. Where several hosts are named, the
    ports cabled to other machines stay as they are, which may be another cluster.

    Ports do not go back into a bridge that is up, and no bridge with ports in it
    is switched on, where that would close a loop of three or more.
    """
    foreign = _ports_to_others(topology)
    named_alone = len(topology.hosts) == 1
    lives = {host: LiveHost.of(report) for host, report in topology.reports.items()}
    staying = {
        host: frozenset(port for at, port in foreign if at == host and not named_alone)
        for host in lives
    }
    for host, live in lives.items():  # what would come, if nothing were in the way
        if (journal := journals.get(host)) is not None:
            _Walk(host, live, staying[host], frozenset()).through(journal)
    loops = _loops(topology, lives, foreign)
    scripts = {}
    for host, report in topology.reports.items():
        journal = journals.get(host)
        if journal is None:
            scripts[host] = _without_journal(topology, report)
        else:
            looping = frozenset(bridge for at, bridge in loops if at == host)
            walk = _Walk(host, LiveHost.of(report), staying[host], looping)
            scripts[host] = walk.through(journal)
    return scripts


def _ports_to_others(topology: Topology) -> frozenset[tuple[str, str]]:
    """The (host, interface)s cabled to a machine that is not named or did not answer."""
    ports = {(each.seen_from.host, each.seen_from.interface) for each in topology.strangers}
    for cable in topology.usable_cables:
        for end in cable.ends:
            if cable.other_end(end.host).host not in topology.reports:
                ports.add((end.host, end.interface))
    return frozenset(ports)


def _loops(
    topology: Topology, lives: Mapping[str, LiveHost], suspects: frozenset[tuple[str, str]]
) -> frozenset[tuple[str, str]]:
    """The (host, bridge)s that would be in a loop, also one through machines nobody asked."""
    membership = {
        (host, port): bridge
        for host, live in lives.items()
        for bridge, ports in live.members.items()
        if bridge in live.up
        for port in ports
    }
    loops = find_bridge_loops(topology, membership, suspects=suspects)
    return frozenset(node for loop in loops for node in loop)


@dataclass
class _Walk:
    """The way back through a journal, deciding command by command against the live state."""

    host: str
    live: LiveHost
    staying: frozenset[str]
    looping: frozenset[str]
    steps: list[UndoStep] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    settled: set[int] = field(default_factory=set)

    def through(self, journal: Journal) -> TeardownScript:
        pending = [item for item in enumerate(journal.steps) if item[1].state != "undone"]
        staying = {index for index, step in pending if self.staying & {*step.argv}}
        self.left += [
            f"{port} stays as it is, since it is cabled to a machine that is not named"
            for port in sorted(self.staying)
            if any(port in journal.steps[index].argv for index in staying)
        ]
        off_for_them = {journal.steps[index].argv[1] for index in staying}
        for index, step in reversed(pending):
            if index not in staying and not (
                step.argv[1] in off_for_them and step.argv == mac.set_down(step.argv[1])
            ):
                self._undo(index, step)
        left = tuple(dict.fromkeys(self.left))
        return TeardownScript(self.host, tuple(self.steps), left, frozenset(self.settled))

    def _undo(self, index: int, step: JournalStep) -> None:
        """Take up the commands that undo a step, as far as they are needed and not blocked."""
        is_blocked = False
        for argv in step.undo:
            if reason := self._why_blocked(argv):
                is_blocked = True
                self.left.append(reason)
            elif self._is_needed(argv, step):
                self.steps.append(UndoStep(argv, index))
                self.live.run(argv)
        if not is_blocked:
            self.settled.add(index)

    def _why_blocked(self, argv: mac.Argv) -> str:
        """Why a command must wait until cables were pulled; empty if it need not."""
        match argv:
            case (_, bridge, "up") if bridge in self.looping and bridge not in self.live.up:
                return (
                    f"{bridge} stays off, since it would close a loop of bridges, maybe through "
                    f"machines not named; pull a cable of it, then: {render_command(argv)}"
                )
            case (_, bridge, "addm", port) if bridge in self.looping and bridge in self.live.up:
                if self.live.bridge_of(port) is None:
                    return (
                        f"{port} stays out of {bridge}, where it would close a loop of bridges, "
                        "maybe through machines not named; pull a cable of it, then: "
                        f"{render_command(argv)}"
                    )
        return ""

    def _is_needed(self, argv: mac.Argv, step: JournalStep) -> bool:
        """The command takes something back that is still as the setup left it."""
        live = self.live
        match argv:
            case (_, bridge, "addm", port):
                return self._is_rejoining_needed(bridge, port)
            case (_, name, "up"):
                return name in live.mtus and name not in live.up
            case (_, name, "down"):
                return name in live.up
            case (_, name, "mtu", mtu):
                return self._is_mtu_needed(name, int(mtu), step)
            case (_, name, "inet", ip, "-alias"):
                return any(str(each.ip) == ip for each in live.addresses.get(name, ()))
            case (_, name, "inet", ip, "netmask", _, "alias"):
                return (
                    name in live.mtus
                    and self.live.bridge_of(name) is None
                    and not any(str(each.ip) == ip for each in live.addresses[name])
                )
            case (_, "set", name, "DHCP"):
                return self._is_handing_back_needed(name, step)
            case (_, _, "delete", _, peer, _, name):
                return (IPv4Address(peer), name) in live.static_routes
            case (_, _, "change", _, peer, *_):
                return (IPv4Address(peer), step.argv[-1]) in live.static_routes
        raise ValueError(f"no undo of a setup: {argv}")

    def _is_rejoining_needed(self, bridge: str, port: str) -> bool:
        holder = self.live.bridge_of(port)
        addresses = self.live.addresses.get(port, [])
        if holder == bridge:
            return False
        if holder is not None:
            self.left.append(f"{port} is in {holder} now, not in {bridge} as before")
        elif bridge not in self.live.members:
            self.left.append(f"{port} was in {bridge}, which is gone")
        elif addresses:
            self.left.append(f"{port} stays out of {bridge}, since it has {addresses[0]}")
        return holder is None and bridge in self.live.members and not addresses

    def _is_handing_back_needed(self, name: str, step: JournalStep) -> bool:
        addresses = self.live.addresses.get(name)
        if addresses is None or any(each.is_link_local for each in addresses):
            return False
        come_back = {word for argv in step.undo for word in argv}
        staying = [each for each in addresses if str(each.ip) not in come_back]
        if staying:
            self.left.append(f"{name} keeps {staying[0]}, so macOS does not manage it again")
        return not staying

    def _is_mtu_needed(self, name: str, before: int, step: JournalStep) -> bool:
        now = self.live.mtus.get(name, before)
        if now == before:
            return False
        if ("mtu", str(now)) not in zip(step.argv, step.argv[1:], strict=False):
            self.left.append(f"{name} has mtu {now}, which no setup gave it")
            return False
        return True


def _without_journal(topology: Topology, report: HostReport) -> TeardownScript:
    claims = find_claims(topology, CANDIDATE_BLOCKS)
    steps = [
        UndoStep(mac.remove_address(name, address))
        for host, name, address in claims.carried
        if host == report.host
    ]
    return TeardownScript(report.host, tuple(steps), tuple(_leftovers(report)))


def _leftovers(report: HostReport) -> Iterator[str]:
    """What a setup may have changed beside addresses, and how to change it back by hand."""
    yield "no setup of this host is known here; only addresses are removed"
    ports = [each.interface for each in report.receptacles if each.interface]
    bridged = {member for bridge in report.bridges for member in bridge.members}
    for bridge in report.bridges:
        if not set(bridge.members) <= set(ports):
            continue
        if not bridge.is_up:
            argv = mac.set_up(bridge.name)
            yield f"{bridge.name} is off; to switch it on: {render_command(argv)}"
        for port in ports:
            if port not in bridged:
                argv = mac.rejoin_bridge(bridge.name, port)
                yield f"{port} is in no bridge; to put it back: {render_command(argv)}"
        return
