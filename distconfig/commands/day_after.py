"""The subcommands for the day after a setup: their options, and nothing else.

Whatever they need is imported once one of them runs, so that ``--help`` stays quick.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from distconfig.commands.options import (
    AcceptNew,
    Dot,
    From,
    HostfileIn,
    Hosts,
    IgnoreUnreachable,
    Json,
    Png,
    Svg,
    Verbose,
)

if TYPE_CHECKING:
    from distconfig.sources import HostSource

__all__ = ["register"]

_Print = Annotated[bool, typer.Option("--print", help="Print the commands; they are not run.")]


def register(app: typer.Typer) -> None:
    """Add the subcommands to the command line."""
    for name, command in (
        ("verify", _verify),
        ("doctor", _doctor),
        ("status", _status),
        ("reapply", _reapply),
        ("watch", _watch),
        ("wait-ready", _wait_ready),
        ("persist", _persist),
        ("unpersist", _unpersist),
    ):
        app.command(name)(command)


def _source(
    hosts: str | None, hostfile: Path | None, recording: Path | None, accept_new: bool
) -> HostSource:
    from distconfig.sources import HostSource

    return HostSource(hosts, hostfile, recording, accept_new)


def _verify(
    hosts: Hosts = None,
    hostfile: HostfileIn = None,
    seconds: Annotated[
        float,
        typer.Option(help="Load each direction of a cable for so long.", metavar="S", min=0.1),
    ] = 1.0,
    soak: Annotated[
        float,
        typer.Option(
            help="Load all cables at once for so long, or until Ctrl-C.", metavar="MINUTES", min=0
        ),
    ] = 0.0,
    dot: Dot = False,
    png: Png = None,
    svg: Svg = None,
    json: Json = False,
    accept_new_host_keys: AcceptNew = False,
    verbose: Verbose = False,
) -> None:
    """Load every cable both ways and say what each is worth.

    Good, slow (under half of what like cables carry), wrong way (packets take
    another interface) or dead, with the likely causes. Exit codes: 0 all good,
    8 one is not, 3 no host answered, 2 usage.
    """
    from distconfig.commands.verify import VerifyOptions, run_verify

    source = _source(hosts, hostfile, None, accept_new_host_keys)
    options = VerifyOptions(source, seconds, soak, dot, png, svg, json, verbose)
    raise typer.Exit(run_verify(options))


def _doctor(
    hosts: Hosts = None,
    hostfile: HostfileIn = None,
    from_: From = None,
    save: Annotated[
        Path | None, typer.Option(help="Keep what the hosts said in this folder.", metavar="DIR")
    ] = None,
    anonymise: Annotated[
        bool, typer.Option("--anonymise", help="Replace names and addresses in what --save keeps.")
    ] = False,
    json: Json = False,
    accept_new_host_keys: AcceptNew = False,
    verbose: Verbose = False,
) -> None:
    """Name what is wrong, why, and what to do; change nothing.

    docs/doctor.md explains each finding. Exit codes: 0 nothing but notes, 8 a
    problem or a warning, 2 usage.
    """
    from distconfig.commands.doctor import DoctorOptions, run_doctor

    source = _source(hosts, hostfile, from_, accept_new_host_keys)
    raise typer.Exit(run_doctor(DoctorOptions(source, save, anonymise, json, verbose)))


def _status(
    hosts: Hosts = None,
    hostfile: HostfileIn = None,
    from_: From = None,
    json: Json = False,
    accept_new_host_keys: AcceptNew = False,
    verbose: Verbose = False,
) -> None:
    """Say in what these hosts are no longer what was set up.

    What was set up is known from the setups run here, and from --hostfile.
    Exit codes: 0 no drift, 8 drift, 3 no host answered, 2 usage.
    """
    from distconfig.commands.status import StatusOptions, run_status

    source = _source(hosts, hostfile, from_, accept_new_host_keys)
    raise typer.Exit(run_status(StatusOptions(source, json, verbose)))


def _reapply(
    hosts: Hosts = None,
    hostfile: HostfileIn = None,
    from_: From = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show each command with its undo; change nothing.")
    ] = False,
    json: Json = False,
    accept_new_host_keys: AcceptNew = False,
    verbose: Verbose = False,
) -> None:
    """Bring back what was set up, where it drifted and only there.

    Exit codes: 0 all of it holds, 7 a command failed or is left to you, 8 a
    cable does not carry or is gone, 2 usage.
    """
    from distconfig.commands.status import ReapplyOptions, run_reapply

    source = _source(hosts, hostfile, from_, accept_new_host_keys)
    raise typer.Exit(run_reapply(ReapplyOptions(source, dry_run, json, verbose)))


def _watch(
    hosts: Hosts = None,
    hostfile: HostfileIn = None,
    every: Annotated[
        float, typer.Option(help="Seconds from one look to the next.", metavar="S", min=0.1)
    ] = 2.0,
    count: Annotated[
        int, typer.Option(help="End after so many looks; 0 for never.", metavar="N", min=0)
    ] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print a line of JSON each time.")] = False,
    accept_new_host_keys: AcceptNew = False,
    verbose: Verbose = False,
) -> None:
    """Show drift and what goes over each cable, again and again.

    A screen on a terminal, else lines. Exit codes: 0 no drift at the last look,
    8 drift, 2 usage.
    """
    from distconfig.commands.watch import WatchOptions, run_watch

    source = _source(hosts, hostfile, None, accept_new_host_keys)
    raise typer.Exit(run_watch(WatchOptions(source, every, count, json, verbose)))


def _wait_ready(
    hostfile: Annotated[Path, typer.Option(help="Wait for this ring.", metavar="FILE")],
    timeout: Annotated[
        float, typer.Option(help="Give up after so many seconds.", metavar="S", min=0)
    ] = 120.0,
    json: Json = False,
    accept_new_host_keys: AcceptNew = False,
    verbose: Verbose = False,
) -> None:
    """Wait until every cable of a hostfile answers.

    For instance after a restart. Exit codes: 0 every one answers, 8 not in
    time, 2 usage.
    """
    from distconfig.commands.wait_ready import WaitReadyOptions, run_wait_ready

    options = WaitReadyOptions(hostfile, timeout, accept_new_host_keys, json, verbose)
    raise typer.Exit(run_wait_ready(options))


def _persist(
    hosts: Hosts = None,
    hostfile: HostfileIn = None,
    from_: From = None,
    print_: _Print = False,
    json: Json = False,
    ignore_unreachable: IgnoreUnreachable = False,
    accept_new_host_keys: AcceptNew = False,
    verbose: Verbose = False,
) -> None:
    """Print the commands that make a setup last over restarts.

    One network service per port with a manual address: not yet proved on
    hardware. reapply and wait-ready are the supported way. Exit codes: 0 printed,
    3 a host not reached, 2 usage.
    """
    from distconfig.commands.persist import PersistOptions, run_persist

    source = _source(hosts, hostfile, from_, accept_new_host_keys)
    options = PersistOptions(source, False, print_, json, ignore_unreachable, verbose)
    raise typer.Exit(run_persist(options))


def _unpersist(
    hosts: Hosts = None,
    hostfile: HostfileIn = None,
    from_: From = None,
    print_: _Print = False,
    json: Json = False,
    ignore_unreachable: IgnoreUnreachable = False,
    accept_new_host_keys: AcceptNew = False,
    verbose: Verbose = False,
) -> None:
    """Print the commands that take back what persist printed.

    Exit codes: 0 printed, 3 a host not reached, 2 usage.
    """
    from distconfig.commands.persist import PersistOptions, run_persist

    source = _source(hosts, hostfile, from_, accept_new_host_keys)
    options = PersistOptions(source, True, print_, json, ignore_unreachable, verbose)
    raise typer.Exit(run_persist(options))
