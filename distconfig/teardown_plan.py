"""What a teardown takes back on a host, judged by what the host is now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface

from distconfig import mac_commands as mac
from distconfig.addressing import CANDIDATE_BLOCKS
from distconfig.bridge_loops import find_bridge_loops
from distconfig.journal import Journal, JournalStep
from distconfig.occupancy import find_claims
from distconfig.report import HostReport
from distconfig.setup_text import render_command
from distconfig.topology import Topology

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


@dataclass
class _LiveHost:
    """The state of a host, kept up to date while commands are planned for it."""

    addresses: dict[str, list[IPv4Interface]]
    mtus: dict[str, int]
    up: set[str]
    members: dict[str, list[str]]
    static_routes: set[tuple[IPv4Address, str]]

    @classmethod
    def of(cls, report: HostReport) -> _LiveHost:
        return cls(
            {state.name: list(state.addresses) for state in report.interfaces},
            {state.name: state.mtu for state in report.interfaces},
            {state.name for state in report.interfaces if state.is_up},
            {bridge.name: list(bridge.members) for bridge in report.bridges},
            {
                (route.destination.network_address, route.interface)
                for route in report.routes
                if route.destination.prefixlen == 32
                and "S" in route.flags
                and "W" not in route.flags  # not an entry of the neighbour table
            },
        )

    def bridge_of(self, port: str) -> str | None:
        return next((name for name, ports in self.members.items() if port in ports), None)


def plan_teardown(
    topology: Topology, journals: Mapping[str, Journal | None]
) -> dict[str, TeardownScript]:
    """For each host that answered, the commands that take its setups back.

    With a journal its steps are walked backwards, and only what is still as the
    setup left it is undone. Without one the addresses that are ours by their
    pattern are removed, and the rest is said.

    Ports do not go back into a bridge that is up, and no bridge with ports in it
    is switched on, where that would close a loop of three or more.
    """
    lives = {host: _LiveHost.of(report) for host, report in topology.reports.items()}
    for host, live in lives.items():  # what would come, if nothing were in the way
        if (journal := journals.get(host)) is not None:
            _Walk(host, live, frozenset()).through(journal)
    loops = _loops(topology, lives)
    scripts = {}
    for host, report in topology.reports.items():
        journal = journals.get(host)
        if journal is None:
            scripts[host] = _without_journal(topology, report)
        else:
            looping = frozenset(bridge for at, bridge in loops if at == host)
            scripts[host] = _Walk(host, _LiveHost.of(report), looping).through(journal)
    return scripts


def _loops(topology: Topology, lives: Mapping[str, _LiveHost]) -> frozenset[tuple[str, str]]:
    """The (host, bridge)s that would be in a loop, also one through machines nobody asked."""
    membership = {
        (host, port): bridge
        for host, live in lives.items()
        for bridge, ports in live.members.items()
        if bridge in live.up
        for port in ports
    }
    suspects = [
        (each.seen_from.host, each.seen_from.interface)
        for each in topology.strangers
        if each.seen_from.interface
    ]
    for cable in topology.usable_cables:
        for end in cable.ends:
            if cable.other_end(end.host).host not in topology.reports:
                suspects.append((end.host, end.interface))
    loops = find_bridge_loops(topology, membership, suspects=suspects)
    return frozenset(node for loop in loops for node in loop)


@dataclass
class _Walk:
    """The way back through a journal, deciding command by command against the live state."""

    host: str
    live: _LiveHost
    looping: frozenset[str]
    steps: list[UndoStep] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    settled: set[int] = field(default_factory=set)

    def through(self, journal: Journal) -> TeardownScript:
        for index, step in reversed(list(enumerate(journal.steps))):
            if step.state == "undone":
                continue
            is_blocked = False
            for argv in step.undo:
                reason = self._why_blocked(argv)
                if reason:
                    is_blocked = True
                    self.left.append(reason)
                elif self._is_needed(argv, step):
                    self.steps.append(UndoStep(argv, index))
                    self._note(argv)
            if not is_blocked:
                self.settled.add(index)
        left = tuple(dict.fromkeys(self.left))
        return TeardownScript(self.host, tuple(self.steps), left, frozenset(self.settled))

    def _why_blocked(self, argv: mac.Argv) -> str:
        """Why a command must wait until cables were pulled; empty if it need not."""
        match argv:
            case (_, bridge, "up") if bridge in self.looping and bridge not in self.live.up:
                return (
                    f"{bridge} stays off, since it may close a loop of bridges; name all hosts, or "
                    f"pull a cable of the loop, then: {render_command(argv)}"
                )
            case (_, bridge, "addm", port) if bridge in self.looping and bridge in self.live.up:
                if self.live.bridge_of(port) is None:
                    return (
                        f"{port} stays out of {bridge}, where it may close a loop of bridges; name "
                        f"all hosts, or pull a cable of the loop, then: {render_command(argv)}"
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

    def _note(self, argv: mac.Argv) -> None:
        """Let the live state be what it is after the command."""
        live = self.live
        match argv:
            case (_, bridge, "addm", port):
                live.members[bridge].append(port)
            case (_, name, "up"):
                live.up.add(name)
            case (_, name, "down"):
                live.up.discard(name)
            case (_, name, "mtu", mtu):
                live.mtus[name] = int(mtu)
            case (_, name, "inet", ip, "-alias"):
                live.addresses[name] = [a for a in live.addresses[name] if str(a.ip) != ip]
            case (_, name, "inet", ip, "netmask", mask, "alias"):
                live.addresses[name].append(IPv4Interface(f"{ip}/{mask}"))
                live.up.add(name)  # as BSD does with an interface that gets an address
            case (_, "set", name, "DHCP"):
                live.addresses[name] = []
            case (_, _, "delete", _, peer, _, name):
                live.static_routes.discard((IPv4Address(peer), name))


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
