"""Everything a person reads on stderr; stdout carries only the product."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from distconfig.errors import DistconfigError, ProbeError, ReportError
from distconfig.printable import escape_controls

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Screen"]

_FILE_WIDTH = 160


class Screen:
    """Lines on stderr: what host text they hold is never read as markup or terminal escapes.

    Args:
        is_product: Write to stdout instead, for commands whose product is a report to read.
    """

    def __init__(self, verbose: bool = False, *, is_product: bool = False) -> None:
        self.verbose = verbose
        stream = sys.stdout if is_product else sys.stderr
        width = None if stream.isatty() else _FILE_WIDTH
        self._console = Console(stderr=not is_product, highlight=False, width=width)

    def say(self, text: str, style: str = "") -> None:
        """One line, always."""
        self._console.print(Text(escape_controls(text), style=style), soft_wrap=True)

    def note(self, text: str) -> None:
        """One line, with --verbose only."""
        if self.verbose:
            self.say(text, "dim")

    def warn(self, text: str) -> None:
        """One line that a person should not miss."""
        self.say(f"warning: {text}", "yellow")

    def warn_hosts(self, sentences: Iterable[tuple[str, str]]) -> None:
        """Warnings about hosts; one that several hosts share is shown once, with all of them.

        Args:
            sentences: Pairs of a host and a sentence.
        """
        hosts: dict[str, list[str]] = {}
        for host, sentence in sentences:
            hosts.setdefault(sentence, []).append(host)
        for sentence, each in hosts.items():
            self.warn(f"{', '.join(each)}: {sentence}")

    def progress(self, host: str, text: str) -> None:
        """What happens on a host just now."""
        self.say(f"{host}: {text}", "dim")

    def show(self, renderable: RenderableType) -> None:
        """A table, as wide as its content needs where there is room."""
        self._console.print(renderable)

    def show_error(self, error: DistconfigError) -> None:
        """What happened, where, and what to try."""
        self.say(f"error: {error.what}", "bold red")
        if error.where:
            self.say(f"where: {error.where}")
        if error.hint:
            self.say(f"try:   {error.hint}")

    def show_failures(
        self, failures: Mapping[str, DistconfigError], ignore_unreachable: bool
    ) -> int:
        """Why hosts are missing; returns the exit code that follows, 0 if that is accepted.

        Args:
            failures: Host to the error that cost it.
            ignore_unreachable: Hosts that could not be asked are accepted as missing.
        """
        for error in failures.values():
            self.show_error(error)
        codes = {error.exit_code for error in failures.values()}
        if ProbeError.exit_code in codes and not ignore_unreachable:
            self.say("--ignore-unreachable goes on without the hosts that do not answer.")
            return ProbeError.exit_code
        return ReportError.exit_code if ReportError.exit_code in codes else 0
