"""What ``distributed_config`` does without a subcommand, from the hosts' names to the hostfile."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path

from distconfig.cabling.topology import Topology
from distconfig.cluster_plan import ClusterPlan, PlanOptions, plan_cluster, suggest_rdma
from distconfig.errors import ApplyError, ProbeError, TopologyError, UsageError
from distconfig.hostfiles.ethernet import find_lan_addresses, find_subnet_warning
from distconfig.hostfiles.hostfile_plan import plan_lan_hostfile
from distconfig.recordings.recording import save_recording
from distconfig.rings.ring import RingPlan, find_ring
from distconfig.screen import Screen
from distconfig.setup.addressing import AddressPlan
from distconfig.setup.setup_script import render_setup
from distconfig.sources import Answers, HostSource, ask_hosts
from distconfig.survey import Survey, survey_recording, without_unreachable
from distconfig.views.tables import cable_table, host_table, ring_line
from ring_runtime.hostfile import Hostfile, render_hostfile, save_bytes

__all__ = ["ConfigureOptions", "configure_hosts"]

_OVER = ("thunderbolt", "ethernet")
_BACKENDS = (None, "ring", "jaccl", "jaccl-ring")


@dataclass(frozen=True)
class ConfigureOptions:
    """The options of the command, as given."""

    source: HostSource
    save: Path | None = None
    anonymise: bool = False
    over: str = "thunderbolt"
    backend: str | None = None
    envs: tuple[str, ...] = ()
    allow_subset: bool = False
    dot: bool = False
    png: Path | None = None
    svg: Path | None = None
    json: bool = False
    output: Path | None = None
    auto_setup: bool = False
    dry_run: bool = False
    pool: str | None = None
    mtu: int | None = None
    replace_addresses: bool = False
    ignore_unreachable: bool = False
    verbose: bool = False

    @property
    def describes_only(self) -> bool:
        """Only the cabling was asked for, nothing is planned or set up."""
        return bool(self.dot or self.png or self.svg or self.json)


def _check(options: ConfigureOptions) -> IPv4Network | None:
    """Refuse what can not be meant, before any host is asked; the pool as a network."""
    if options.over not in _OVER:
        raise UsageError(f"--over {options.over!r}", hint="Use thunderbolt or ethernet.")
    if options.backend not in _BACKENDS:
        raise UsageError(f"--backend {options.backend!r}", hint="Use ring, jaccl or jaccl-ring.")
    if options.anonymise and options.save is None:
        raise UsageError("--anonymise without --save", hint="Say where: --save FOLDER.")
    if options.auto_setup and options.source.recording is not None:
        raise UsageError(
            "--auto-setup with --from: a recording can not be configured",
            hint="Use --hosts alone, or --dry-run to see what would be run.",
        )
    if options.dot and options.json:
        raise UsageError("--dot and --json both print to stdout", hint="Use one at a time.")
    for setting in options.envs:
        name, equals, _ = setting.partition("=")
        if not (equals and name.isidentifier() and name.isascii() and "\0" not in setting):
            raise UsageError(f"--env {setting!r} is not K=V", hint="For example --env DEBUG=1.")
    if options.pool is None:
        return None
    try:
        return IPv4Network(options.pool)
    except ValueError as error:
        raise UsageError(f"--pool: {error}", hint="For example --pool 10.99.0.0/24.") from error


def configure_hosts(options: ConfigureOptions) -> int:
    """Do what the options say; returns the exit code.

    Raises:
        DistconfigError: Whatever kept it from being done.
    """
    pool = _check(options)
    screen = Screen(options.verbose)
    answers = ask_hosts(options.source, screen.note)
    try:
        return _configure(options, pool, answers, screen)
    finally:
        answers.close()


def _configure(
    options: ConfigureOptions, pool: IPv4Network | None, answers: Answers, screen: Screen
) -> int:
    recording = answers.recording
    if options.save is not None:
        if options.anonymise:
            from distconfig.recordings.anonymise import anonymise

            recording = anonymise(recording)
        save_recording(recording, options.save)
        screen.note(f"saved to {options.save}")
    survey = survey_recording(answers.recording)
    for host, report in survey.topology.reports.items():
        for line in report.notes:
            screen.note(f"{host}: not understood and not needed: {line}")
    code = screen.show_failures(survey.failures, options.ignore_unreachable)
    if options.describes_only:
        return _describe(options, survey, screen) or code
    if code or not survey.topology.reports:
        return code or ProbeError.exit_code
    survey = without_unreachable(survey)
    if len(survey.topology.hosts) < 2:
        raise UsageError("a ring needs two hosts or more", hint="Name more: --hosts h1,h2.")
    if options.over == "ethernet":
        return _configure_ethernet(options, survey, screen)
    return _configure_thunderbolt(options, pool, answers, survey, screen)


def _find_ring_or_reason(survey: Survey) -> tuple[RingPlan | None, str | None]:
    try:
        return find_ring(survey.topology), None
    except TopologyError as error:
        return None, str(error)


def _describe(options: ConfigureOptions, survey: Survey, screen: Screen) -> int:
    """The cabling as DOT, picture or JSON: a picture of no host is not drawn."""
    from distconfig.views.cabling_json import render_cabling
    from distconfig.views.dot import render_dot
    from distconfig.views.graphviz import draw

    if not survey.topology.reports:
        return ProbeError.exit_code
    ring, no_ring = _find_ring_or_reason(survey)
    _show_cabling(survey.topology, ring, None, screen)
    if no_ring:
        screen.say(no_ring)
    dot_text = render_dot(survey.topology, ring)
    for path, picture_format in ((options.png, "png"), (options.svg, "svg")):
        if path is not None:
            draw(dot_text, path, picture_format)
    if options.dot:
        sys.stdout.write(dot_text)
    if options.json:
        sys.stdout.write(render_cabling(survey.topology, ring, no_ring))
    return 0


def _show_cabling(
    topology: Topology, ring: RingPlan | None, addresses: AddressPlan | None, screen: Screen
) -> None:
    screen.show(host_table(topology, ring))
    screen.show(cable_table(topology, ring, addresses))
    for problem in topology.problems:
        screen.warn(problem)
    if ring is not None:
        proof = "" if ring.proved_best else ", not proved the best"
        screen.say(f"ring of {ring.size}, width {ring.width}{proof}: {ring_line(ring)}", "bold")


def _configure_ethernet(options: ConfigureOptions, survey: Survey, screen: Screen) -> int:
    addresses = find_lan_addresses(survey.topology.reports)
    warning = find_subnet_warning(addresses.items())
    if warning:
        screen.warn(warning)
    hostfile = plan_lan_hostfile(addresses, backend=options.backend or "", envs=options.envs)
    _deliver_hostfile(hostfile, options.output, screen)
    return 0


def _plan_options(options: ConfigureOptions, pool: IPv4Network | None) -> PlanOptions:
    return PlanOptions(
        options.backend,
        options.envs,
        pool,
        options.mtu,
        options.replace_addresses,
        options.allow_subset,
    )


def _configure_thunderbolt(
    options: ConfigureOptions,
    pool: IPv4Network | None,
    answers: Answers,
    survey: Survey,
    screen: Screen,
) -> int:
    try:
        plan = plan_cluster(survey, _plan_options(options, pool))
    except TopologyError:
        _show_cabling(survey.topology, None, None, screen)
        raise
    _show_cabling(plan.topology, plan.ring, plan.addresses, screen)
    if plan.left_out:
        screen.warn(f"left out, as no ring visits them too: {', '.join(plan.left_out)}")
    if options.backend is None and (suggestion := suggest_rdma(plan.topology)):
        screen.say(suggestion)
    code = 0
    if options.auto_setup and not options.dry_run:
        code = _set_up(plan, answers, screen)
    else:
        _warn_of(plan, screen)
        sys.stdout.write(_render_commands(plan, options))
        if options.dry_run:
            return 0
    _deliver_hostfile(plan.hostfile, options.output, screen)
    return code


def _render_commands(plan: ClusterPlan, options: ConfigureOptions) -> str:
    """What is to be run on the hosts, as the options want to see it."""
    if not options.dry_run:
        return render_setup(plan.scripts)
    from distconfig.setup.apply import DEAD_MAN_S
    from distconfig.setup.sudoers import render_sudoers

    dead_man_s = DEAD_MAN_S if options.auto_setup else None
    commands = render_setup(plan.scripts, with_undo=True, dead_man_s=dead_man_s)
    return f"{commands}\n{render_sudoers(plan.scripts)}" if options.verbose else commands


def _warn_of(plan: ClusterPlan, screen: Screen) -> None:
    screen.warn_hosts(
        (script.host, sentence)
        for script in plan.scripts.values()
        for sentence in (*script.warnings, *script.refused)
    )


def _set_up(plan: ClusterPlan, answers: Answers, screen: Screen) -> int:
    """Run the plan on the hosts; print the commands of those whose sudo does not allow it.

    Returns:
        The exit code: 0 only if nothing is left to the person.
    """
    from distconfig.setup.apply import apply_setup
    from distconfig.setup.journal import journal_folder
    from distconfig.upkeep.cable_record import record_path, record_setup

    journals = journal_folder(os.environ)
    outcome = apply_setup(
        answers.shells, plan.scripts, journals=journals, on_progress=screen.progress
    )
    record_setup(record_path(journals), plan.scripts, plan.topology)
    _warn_of(plan, screen)
    left = {host: plan.scripts[host] for host in outcome.pending}
    if left:
        for host, reason in outcome.pending.items():
            screen.warn(f"{host} was left to you: {reason}")
        screen.warn("run these commands there, then this command once more")
        sys.stdout.write(render_setup(left))
    screen.say(f"{len(outcome.verified)} cables verified both ways", "green")
    return ApplyError.exit_code if left else 0


def _deliver_hostfile(hostfile: Hostfile, output: Path | None, screen: Screen) -> None:
    """Write the hostfile to its file, or to stdout."""
    text = render_hostfile(hostfile)
    if output is None:
        sys.stdout.write(f"\n# hostfile.json\n{text}")
        return
    try:
        save_bytes(text.encode(), output)
    except OSError as error:
        raise UsageError(
            f"{output} can not be written: {error.strerror or error}",
            hint="Check the folder of -o; what was there before is unchanged.",
        ) from error
    screen.say(f"hostfile written to {output}")
