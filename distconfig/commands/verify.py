"""``distributed_config verify``: load every cable, both ways, and say what each is worth."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from distconfig.errors import CommandFailed, ProbeError, UnexpectedOutput, UsageError, VerifyError
from distconfig.hosts.fan_out import ask_all
from distconfig.hosts.shell import Connection
from distconfig.screen import Screen
from distconfig.setup.addressed import AddressedCable
from distconfig.setup.journal import journal_folder
from distconfig.sources import Answers, HostSource, ask_hosts
from distconfig.survey import Survey, survey_recording
from distconfig.upkeep.cable_load.loader import Loader, LoadFailed, start_loader
from distconfig.upkeep.cable_load.soak import soak_cables, watch_links
from distconfig.upkeep.cable_load.streams import Loaders, load_in_rounds
from distconfig.upkeep.cable_record import load_record, record_path
from distconfig.upkeep.cable_test.ends import find_faults_at_ends, find_tested_cables
from distconfig.upkeep.cable_test.report import judgement_table, notes_on_cables, render_judgements
from distconfig.upkeep.cable_test.results import CableResult, DirectionResult
from distconfig.upkeep.cable_test.verdicts import Judgement, Verdict, judge_cables
from distconfig.upkeep.intended import find_intended
from distconfig.upkeep.tries import Try, TryResult, parse_tries, render_tries
from distconfig.views.dot import render_dot
from distconfig.views.graphviz import draw
from ring_runtime.hostfile import load_hostfile

__all__ = ["VerifyOptions", "run_verify"]

_PINGS = 5
_TRY_S = 2
_TIMEOUT_S = 30.0

Directions = tuple[DirectionResult, DirectionResult]


@dataclass(frozen=True)
class VerifyOptions:
    """The options of the command, as given.

    Args:
        seconds: How long each direction of a cable is loaded.
        soak_minutes: Load all cables at once for so long instead; 0 for not.
    """

    source: HostSource
    seconds: float = 1.0
    soak_minutes: float = 0.0
    dot: bool = False
    png: Path | None = None
    svg: Path | None = None
    json: bool = False
    verbose: bool = False


def run_verify(options: VerifyOptions) -> int:
    """Test every cable of the hosts: 0 if all are good, 8 if one is not, 3 if no host answered.

    Raises:
        UsageError: No host is named, or there is no cable between the hosts to test.
    """
    if options.dot and options.json:
        raise UsageError("--dot and --json both print to stdout", hint="Use one at a time.")
    screen = Screen(options.verbose)
    answers = ask_hosts(options.source, screen.note)
    try:
        survey = survey_recording(answers.recording)
        screen.show_failures(survey.failures, ignore_unreachable=True)
        cables = _find_cables(options, survey)
        results, events = _test(cables, answers, survey, options, screen)
    finally:
        answers.close()
    judgements = judge_cables(results, survey.topology.reports)
    _deliver(judgements, events, survey, options)
    if not survey.topology.reports:
        return ProbeError.exit_code
    is_good = all(each.verdict is Verdict.GOOD for each in judgements)
    is_steady = not events and not any(_is_unsteady(each) for each in judgements)
    return 0 if is_good and is_steady else VerifyError.exit_code


def _is_unsteady(judgement: Judgement) -> bool:
    loads = (direction.load for direction in judgement.result.directions)
    return any(load is not None and (load.breaks or load.dips) for load in loads)


def _find_cables(options: VerifyOptions, survey: Survey) -> tuple[AddressedCable, ...]:
    recorded = load_record(record_path(journal_folder(os.environ)))
    path = options.source.hostfile
    hostfile = load_hostfile(path) if path is not None else None
    intended = find_intended(recorded, hostfile, survey.topology)
    cables = find_tested_cables(survey.topology, intended)
    if not cables and survey.topology.reports:
        raise UsageError(
            "no cable joins these hosts", hint="See the cabling with --dot, or run doctor."
        )
    return cables


def _test(
    cables: Sequence[AddressedCable],
    answers: Answers,
    survey: Survey,
    options: VerifyOptions,
    screen: Screen,
) -> tuple[tuple[CableResult, ...], tuple[str, ...]]:
    """Everything that is found on the cables, and what happened meanwhile during a soak."""
    hosts = tuple(dict.fromkeys(end.host for cable in cables for end in cable.ends))
    connections = {
        host: each
        for host in hosts
        if (each := answers.connections.get(host)) and not isinstance(each, ProbeError)
    }
    tried = _try_cables(cables, connections)
    testable = [cable for cable in cables if _is_worth_loading(tried[cable])]
    loaders = _start_loaders(connections, hosts)
    events: tuple[str, ...] = ()
    try:
        if options.soak_minutes:
            loads, events = _soak(testable, loaders, connections, options.soak_minutes * 60, screen)
        else:
            loads = load_in_rounds(testable, loaders, seconds=options.seconds)
    finally:
        for loader in loaders.values():
            if isinstance(loader, Loader):
                loader.close()
    results = (
        CableResult(
            cable,
            *_merge(tried[cable], loads.get(cable)),
            find_faults_at_ends(cable, survey.topology),
        )
        for cable in cables
    )
    return tuple(results), events


def _try_cables(
    cables: Sequence[AddressedCable], connections: Mapping[str, Connection]
) -> dict[AddressedCable, Directions]:
    """Route and ping in both directions of every cable, all at once."""
    directions = {
        cable: (DirectionResult(cable.a, cable.b), DirectionResult(cable.b, cable.a))
        for cable in cables
    }
    by_host: dict[str, list[DirectionResult]] = {}
    for pair in directions.values():
        for each in pair:
            if each.source.address and each.target.address and each.source.host in connections:
                by_host.setdefault(each.source.host, []).append(each)
    tasks = {
        host: partial(_try_from, connections[host], listed) for host, listed in by_host.items()
    }
    answered = ask_all(tasks, timeout_s=_TIMEOUT_S + 5, give_up=_give_up)
    found: dict[DirectionResult, TryResult] = {}
    for host, result in answered.items():
        if isinstance(result, tuple):
            found.update(zip(by_host[host], result, strict=True))
    return {
        cable: (replace(there, tried=found.get(there)), replace(back, tried=found.get(back)))
        for cable, (there, back) in directions.items()
    }


def _try_from(
    connection: Connection, directions: Sequence[DirectionResult]
) -> tuple[TryResult, ...]:
    tries = [
        Try(each.target.address.ip, each.source.address.ip)
        for each in directions
        if each.target.address and each.source.address
    ]
    script = render_tries(tries, count=_PINGS, seconds=_TRY_S)
    done = connection.run(script, timeout_s=_TIMEOUT_S)
    try:
        return parse_tries(done.stdout, len(tries), connection.host)
    except UnexpectedOutput as error:
        raise _give_up(connection.host) from error


def _give_up(host: str) -> ProbeError:
    return CommandFailed("its neighbours could not be tried", host=host, argv=("/bin/sh",))


def _is_worth_loading(directions: Directions) -> bool:
    """Somebody answers; otherwise each stream would only wait for its deadline."""
    return any(each.tried is not None and each.tried.is_reached for each in directions)


def _start_loaders(connections: Mapping[str, Connection], hosts: Sequence[str]) -> Loaders:
    def start(connection: Connection) -> Loader | str:
        try:
            return start_loader(connection)
        except LoadFailed as error:
            return str(error)

    tasks = {host: partial(start, each) for host, each in connections.items()}
    started = ask_all(tasks, timeout_s=_TIMEOUT_S, give_up=_give_up)
    loaders: dict[str, Loader | str] = dict.fromkeys(hosts, "it did not answer")
    for host, each in started.items():
        loaders[host] = each.what if isinstance(each, ProbeError) else each
    return loaders


def _soak(
    cables: Sequence[AddressedCable],
    loaders: Loaders,
    connections: Mapping[str, Connection],
    seconds: float,
    screen: Screen,
) -> tuple[dict[AddressedCable, Directions], tuple[str, ...]]:
    """Load all cables until the time is over or Ctrl-C; what happens is told as it does."""
    screen.say(f"loading {len(cables)} cables at once for {seconds:.0f} s; Ctrl-C ends it sooner")
    is_over = threading.Event()
    events: list[str] = []

    def tell(event: str) -> None:
        screen.say(event, "yellow")

    def note(event: str) -> None:
        events.append(event)
        tell(event)

    watcher = threading.Thread(
        target=watch_links, args=(connections, cables, note, is_over), daemon=True
    )
    watcher.start()
    try:
        with _first_interrupt_sets(is_over):
            loads = soak_cables(cables, loaders, seconds=seconds, tell=tell, until=is_over)
    finally:
        is_over.set()
        watcher.join(_TIMEOUT_S)
    return loads, tuple(events)


@contextmanager
def _first_interrupt_sets(event: threading.Event) -> Iterator[None]:
    """Meanwhile the first Ctrl-C only sets the event; the next one is as always."""

    def hear(_number: int, _frame: object) -> None:
        event.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _merge(tried: Directions, loaded: Directions | None) -> Directions:
    if loaded is None:
        return tried
    there, back = (
        replace(each, tried=before.tried) for before, each in zip(tried, loaded, strict=True)
    )
    return there, back


def _deliver(
    judgements: Sequence[Judgement],
    events: Sequence[str],
    survey: Survey,
    options: VerifyOptions,
) -> None:
    notes, marks = notes_on_cables(judgements)
    if options.dot or options.png or options.svg:
        picture = render_dot(survey.topology, notes=notes, marks=marks)
        for path, kind in ((options.png, "png"), (options.svg, "svg")):
            if path is not None:
                draw(picture, path, kind)
        if options.dot:
            sys.stdout.write(picture)
    if options.json:
        sys.stdout.write(render_judgements(judgements, survey.topology.reports, events))
    paper = Screen(is_product=not (options.dot or options.json))
    paper.show(judgement_table(judgements))
    for each in judgements:
        for cause in each.causes:
            paper.say(f"{each.result.cable}: {each.verdict.value}: {cause}.", "yellow")
        for remark in each.remarks:
            paper.say(f"{each.result.cable}: {remark}.")
    for event in events:
        paper.say(event, "yellow")
