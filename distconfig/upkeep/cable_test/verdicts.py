"""What measurements say of each cable: good, slow, wrong way or dead, and the likely causes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median

from distconfig.doctor.cabling import expected_gbps
from distconfig.reports.report import HostReport
from distconfig.upkeep.cable_test.results import CableResult, DirectionResult

__all__ = ["Judgement", "Verdict", "judge_cables"]

_SLOW_BESIDE_OTHERS = 0.5
_SLOW_ALONE = 0.3


class Verdict(Enum):
    """What a cable is worth, best first."""

    GOOD = "good"
    SLOW = "slow"
    WRONG_WAY = "wrong way"
    DEAD = "dead"


@dataclass(frozen=True)
class Judgement:
    """The verdict on one cable.

    Args:
        causes: What is likely the reason, as clauses; empty for a good one.
        remarks: What else a person should know of it.
    """

    result: CableResult
    verdict: Verdict
    causes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def judge_cables(
    results: Sequence[CableResult], reports: Mapping[str, HostReport]
) -> tuple[Judgement, ...]:
    """A judgement on each cable, in the order given.

    A direction is slow if it carried less than half of the median of all cables
    that trained at the same speed, or, where no other one did, less than 30 % of
    the speed it trained at.
    """
    return tuple(_judge(each, results, reports) for each in results)


def _judge(
    result: CableResult, results: Sequence[CableResult], reports: Mapping[str, HostReport]
) -> Judgement:
    remarks = tuple(_remarks(result, reports))
    if astray := tuple(_wrong_ways(result)):
        return Judgement(result, Verdict.WRONG_WAY, astray, remarks)
    if silent := tuple(_silences(result)):
        return Judgement(result, Verdict.DEAD, silent, remarks)
    if slow := tuple(_slow_directions(result, results)):
        return Judgement(result, Verdict.SLOW, (*slow, *_slow_causes(result)), remarks)
    return Judgement(result, Verdict.GOOD, (), (*remarks, *result.faults))


def _wrong_ways(result: CableResult) -> Iterator[str]:
    """Directions whose packets leave or arrive by another interface than the cable's."""
    for each in result.directions:
        here, there = each.source.interface, each.target.interface
        way = each.tried.interface if each.tried else ""
        if way and here and way != here and each.source.address is not None:
            yield f"{each.source.host} routes {_address(each)} through {way}, not {here}"
            continue
        left, came = each.carried_by(), each.arrived_by()
        if left and left != here:
            yield f"{each.source.host} sent it through {left}, not {here}"
        elif came and came != there:
            yield f"{each.target.host} received it through {came}, not {there}"


def _address(direction: DirectionResult) -> str:
    address = direction.target.address
    return str(address.ip) if address else direction.target.host


def _silences(result: CableResult) -> Iterator[str]:
    """Why the cable is dead: ends that can not be talked to, or a direction without an answer."""
    if all(end.address is None for end in result.cable.ends):
        yield "no end has an address; --auto-setup gives it one"
        return
    if not result.cable.has_addresses:
        yield from result.faults
        return
    silent = [each for each in result.directions if each.load is None and not _is_reached(each)]
    if silent:
        yield from result.faults
    for each in silent:
        if each.tried is not None:
            yield f"{each.target.host} does not answer {each.source.host} at {_address(each)}"
        elif not result.faults:
            yield f"{each.source.host} could not try {_address(each)}"
    for each in result.directions:
        if each.broke_because and _is_reached(each):
            way = f"{each.source.host} to {each.target.host}"
            yield (
                f"{way}: {_address(each)} answers, a stream does not come through "
                f"({each.broke_because}); see firewalls with doctor, and the MTU at both ends"
            )
        if each.load is not None and each.load.nbytes == 0:
            yield f"nothing that {each.source.host} sent arrived at {each.target.host}"


def _is_reached(direction: DirectionResult) -> bool:
    return direction.tried is not None and direction.tried.is_reached


def _slow_directions(result: CableResult, results: Sequence[CableResult]) -> Iterator[str]:
    trained = result.cable.seen.gbps if result.cable.seen else None
    alike = [each for each in results if _trained(each) == trained and _has_load(each)]
    rates = [d.load.gbps for each in alike for d in each.directions if d.load]
    for each in result.directions:
        if each.load is None:
            continue
        shown = f"{each.source.host} to {each.target.host} carried {each.load.gbps:.2f} Gb/s"
        if len(alike) > 1:
            usual = median(rates)
            if each.load.gbps < _SLOW_BESIDE_OTHERS * usual:
                yield f"{shown}, cables like it {usual:.2f}"
        elif trained and each.load.gbps < _SLOW_ALONE * trained:
            yield f"{shown}, it trained at {trained} Gb/s"


def _trained(result: CableResult) -> int | None:
    return result.cable.seen.gbps if result.cable.seen else None


def _has_load(result: CableResult) -> bool:
    return any(each.load is not None for each in result.directions)


def _slow_causes(result: CableResult) -> Iterator[str]:
    rates = [each.load.gbps for each in result.directions if each.load]
    if len(rates) == 2 and max(rates) > 2 * min(rates):
        yield "one direction only: see MTU and offloading at its two ends"
    if result.cable.seen and result.cable.seen.via:
        yield "it passes a dock or display"
    else:
        yield "replug it, then try another cable, then another port"
    yield from result.faults


def _remarks(result: CableResult, reports: Mapping[str, HostReport]) -> Iterator[str]:
    seen = result.cable.seen
    if seen is not None:
        expected = expected_gbps(seen, reports)
        if expected and seen.gbps and not seen.is_ceiling and not seen.via and seen.gbps < expected:
            yield f"trained at {seen.gbps} Gb/s, both ports can do {expected}"
        if not seen.confirmed:
            yield "seen from one end only"
    states = [
        (end, state)
        for end in result.cable.ends
        if (report := reports.get(end.host)) and (state := report.interface(end.interface))
    ]
    if len({state.mtu for _, state in states}) > 1:
        yield "MTUs differ: " + ", ".join(f"{state.mtu} at {end}" for end, state in states)
    for each in result.directions:
        if each.no_load_because:
            yield f"{each.source.host} to {each.target.host} not measured: {each.no_load_because}"
        if each.load:
            yield from _load_remarks(each)


def _load_remarks(direction: DirectionResult) -> Iterator[str]:
    load = direction.load
    assert load is not None
    name = f"{direction.source.host} to {direction.target.host}"
    for sentence in load.breaks:
        yield f"{name}: {sentence}"
    if load.dips:
        shown = ", ".join(f"{second:.0f}" for second in load.dips[:5])
        more = f" and {len(load.dips) - 5} more" if len(load.dips) > 5 else ""
        yield f"{name}: less than half of the usual at second {shown}{more}"
