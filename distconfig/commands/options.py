"""Options that several subcommands share, as typer types."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "AcceptNew",
    "Dot",
    "From",
    "HostfileIn",
    "Hosts",
    "IgnoreUnreachable",
    "Json",
    "Png",
    "Svg",
    "Verbose",
]

Hosts = Annotated[
    str | None,
    typer.Option(help="Hosts as ssh knows them, separated by commas.", metavar="H1,H2,..."),
]
HostfileIn = Annotated[
    Path | None, typer.Option(help="Take the hosts from this hostfile.", metavar="FILE")
]
From = Annotated[
    Path | None,
    typer.Option("--from", help="Use a recording instead of asking hosts.", metavar="DIR"),
]
AcceptNew = Annotated[
    bool,
    typer.Option(
        "--accept-new-host-keys", help="Accept host keys never seen before; never a changed one."
    ),
]
IgnoreUnreachable = Annotated[
    bool, typer.Option("--ignore-unreachable", help="Go on without hosts that do not answer.")
]
Dot = Annotated[bool, typer.Option("--dot", help="Print the picture as DOT.")]
Png = Annotated[Path | None, typer.Option(help="Draw it as PNG.", metavar="FILE")]
Svg = Annotated[Path | None, typer.Option(help="Draw it as SVG.", metavar="FILE")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say more on stderr.")]
