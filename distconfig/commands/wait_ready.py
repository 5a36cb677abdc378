"""``distributed_config wait-ready``: return once every cable of a hostfile answers."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path

from distconfig.errors import CommandFailed, ProbeError, UnexpectedOutput, UsageError, VerifyError
from distconfig.hosts.deadline import Deadline
from distconfig.hosts.fan_out import ask_all
from distconfig.hosts.shell import Connection
from distconfig.screen import Screen
from distconfig.ssh import connect_hosts
from distconfig.upkeep.tries import Try, TryResult, parse_tries, render_tries
from ring_runtime.hostfile import Hostfile, load_hostfile

__all__ = ["Hop", "WaitReadyOptions", "find_hops", "run_wait_ready"]

_PAUSE_S = 0.5
_TRY_TIMEOUT_S = 15.0
_CONNECT_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class WaitReadyOptions:
    """The options of the command, as given."""

    hostfile: Path
    timeout_s: float = 120.0
    accept_new_host_keys: bool = False
    json: bool = False
    verbose: bool = False


@dataclass(frozen=True)
class Hop:
    """From the host of a rank to an address of the rank on its right."""

    host: str
    to_host: str
    address: IPv4Address

    def __str__(self) -> str:
        return f"{self.host} -> {self.to_host} at {self.address}"


def find_hops(hostfile: Hostfile) -> tuple[Hop, ...]:
    """Every connection that a ring on this hostfile would make, in rank order.

    Raises:
        UsageError: A rank lists no IPv4 address.
    """
    hops = []
    for rank, entry in enumerate(hostfile.hosts):
        left = hostfile.hosts[rank - 1].ssh
        for text in entry.ips:
            try:
                hops.append(Hop(left, entry.ssh, IPv4Address(text)))
            except ValueError as error:
                raise UsageError(f"{entry.ssh} lists {text!r}, not an IPv4 address") from error
        if not entry.ips:
            raise UsageError(
                f"{entry.ssh} lists no address", hint="Let distributed_config write the hostfile."
            )
    return tuple(hops)


def run_wait_ready(options: WaitReadyOptions) -> int:
    """Wait until every hop answers: 0 if all do in time, else 8 with those that do not.

    Raises:
        HostfileError: The hostfile is not one.
        UsageError: It lists no addresses.
    """
    screen = Screen(options.verbose)
    hops = find_hops(load_hostfile(options.hostfile))
    hosts = tuple(dict.fromkeys(hop.host for hop in hops))
    deadline = Deadline(options.timeout_s)
    connections: dict[str, Connection | ProbeError] = {}
    reasons: dict[Hop, str] = dict.fromkeys(hops, "not tried")
    try:
        while True:
            _connect(connections, hosts, options, deadline, screen)
            reasons = _try_hops(connections, hops)
            if not reasons or deadline.has_passed:
                break
            for hop, reason in reasons.items():
                screen.note(f"{hop}: {reason}")
            time.sleep(min(_PAUSE_S, deadline.left()))
    finally:
        _close(connections)
    _show(hops, reasons, options, screen)
    return VerifyError.exit_code if reasons else 0


def _connect(
    connections: dict[str, Connection | ProbeError],
    hosts: Sequence[str],
    options: WaitReadyOptions,
    deadline: Deadline,
    screen: Screen,
) -> None:
    """Connect to the hosts that are not, or that lost their connection."""
    lost = [host for host in hosts if not _is_connected(connections.get(host))]
    if lost:
        connections.update(
            connect_hosts(
                lost,
                accept_new_host_keys=options.accept_new_host_keys,
                timeout_s=min(_CONNECT_TIMEOUT_S, max(1.0, deadline.left())),
                on_note=screen.note,
            )
        )


def _is_connected(connection: Connection | ProbeError | None) -> bool:
    return connection is not None and not isinstance(connection, ProbeError)


def _try_hops(
    connections: dict[str, Connection | ProbeError], hops: Sequence[Hop]
) -> dict[Hop, str]:
    """The hops that do not answer now, each with the reason."""
    by_host: dict[str, list[Hop]] = {}
    for hop in hops:
        by_host.setdefault(hop.host, []).append(hop)
    tasks = {
        host: partial(_try_from, connection, [Try(hop.address) for hop in by_host[host]])
        for host, connection in connections.items()
        if not isinstance(connection, ProbeError)
    }
    results: Mapping[str, tuple[TryResult, ...] | ProbeError] = ask_all(
        tasks, timeout_s=_TRY_TIMEOUT_S + 5, give_up=lambda host: _silent(host)
    )
    reasons: dict[Hop, str] = {}
    for host, listed in by_host.items():
        result = results.get(host, connections[host])
        if isinstance(result, ProbeError):
            reasons.update(dict.fromkeys(listed, result.what))
            connections[host] = result
        elif isinstance(result, tuple):
            for hop, each in zip(listed, result, strict=True):
                if not each.is_reached:
                    reasons[hop] = "no answer"
    return reasons


def _silent(host: str) -> ProbeError:
    return CommandFailed("no answer in time", host=host, argv=("/bin/sh",))


def _try_from(connection: Connection, tries: Sequence[Try]) -> tuple[TryResult, ...]:
    try:
        done = connection.run(render_tries(tries), timeout_s=_TRY_TIMEOUT_S)
        return parse_tries(done.stdout, len(tries), connection.host)
    except UnexpectedOutput as error:
        raise _silent(connection.host) from error
    except ProbeError:
        connection.close()
        raise


def _close(connections: Mapping[str, Connection | ProbeError]) -> None:
    for connection in connections.values():
        if not isinstance(connection, ProbeError):
            connection.close()


def _show(
    hops: Sequence[Hop], reasons: Mapping[Hop, str], options: WaitReadyOptions, screen: Screen
) -> None:
    if options.json:
        waiting = [
            {"from": hop.host, "to": hop.to_host, "address": str(hop.address), "reason": reason}
            for hop, reason in reasons.items()
        ]
        document = {"format": 1, "ready": not reasons, "waiting": waiting}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return
    for hop, reason in reasons.items():
        screen.say(f"{hop}: {reason}", "red")
    if not reasons:
        screen.say(f"{len(hops)} hops answer", "green")
