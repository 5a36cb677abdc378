"""Setup scripts as text: commands to paste, each under a comment that says why."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

from distconfig.setup import mac_commands as mac
from distconfig.setup.setup_steps import SetupScript, SetupStep

__all__ = ["render_command", "render_comment", "render_setup"]

_NOT_IN_COMMENTS = re.compile(r"[^A-Za-z0-9 .,:/_@+-]")


def render_setup(
    scripts: Mapping[str, SetupScript], *, with_undo: bool = False, dead_man_s: int | None = None
) -> str:
    """The commands of all hosts, ready to paste into a shell on each.

    Args:
        with_undo: Show under each command what takes it back.
        dead_man_s: Say that each host undoes everything by itself after so many
            seconds unless the setup was confirmed.

    Example:
        >>> print(render_setup({"studio1": SetupScript("studio1", ())}), end="")
        # studio1: nothing to do
    """
    blocks = ("".join(_block(each, with_undo, dead_man_s)) for each in scripts.values())
    return "\n".join(blocks)


def render_command(argv: mac.Argv) -> str:
    """One command as root, to paste.

    Example:
        >>> render_command(("/sbin/ifconfig", "bridge0", "deletem", "en2"))
        'sudo /sbin/ifconfig bridge0 deletem en2'
    """
    return shlex.join(("sudo", *argv))


def _block(script: SetupScript, with_undo: bool, dead_man_s: int | None) -> Iterator[str]:
    if script.steps:
        yield render_comment(f"{script.host}: run these on it")
    elif script.refused:
        yield render_comment(f"{script.host}: nothing that could be done")
    else:
        yield render_comment(f"{script.host}: nothing to do")
    for sentence in script.refused:
        yield render_comment(f"left alone: {sentence}")
    for sentence in script.warnings:
        yield render_comment(f"note: {sentence}")
    if script.steps and dead_man_s is not None:
        yield render_comment(
            f"armed first: unless confirmed within {dead_man_s} s the host undoes all of it itself"
        )
    for step in script.steps:
        yield render_comment(step.why)
        yield from _commands(step)
        if with_undo:
            for argv in step.undo:
                yield render_comment(f"  undo: {render_command(argv)}")


def _commands(step: SetupStep) -> Iterator[str]:
    """The lines that do a step: where it has a goal, only as far as that is unmet."""
    if step.unless is None:
        yield render_command(step.argv) + "\n"
        return
    goal = f"interface: {step.unless.interface}"
    is_met = f"{shlex.join(mac.query_route(step.unless.peer))} | grep -w {shlex.quote(goal)}"
    for argv in (step.argv, step.otherwise):
        if argv:
            yield f"{is_met} || {render_command(argv)}\n"
    yield f"{is_met}\n"


def render_comment(text: str) -> str:
    """A comment line that does no harm where comments are not known.

    An interactive zsh, the login shell of macOS, takes ``#`` for the name of a
    command; nothing in the line may then mean something to it.
    """
    return f"# {_NOT_IN_COMMENTS.sub(' ', text).rstrip()}\n"
