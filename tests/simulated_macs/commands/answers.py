"""What goes between a fake command and the helper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Answer", "Caller"]


@dataclass(frozen=True)
class Caller:
    """Who ran the command, according to the kernel, and what stood on its standard input.

    Args:
        is_gone: Whether that process has ended meanwhile.
    """

    uid: int
    stdin: bytes = b""
    is_gone: Callable[[], bool] = lambda: False

    @property
    def is_root(self) -> bool:
        """Whether it may change anything."""
        return self.uid == 0


@dataclass(frozen=True)
class Answer:
    """What a command prints and how it ends.

    Args:
        run: A command to become, as root, instead; only sudo does.
    """

    status: int = 0
    stdout: str = ""
    stderr: str = ""
    run: Sequence[str] = ()

    def encoded(self) -> bytes:
        """As ``fakecommand.pl`` reads it."""
        if self.run:
            words = "".join(f"{word}\0" for word in self.run).encode("utf-8", "surrogateescape")
            return b"run 0\n" + words
        out, err = (text.encode("utf-8", "surrogateescape") for text in (self.stdout, self.stderr))
        return f"{self.status} {len(out)}\n".encode() + out + err
