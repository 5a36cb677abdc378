"""One job from options to conclusion: plan, prepare, start, supervise."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from distconfig.errors import LaunchError, ProbeError
from distconfig.hosts import is_this_machine
from distconfig.launch.free_ports import find_free_ports
from distconfig.launch.local_agent import LocalAgent
from distconfig.launch.options import Options
from distconfig.launch.output import LineMerger, tag_of
from distconfig.launch.plan import LaunchPlan, find_backend, list_entries, plan_launch
from distconfig.launch.prepare import Post, prepare
from distconfig.launch.printer import LogFiles, share_surface
from distconfig.launch.start_order import assemble_order
from distconfig.launch.supervise import Conclusion, RunningHost, Supervisor
from distconfig.shell import Connection
from ring_runtime.hostfile import STARTING_PORT, Hostfile, load_hostfile

__all__ = ["run_job", "say"]


def say(text: str) -> None:
    """Tell the person at the terminal something, on standard error."""
    print(f"distributed_launch: {text}", file=sys.stderr, flush=True)


def run_job(options: Options, local_agent: LocalAgent | None = None) -> Conclusion:
    """Launch what was asked for, and stay with it to the end.

    Args:
        local_agent: An agent on this machine that was started ahead of time, for any part.

    Raises:
        LaunchError: Something is in the way; nothing was started.
        UsageError: The options do not fit together.
        HostfileError: The hostfile is not one.
    """
    plan = _plan(options)
    logs = _open_logs(options, len(plan.ranks))
    own_cwd = _find_own_cwd()
    posts = prepare(
        plan,
        own_cwd=own_cwd,
        connect=lambda hosts: _connect(hosts, options),
        is_checking=options.check,
        local_agent=local_agent,
    )
    secret = os.urandom(32).hex()
    hosts = [_assemble_host(plan, post, secret, options) for post in posts]
    is_shared = share_surface()
    supervisor = Supervisor(
        hosts,
        merger=LineMerger(
            range(len(plan.ranks)), share_surface=is_shared, tags=_plan_tags(options, plan)
        ),
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


def _open_logs(options: Options, world_size: int) -> LogFiles | None:
    if options.log_dir is None:
        return None
    try:
        return LogFiles(Path(options.log_dir), world_size)
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


def _assemble_host(plan: LaunchPlan, post: Post, secret: str, options: Options) -> RunningHost:
    assert post.answer is not None
    order = assemble_order(
        plan, post.part, post.answer, secret=secret, lost_after_s=options.lost_after_s
    )
    if options.verbose:
        for spec in order["ranks"]:
            words = shlex.join(spec["argv"])
            say(f"rank {spec['rank']} on {post.part.host} in {order['cwd']}: {words}")
    return RunningHost(post.part.host, post.link, order)


def _plan_tags(options: Options, plan: LaunchPlan) -> dict[int, dict[int, bytes]]:
    if not options.tag_output:
        return {1: {}, 2: {}}
    size = len(plan.ranks)
    return {
        fd: {
            rank: tag_of(rank, size, is_coloured=os.isatty(fd) and "NO_COLOR" not in os.environ)
            for rank in range(size)
        }
        for fd in (1, 2)
    }
