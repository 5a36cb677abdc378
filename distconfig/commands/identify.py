"""``distributed_config identify``: a line each time a cable is pulled or plugged anywhere."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from distconfig.cabling.port_changes import find_port_changes
from distconfig.errors import ProbeError, UsageError
from distconfig.probes import PROBES
from distconfig.recordings.probe import record_hosts
from distconfig.screen import Screen
from distconfig.sources import HostSource, connect_source
from distconfig.survey import survey_recording

__all__ = ["IdentifyOptions", "identify_ports"]

_LOOK = tuple(
    probe
    for probe in PROBES
    if probe.name
    in ("uname", "system_profiler", "networksetup_ports", "ioreg_ports", "hw_model", "hardware")
)
_EVERY_S = 1.0
_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class IdentifyOptions:
    """The options of the command, as given.

    Args:
        seconds: End after so long; None for when it is interrupted.
    """

    source: HostSource
    seconds: float | None = None
    verbose: bool = False


def identify_ports(options: IdentifyOptions) -> int:
    """Print port changes on stdout until the time is up or Ctrl-C; returns the exit code.

    Raises:
        DistconfigError: A host could not be asked.
    """
    if options.source.recording is not None:
        raise UsageError("identify with --from: nothing changes in a recording", hint="Use --hosts")
    screen = Screen(options.verbose)
    connections = connect_source(options.source, screen.note)
    deadline = None if options.seconds is None else time.monotonic() + options.seconds
    try:
        for each in connections.values():
            if isinstance(each, ProbeError):
                raise each
        before = survey_recording(record_hosts(connections, probes=_LOOK, timeout_s=_TIMEOUT_S))
        screen.show_failures(before.failures, ignore_unreachable=False)
        screen.say("Pull or plug a cable; each change is a line. Ctrl-C ends this.")
        while deadline is None or time.monotonic() < deadline:
            began = time.monotonic()
            after = survey_recording(record_hosts(connections, probes=_LOOK, timeout_s=_TIMEOUT_S))
            for sentence in find_port_changes(before.topology, after.topology):
                print(sentence, flush=True)
            for host in after.failures.keys() - before.failures.keys():
                screen.show_error(after.failures[host])
            before = after
            time.sleep(max(0.0, _EVERY_S - (time.monotonic() - began)))
    except KeyboardInterrupt:
        sys.stdout.flush()
    finally:
        for each in connections.values():
            if not isinstance(each, ProbeError):
                each.close()
    return 0
