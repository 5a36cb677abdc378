"""The commands that configure one host, each with its reason and its undo, as values."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SetupScript", "SetupStep"]


@dataclass(frozen=True)
class SetupStep:
    """One command to run as root, why, and what takes it back.

    Args:
        argv: Absolute path first; never a shell string.
        why: One line for a person.
        undo: The commands that restore what was there before, in order; never empty.
    """

    argv: tuple[str, ...]
    why: str
    undo: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if not self.argv or not self.undo:
            raise ValueError(f"a step needs a command and an undo: {self.argv} {self.undo}")


@dataclass(frozen=True)
class SetupScript:
    """All steps of one host, in the order to run them.

    Args:
        refused: Ports left alone, each with the reason, in sentences.
        warnings: What the person should know before running it.
    """

    host: str
    steps: tuple[SetupStep, ...]
    refused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
