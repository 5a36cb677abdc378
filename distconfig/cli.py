"""``distributed_config``: the table of its options and subcommands, and nothing else."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from distconfig.commands.day_after import register
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
from distconfig.errors import DistconfigError
from distconfig.printable import escape_controls
from ring_runtime.errors import HostfileError

__all__ = ["app", "main"]

app = typer.Typer(
    name="distributed_config",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def configure(
    context: typer.Context,
    hosts: Hosts = None,
    hostfile: HostfileIn = None,
    from_: From = None,
    save: Annotated[
        Path | None, typer.Option(help="Keep what the hosts said in this folder.", metavar="DIR")
    ] = None,
    anonymise: Annotated[
        bool, typer.Option("--anonymise", help="Replace names and addresses in what --save keeps.")
    ] = False,
    over: Annotated[str, typer.Option(help="thunderbolt or ethernet.")] = "thunderbolt",
    backend: Annotated[
        str | None, typer.Option(help="ring (the default), jaccl or jaccl-ring.")
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(help="Environment of the job, kept in the hostfile.", metavar="K=V"),
    ] = None,
    allow_subset: Annotated[
        bool, typer.Option("--allow-subset", help="Without a ring of all, take the largest.")
    ] = False,
    dot: Dot = False,
    png: Png = None,
    svg: Svg = None,
    json: Json = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output-hostfile", "--output", "-o", help="Write the hostfile here.", metavar="FILE"
        ),
    ] = None,
    auto_setup: Annotated[
        bool,
        typer.Option("--auto-setup/--no-auto-setup", help="Run the commands on the hosts."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show each command with its undo; change nothing.")
    ] = False,
    pool: Annotated[
        str | None, typer.Option(help="Take addresses from this block.", metavar="CIDR")
    ] = None,
    mtu: Annotated[
        int | None, typer.Option(help="MTU for both ends of every cable.", metavar="N")
    ] = None,
    replace_addresses: Annotated[
        bool, typer.Option("--replace-addresses", help="Replace foreign addresses on the ports.")
    ] = False,
    ignore_unreachable: IgnoreUnreachable = False,
    accept_new_host_keys: AcceptNew = False,
    verbose: Verbose = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Find the ring in the cabling of these hosts and configure it.

    Prints the sudo commands for each host and the hostfile; --auto-setup runs
    them. Exit codes: 0 done, 1 a bug, 2 usage, 3 a host not reached, 4 a host
    not understood, 5 no ring, 6 no addresses, 7 setup failed, 8 verification
    failed.
    """
    if context.invoked_subcommand is not None:
        return
    if version:
        from distconfig import __version__

        typer.echo(f"distributed_config {__version__}")
        return
    from distconfig.commands.configure import ConfigureOptions, configure_hosts
    from distconfig.sources import HostSource

    options = ConfigureOptions(
        source=HostSource(hosts, hostfile, from_, accept_new_host_keys),
        save=save,
        anonymise=anonymise,
        over=over,
        backend=backend,
        envs=tuple(env or ()),
        allow_subset=allow_subset,
        dot=dot,
        png=png,
        svg=svg,
        json=json,
        output=output,
        auto_setup=auto_setup,
        dry_run=dry_run,
        pool=pool,
        mtu=mtu,
        replace_addresses=replace_addresses,
        ignore_unreachable=ignore_unreachable,
        verbose=verbose,
    )
    raise typer.Exit(configure_hosts(options))


@app.command()
def teardown(
    hosts: Hosts = None,
    hostfile: HostfileIn = None,
    from_: From = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be run; change nothing.")
    ] = False,
    ignore_unreachable: Annotated[
        bool, typer.Option("--ignore-unreachable", help="Hosts that do not answer are no failure.")
    ] = False,
    accept_new_host_keys: AcceptNew = False,
    verbose: Verbose = False,
) -> None:
    """Undo what --auto-setup did, as far as nobody changed it since.

    Reports what was changed and is therefore left alone.
    """
    from distconfig.commands.teardown import TeardownOptions, teardown_hosts
    from distconfig.sources import HostSource

    source = HostSource(hosts, hostfile, from_, accept_new_host_keys)
    raise typer.Exit(teardown_hosts(TeardownOptions(source, dry_run, ignore_unreachable, verbose)))


