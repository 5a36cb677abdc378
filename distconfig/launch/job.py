"""One job from options to conclusion: plan, prepare, start, supervise."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from distconfig.errors import LaunchError, ProbeError
from distconfig.hosts.names import is_this_machine
from distconfig.launch.free_ports import find_free_ports
from distconfig.launch.options import Options
from distconfig.launch.output import LineMerger, tag_of
from distconfig.launch.plan import LaunchPlan, find_backend, list_entries, plan_launch
from distconfig.launch.prepare import Post, prepare
from distconfig.launch.printer import LogFiles, share_surface
from distconfig.launch.start_order import assemble_order
from distconfig.launch.supervise import Conclusion, RunningHost, Supervisor
from ring_runtime.hostfile import STARTING_PORT, Hostfile, load_hostfile

if TYPE_CHECKING:
    from distconfig.hosts.shell import Connection

__all__ = ["run_job", "say"]


def say(text: str) -> None:
    """Tell the person at the terminal something, on standard error."""
    print(f"distributed_launch: {text}", file=sys.stderr, flush=True)


def run_job(options: Options) -> Conclusion:
    """Launch what was asked for, and stay with it to the end.

    Raises:
        LaunchError: Something is in the way; nothing was started.
        UsageError: The options do not fit together.
        HostfileError: The hostfile is not one.
    """
    plan = _plan(options)
    names = _name_processes(plan)
    logs = _open_logs(options, names)
    posts = prepare(
        plan,
        own_cwd=_find_own_cwd(),
        connect=lambda hosts: _connect(hosts, options),
        is_checking=options.check,
    )
    is_mpi = plan.backend == "mpi"
    hosts = (
        _assemble_mpirun(plan, posts, options) if is_mpi else _assemble_hosts(plan, posts, options)
    )
    if options.verbose:
        _tell_commands(hosts, names)
    is_shared = share_surface()
    merger = LineMerger(
        range(len(names)),
        share_surface=is_shared,
        tags=_plan_tags(len(names)) if options.tag_output and not is_mpi else None,
    )
    supervisor = Supervisor(
        hosts,
        merger=merger,
        share_surface=is_shared,
        logs=logs,
        lost_after_s=options.lost_after_s,
    )
    conclusion = supervisor.run()
    if logs is not None and logs.problem:
        say(f"the files in {options.log_dir} are not complete: {logs.problem}")
    return conclusion


def _plan(options: Options) -> LaunchPlan:
    hostfile = None if options.hostfile is None else load_hostfile(options.hostfile)
    entries = list_entries(options, hostfile)
    starting_port = options.starting_port
    if starting_port is None:
        starting_port = _choose_starting_port(options, entries)
    return plan_launch(
        options, entries, starting_port=starting_port, terminal_size=_find_terminal_size()
    )


def _choose_starting_port(options: Options, entries: Hostfile) -> int:
    """Free ones for a job that stays on this machine, so that several can run side by side."""
    if find_backend(options, entries) == "ring":
        hosts = {entry.ssh for entry in entries.hosts}
        addresses = [ip for entry in entries.hosts for ip in entry.ips]
        if all(is_this_machine(host) for host in hosts) and len(entries.hosts) > 1:
            return find_free_ports(addresses, options.connections_per_ip)
    return STARTING_PORT


def _name_processes(plan: LaunchPlan) -> list[str]:
    """What agents will start, as it is called in messages and names of files."""
    if plan.backend == "mpi":
        return ["mpirun"]
    width = len(str(len(plan.ranks) - 1))
    return [f"rank-{rank.rank:0{width}}" for rank in plan.ranks]


def _open_logs(options: Options, names: list[str]) -> LogFiles | None:
    if options.log_dir is None:
        return None
    try:
        return LogFiles(Path(options.log_dir), names)
    except OSError as error:
        raise LaunchError(f"no logs can be written: {error}", hint="Check --log-dir.") from error


def _find_own_cwd() -> str:
    try:
        return str(Path.cwd())
    except OSError as error:
        raise LaunchError(f"the working folder is gone: {error}", hint="cd to another.") from error


def _find_terminal_size() -> tuple[int, int] | None:
    for fd in (1, 2, 0):
        try:
            size = os.get_terminal_size(fd)
        except OSError:
            continue
        if size.columns and size.lines:
            return size.columns, size.lines
    return None


def _connect(hosts: tuple[str, ...], options: Options) -> Mapping[str, Connection | ProbeError]:
    """ssh to every host at once; loaded here because a local job has no use for it."""
    from distconfig.ssh import connect_hosts

    return connect_hosts(
        hosts,
        accept_new_host_keys=options.accept_new_host_keys,
        on_note=say,
    )


def _assemble_hosts(plan: LaunchPlan, posts: Sequence[Post], options: Options) -> list[RunningHost]:
    secret = os.urandom(32).hex()
    hosts = []
    for post in posts:
        assert post.answer is not None
        order = assemble_order(
            plan, post.part, post.answer, secret=secret, lost_after_s=options.lost_after_s
        )
        hosts.append(RunningHost(post.part.host, post.link, order))
    return hosts


def _assemble_mpirun(
    plan: LaunchPlan, posts: Sequence[Post], options: Options
) -> list[RunningHost]:
    """mpirun on the first host; the other agents have done their work."""
    from distconfig.launch.mpi import assemble_mpirun_order  # other jobs have no use for it

    first, *others = posts
    for post in others:
        post.link.close()
    assert first.answer is not None
    if first.answer["mpirun"] is None:
        raise LaunchError(f"there is no mpirun on {first.part.host}")
    order = assemble_mpirun_order(
        plan,
        first.answer,
        options.mpi_args,
        is_tagged=options.tag_output,
        lost_after_s=options.lost_after_s,
    )
    return [RunningHost(first.part.host, first.link, order, is_mpirun=True)]


def _tell_commands(hosts: Sequence[RunningHost], names: Sequence[str]) -> None:
    for host in hosts:
        for spec in host.order["ranks"]:
            words = [word if isinstance(word, str) else word["file"] for word in spec["argv"]]
            name = names[spec["rank"]].replace("-", " ")
            say(f"{name} on {host.name} in {host.order['cwd']}: {shlex.join(words)}")


def _plan_tags(world_size: int) -> dict[int, dict[int, bytes]]:
    return {
        fd: {
            rank: tag_of(
                rank, world_size, is_coloured=os.isatty(fd) and "NO_COLOR" not in os.environ
            )
            for rank in range(world_size)
        }
        for fd in (1, 2)
    }
