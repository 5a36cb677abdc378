"""Asking every host everything, in one round: connections to a `Recording`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from functools import partial

from distconfig.errors import CommandFailed, ProbeError, Unreachable
from distconfig.hosts.deadline import Deadline
from distconfig.hosts.fan_out import ask_all
from distconfig.hosts.marked_script import after_marker, wrap_script
from distconfig.hosts.run_script import converse, new_nonce, no_shell
from distconfig.hosts.shell import Completed, Connection
from distconfig.probes import PROBES, Probe, is_wanted
from distconfig.recordings.operator_network import read_operator_network
from distconfig.recordings.probe_script import platform_of, render_probe_script, split_answers
from distconfig.recordings.recording import HostRecording, OperatorNetwork, Recording

__all__ = ["record_hosts"]

_GRACE_S = 10.0


def record_hosts(
    connections: Mapping[str, Connection | ProbeError],
    *,
    operator: OperatorNetwork | None = None,
    timeout_s: float = 60.0,
    probes: Sequence[Probe] = PROBES,
) -> Recording:
    """What every host printed, all asked at once, each over one channel per round.

    A host that does not finish in time is given up; the answers of the others
    are kept, and those it gave before are kept beside its error.

    Args:
        connections: Hosts in order; those with an error are recorded with it.
        operator: Network of this machine; None to read it now.
        timeout_s: For each host.
    """
    tasks = {
        host: partial(_ask, host, connection, tuple(probes), timeout_s)
        for host, connection in connections.items()
        if not isinstance(connection, ProbeError)
    }
    answers = ask_all(
        tasks,
        timeout_s=timeout_s + _GRACE_S,
        give_up=lambda host: Unreachable(
            f"it did not answer within {timeout_s:g} s", host=host, hint=f"Try: ssh {host} true"
        ),
    )
    recorded = []
    for host, connection in connections.items():
        answer = connection if isinstance(connection, ProbeError) else answers[host]
        recorded.append(
            HostRecording(host, {}, answer) if isinstance(answer, ProbeError) else answer
        )
    return Recording(
        datetime.now(timezone.utc).replace(microsecond=0),
        read_operator_network() if operator is None else operator,
        tuple(recorded),
    )


def _ask(
    host: str, connection: Connection, probes: tuple[Probe, ...], timeout_s: float
) -> HostRecording:
    """Both rounds of one host; the second only for probes that stand in for one that failed."""
    deadline = Deadline(timeout_s)
    first = tuple(probe for probe in probes if not probe.instead_of)
    answers: dict[str, Completed] = {}
    error = _ask_round(host, connection, first, deadline, answers)
    platform = platform_of(answers.get(first[0].name))
    wanted = tuple(
        probe
        for probe in probes
        if probe.instead_of and platform in probe.platforms and is_wanted(probe, answers)
    )
    if error is None and wanted:
        error = _ask_round(host, connection, (first[0], *wanted), deadline, answers)
    in_order = {probe.name: answers[probe.name] for probe in probes if probe.name in answers}
    return HostRecording(host, in_order, error)


def _ask_round(
    host: str,
    connection: Connection,
    probes: tuple[Probe, ...],
    deadline: Deadline,
    answers: dict[str, Completed],
) -> ProbeError | None:
    """Add what one round answers; the reason if it did not come to its end."""
    greeting, nonce = new_nonce(), new_nonce()
    script = wrap_script(render_probe_script(probes, nonce), greeting)
    try:
        channel = connection.open_shell()
    except ProbeError as error:
        return error
    heard = converse(channel, script, deadline)
    found = split_answers(probes, nonce, heard.stdout, heard.stderr, heard.seconds_at)
    answers.update(found.completed)
    if heard.gave_up:
        return CommandFailed(
            f"it {heard.gave_up}",
            host=host,
            argv=found.unfinished.argv if found.unfinished else ("/bin/sh",),
            hint="Run that command there by hand and see why it hangs.",
        )
    if after_marker(heard.stdout, greeting) is None:
        return no_shell(host, heard.returncode, heard.stderr or heard.stdout)
    if heard.returncode is None:
        return Unreachable(
            "the connection ended in the middle of the answers",
            host=host,
            hint="See whether the host restarted, or its network changed.",
        )
    return None
