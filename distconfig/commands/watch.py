"""``distributed_config watch``: status again and again, with what goes over each cable."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime

from rich.console import Console
from rich.live import Live

from distconfig.cabling.topology import Topology
from distconfig.commands.status import find_what_was_set_up
from distconfig.errors import ProbeError, VerifyError
from distconfig.hosts.shell import Connection
from distconfig.probes import PROBES, Probe
from distconfig.recordings.probe import record_hosts
from distconfig.recordings.recording import HostRecording, Recording
from distconfig.screen import Screen
from distconfig.sources import HostSource, ask_hosts
from distconfig.ssh import connect_hosts
from distconfig.survey import survey_recording
from distconfig.upkeep.intended import IntendedCable
from distconfig.upkeep.status import Drift, find_drifts
from distconfig.upkeep.watch import (
    CableRate,
    Counts,
    find_rates,
    read_counts,
    render_moment,
    watch_table,
)

__all__ = ["WatchOptions", "run_watch"]

_LOOK = tuple(probe for probe in PROBES if probe.name in ("uname", "ifconfig", "netstat"))
_COUNTERS = Probe("interface_counters", ("/usr/sbin/netstat", "-ibn"))
_WHOLE_EVERY_S = 30.0
_TIMEOUT_S = 10.0

OnMoment = Callable[[Sequence[CableRate], Sequence[Drift], datetime], None]


@dataclass(frozen=True)
class WatchOptions:
    """The options of the command, as given.

    Args:
        every_s: Seconds from one look to the next.
        count: Looks after which to end; 0 for never.
    """

    source: HostSource
    every_s: float = 2.0
    count: int = 0
    json: bool = False
    verbose: bool = False


def run_watch(options: WatchOptions) -> int:
    """Show drift and rates until interrupted: 8 if there was drift at the last look, else 0.

    Raises:
        UsageError: Nothing is known to have been set up.
    """
    screen = Screen(options.verbose)
    answers = ask_hosts(options.source, screen.note)
    survey = survey_recording(answers.recording)
    intended = find_what_was_set_up(options.source, survey)
    watcher = _Watcher(dict(answers.connections), answers.recording, intended, screen)
    drifts: Sequence[Drift] = ()
    try:
        with ExitStack() as stack:
            show = _choose_display(options, stack)
            looks = 0
            while not options.count or looks < options.count:
                watcher.wait(options.every_s)
                drifts = watcher.look(show)
                looks += 1
    except KeyboardInterrupt:
        pass
    finally:
        watcher.close()
    return VerifyError.exit_code if drifts else 0


def _choose_display(options: WatchOptions, stack: ExitStack) -> OnMoment:
    """JSON lines, a screen that is drawn anew, or plain lines where there is no terminal."""
    if options.json:
        return lambda *moment: print(render_moment(*moment), end="", flush=True)
    console = Console(highlight=False)
    if console.is_terminal:
        live = stack.enter_context(Live(console=console, auto_refresh=False))
        return lambda *moment: live.update(watch_table(*moment), refresh=True)
    return _PlainLines()


class _PlainLines:
    """A line for each cable at each look, and one for each drift that is new or gone."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._paper = Screen(is_product=True)

    def __call__(self, rates: Sequence[CableRate], drifts: Sequence[Drift], at: datetime) -> None:
        texts = {drift.text: None for drift in drifts}
        time_of_day = f"{at:%H:%M:%S}"
        for text in texts:
            if text not in self._known:
                self._paper.say(f"{time_of_day} {text}", "yellow")
        for text in sorted(self._known - set(texts)):
            self._paper.say(f"{time_of_day} no more: {text}", "green")
        self._known = set(texts)
        for rate in rates:
            shown = [f"{gbps:.3f}" if gbps is not None else "-" for gbps in (rate.there, rate.back)]
            self._paper.say(f"{time_of_day} {rate.cable}: {' / '.join(shown)} Gb/s")
        sys.stdout.flush()


class _Watcher:
    """The hosts under watch, and what they said last."""

    def __init__(
        self,
        connections: dict[str, Connection | ProbeError],
        recording: Recording,
        intended: tuple[IntendedCable, ...],
        screen: Screen,
    ) -> None:
        self._connections = connections
        self._recording = recording
        self._intended = intended
        self._screen = screen
        self._counts: Counts = {}
        self._counted_at = self._whole_at = self._looked_at = time.monotonic()

    def wait(self, every_s: float) -> None:
        """Until it is time for the next look."""
        time.sleep(max(0.0, self._looked_at + every_s - time.monotonic()))
        self._looked_at = time.monotonic()

    def look(self, show: OnMoment) -> tuple[Drift, ...]:
        """Ask the hosts once and show what they say; the drift."""
        self._recording = self._ask()
        topology = survey_recording(self._recording).topology
        drifts = find_drifts(self._intended, topology)
        show(self._rates(topology), drifts, datetime.now())
        return drifts

    def _ask(self) -> Recording:
        """Everything now and then, and when a host was lost; otherwise what changes quickly."""
        is_whole = time.monotonic() - self._whole_at >= _WHOLE_EVERY_S
        if is_whole:
            self._whole_at = time.monotonic()
            self._reconnect()
        probes = (*(PROBES if is_whole else _LOOK), _COUNTERS)
        said = record_hosts(
            self._connections,
            operator=self._recording.operator,
            probes=probes,
            timeout_s=_TIMEOUT_S * (6 if is_whole else 1),
        )
        known = {each.host: each for each in self._recording.hosts}
        merged = []
        for each in said.hosts:
            if each.error is not None:
                merged.append(HostRecording(each.host, known[each.host].probes, each.error))
            else:
                probes_now = {**known[each.host].probes, **each.probes}
                merged.append(replace(each, probes=probes_now))
        return replace(said, hosts=tuple(merged))

    def _reconnect(self) -> None:
        failed = {each.host for each in self._recording.hosts if each.error is not None}
        for host in failed:
            connection = self._connections[host]
            if not isinstance(connection, ProbeError):
                connection.close()
        if failed:
            self._connections |= connect_hosts(sorted(failed), on_note=self._screen.note)

    def _rates(self, topology: Topology) -> tuple[CableRate, ...]:
        now, at = read_counts(self._recording), time.monotonic()
        seconds = at - self._counted_at
        rates = find_rates(self._intended, topology, self._counts, now, seconds)
        self._counts, self._counted_at = now, at
        return rates

    def close(self) -> None:
        """Close every connection."""
        for connection in self._connections.values():
            if not isinstance(connection, ProbeError):
                connection.close()