register(app)


@app.command()
def advise(
    hosts: Hosts = None,
    hostfile: HostfileIn = None,
    from_: From = None,
    cable: Annotated[
        str | None,
        typer.Option(
            help="Propose cables from free ports: ring, double-ring or mesh.", metavar="SHAPE"
        ),
    ] = None,
    dot: Dot = False,
    png: Png = None,
    svg: Svg = None,
    json: Json = False,
    ignore_unreachable: IgnoreUnreachable = False,
    accept_new_host_keys: AcceptNew = False,
    verbose: Verbose = False,
) -> None:
    """Say which cables to move, add or take out for a better ring.

    Or for a ring at all where there is none. With --cable, say which cables to
    lay before any is in. Exit code 5 if the
    ports do not allow it.
    """
    from distconfig.commands.advise import AdviseOptions, advise_hosts
    from distconfig.sources import HostSource

    source = HostSource(hosts, hostfile, from_, accept_new_host_keys)
    options = AdviseOptions(source, cable, dot, png, svg, json, ignore_unreachable, verbose)
    raise typer.Exit(advise_hosts(options))


@app.command()
def identify(
    hosts: Hosts = None,
    hostfile: HostfileIn = None,
    seconds: Annotated[
        float | None, typer.Option(help="End after so long.", metavar="S", min=0)
    ] = None,
    accept_new_host_keys: AcceptNew = False,
    verbose: Verbose = False,
) -> None:
    """Print a line whenever a cable is pulled or plugged anywhere.

    So you find a port by touching it. It ends with Ctrl-C.
    """
    from distconfig.commands.identify import IdentifyOptions, identify_ports
    from distconfig.sources import HostSource

    source = HostSource(hosts, hostfile, None, accept_new_host_keys)
    raise typer.Exit(identify_ports(IdentifyOptions(source, seconds, verbose)))


def _show_error(error: DistconfigError | HostfileError) -> None:
    lines = [f"error: {error.what}"]
    if error.where:
        lines.append(f"where: {error.where}")
    if error.hint:
        lines.append(f"try:   {error.hint}")
    print(escape_controls("\n".join(lines)), file=sys.stderr)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with the exit code that the help lists.

    Args:
        arguments: The command line. With none it is that of the process, which is then
            left at once: taking the interpreter down is an eighth of a short command.

    Raises:
        SystemExit: With the exit code.
    """
    try:
        _run(sys.argv[1:] if arguments is None else arguments)
    except SystemExit as end:
        if arguments is None and isinstance(end.code, int):
            with suppress(OSError, ValueError):  # else Python's own exit says what is wrong
                for stream in filter(None, (sys.stdout, sys.stderr)):
                    stream.flush()
                os._exit(end.code)
        raise


def _run(words: list[str]) -> None:
    try:
        app(args=words, prog_name="distributed_config")
    except HostfileError as error:
        _show_error(error)
        sys.exit(2)
    except DistconfigError as error:
        _show_error(error)
        if "--verbose" in words:
            traceback.print_exception(error)
        sys.exit(error.exit_code)
    except Exception as error:
        print(
            f"error: {escape_controls(f'{type(error).__name__}: {error}')}\n"
            "This is a bug of distributed_config. Please report it with the output of --verbose\n"
            "and a recording of your hosts, made by: --save FOLDER --anonymise",
            file=sys.stderr,
        )
        if "--verbose" in words:
            traceback.print_exception(error)
        sys.exit(1)


if __name__ == "__main__":
    main()
