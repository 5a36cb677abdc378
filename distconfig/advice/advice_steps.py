"""From a `Rewiring` to cables and receptacles: the steps a person takes, in order."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal

from distconfig.advice.rewiring import Move, Rewiring
from distconfig.advice.spare_ports import Aim, SparePorts
from distconfig.cabling.cable import Cable, CableEnd, label_order
from distconfig.cabling.topology import RDMA_GBPS, Topology
from distconfig.reports.ports import name_end
from distconfig.reports.report import HostReport

__all__ = ["AdviceStep", "plan_steps", "rewired_topology"]


@dataclass(frozen=True)
class AdviceStep:
    """One thing to do with one cable.

    Args:
        old: The cable as it is plugged in now; None if it is added.
        new: The cable as it will be; None if it is taken out. Its speed is what its
            ports should train to with a good cable.
        sentence: What to do, for a person.
    """

    kind: Literal["move", "add", "remove"]
    old: Cable | None
    new: Cable | None
    sentence: str

    @property
    def unplug(self) -> tuple[CableEnd, ...]:
        """The ends to unplug."""
        kept = self.new.ends if self.new else ()
        return tuple(end for end in self.old.ends if end not in kept) if self.old else ()

    @property
    def plug(self) -> tuple[CableEnd, ...]:
        """The receptacles to plug into."""
        kept = self.old.ends if self.old else ()
        return tuple(end for end in self.new.ends if end not in kept) if self.new else ()


def plan_steps(spare: SparePorts, rewiring: Rewiring, aim: Aim) -> tuple[AdviceStep, ...]:
    """Steps in an order in which the ports to plug into are free, as far as there is one."""
    return _Plan(spare, aim).steps(rewiring)


def rewired_topology(topology: Topology, steps: tuple[AdviceStep, ...]) -> Topology:
    """The cabling once the steps are done; the reports stay those of today."""
    # Compared by count, since a topology may list equal-looking cables of several docks.
    gone = Counter(step.old for step in steps if step.old)
    kept = [cable for cable in topology.cables if not gone[cable]]
    new = [step.new for step in steps if step.new]
    return replace(
        topology,
        cables=(*kept, *new),
        loops=tuple(cable for cable in topology.loops if not gone[cable]),
        problems=(),
    )


class _Plan:
    """The free receptacles while the steps are taken."""

    def __init__(self, spare: SparePorts, aim: Aim) -> None:
        self._spare = spare
        self._aim = aim
        self._hosts = spare.topology.hosts
        self._free = {host: spare.free_ends(host, aim) for host in self._hosts}
        self._promised: set[CableEnd] = set()

    def steps(self, rewiring: Rewiring) -> tuple[AdviceStep, ...]:
        """First what is taken out, then moves that can be made at once, then additions."""
        steps = [self._remove(self._spare.cables[number]) for number in rewiring.removes]
        waiting = list(rewiring.moves)
        while waiting:
            ready = [move for move in waiting if self._free[self._target(move)]]
            move = (ready or waiting)[0]
            waiting.remove(move)
            steps.append(self._move(move, waiting))
        steps += [self._add(self._hosts[a], self._hosts[b]) for a, b in rewiring.adds]
        return tuple(steps)

    def _target(self, move: Move) -> str:
        """The host that the loose end is plugged into."""
        kept = self._spare.cables[move.cable].ends[move.kept_end].host
        a, b = (self._hosts[host] for host in move.hop)
        return b if kept == a else a

    def _remove(self, cable: Cable) -> AdviceStep:
        for end in cable.ends:
            self._give_back(end)
        return AdviceStep("remove", cable, None, self._sentence_for_removal(cable))

    def _move(self, move: Move, waiting: list[Move]) -> AdviceStep:
        cable = self._spare.cables[move.cable]
        kept, loose = cable.ends[move.kept_end], cable.ends[1 - move.kept_end]
        target = self._target(move)
        waits = not self._free[target]
        plug = self._promise(target, waiting) if waits else self._free[target].pop(0)
        self._give_back(loose)
        sentence = self._sentence_for_move(cable, kept, loose, plug)
        if waits:
            sentence += " Hold the loose end until a later step has freed that port."
        return AdviceStep("move", cable, self._new_cable(kept, plug), sentence)

    def _add(self, a: str, b: str) -> AdviceStep:
        new = self._new_cable(self._free[a].pop(0), self._free[b].pop(0))
        kind = "Thunderbolt 5 cable" if (new.gbps or 0) >= RDMA_GBPS else "Thunderbolt cable"
        sentence = f"Add a {kind} from {self._name(new.a)} to {self._name(new.b)}."
        return AdviceStep("add", None, new, sentence)

    def _promise(self, host: str, waiting: list[Move]) -> CableEnd:
        """A receptacle that a later move vacates."""
        for move in waiting:
            loose = self._spare.cables[move.cable].ends[1 - move.kept_end]
            if loose.host == host and loose not in self._promised and self._is_sound(loose):
                self._promised.add(loose)
                return loose
        raise AssertionError(f"the rewiring plugs more into {host} than fits")

    def _give_back(self, end: CableEnd) -> None:
        """A receptacle is unplugged: it is free unless it was promised or holds a dock."""
        if end not in self._promised and self._is_sound(end):
            self._free[end.host].append(end)

    def _is_sound(self, end: CableEnd) -> bool:
        return self._spare.is_sound(end, self._aim)

    def _new_cable(self, one: CableEnd, other: CableEnd) -> Cable:
        position = {host: index for index, host in enumerate(self._hosts)}
        a, b = sorted(
            (one, other), key=lambda end: (position[end.host], label_order(end.receptacle))
        )
        gbps = self._spare.expected_gbps(a, b)
        return Cable(a, b, gbps=gbps, is_ceiling=gbps is not None)

    def _name(self, end: CableEnd) -> str:
        report: HostReport = self._spare.report(end.host)
        return name_end(report, end.receptacle)

    def _sentence_for_removal(self, cable: Cable) -> str:
        if not cable.via:
            return f"Take out the cable between {self._name(cable.a)} and {self._name(cable.b)}."
        bare, dock = (
            (cable.a, cable.via[0]) if self._is_sound(cable.a) else (cable.b, cable.via[-1])
        )
        return f"Take out the cable between {self._name(bare)} and {dock}."

    def _sentence_for_move(
        self, cable: Cable, kept: CableEnd, loose: CableEnd, plug: CableEnd
    ) -> str:
        dock = cable.via[0 if kept == cable.a else -1] if cable.via else ""
        return (
            f"Leave the cable in {self._name(kept)} where it is; "
            f"unplug its other end from {dock or self._name(loose)} "
            f"and plug that into {self._name(plug)}."
        )
