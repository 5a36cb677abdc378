"""What an agent keeps on disk while its ranks run.

This module is also run on the far side, so it needs nothing newer than Python 3.8
and nothing but the standard library.
"""

# Not pathlib, which would be a tenth of the agent's start-up time.
# ruff: noqa: PTH102, PTH108, PTH112, PTH118
from __future__ import annotations

import os
import shutil

__all__ = ["PrivateFolder", "StdinSpool"]

_READ_SIZE = 1 << 16


class PrivateFolder:
    """A folder of this job that only we can read, made when it is first needed."""

    def __init__(self) -> None:
        self._path = ""

    def file(self, name: str) -> str:
        """Where a file of this name goes."""
        if not self._path:
            parent = os.environ.get("TMPDIR", "/tmp")
            if not os.path.isdir(parent):
                parent = "/tmp"
            path = os.path.join(parent, f"distributed_launch-{os.urandom(8).hex()}")
            os.mkdir(path, 0o700)
            self._path = path
        return os.path.join(self._path, name)

    def write(self, name: str, text: str) -> str:
        """Write a file and return its path."""
        path = self.file(name)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def remove(self) -> None:
        """Remove it with all it holds."""
        if self._path:
            shutil.rmtree(self._path, ignore_errors=True)


class StdinSpool:
    """What came for the standard input of the ranks, each of which reads at its own pace.

    It is kept in a nameless file, so that a rank that reads nothing costs no
    memory and does not hold up the others.
    """

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.unlink(path)
        self._nbytes = 0

    def append(self, data: bytes) -> None:
        """Add bytes at the end."""
        view = memoryview(data)
        while view:
            written = os.pwrite(self._file, view, self._nbytes)
            self._nbytes += written
            view = view[written:]

    def read(self, offset: int) -> bytes:
        """Some bytes from there on; empty if nothing has come yet."""
        return os.pread(self._file, _READ_SIZE, offset)
