"""The file in which the world writes down its cabling, for the helpers of all hosts to read."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.simulated_macs.layout import Cable, End, Mac

__all__ = ["World", "WorldFile"]

_NAMESPACE = uuid.UUID("6f0b6b0a-3a52-4f36-9d5f-3c1d5a1f8a10")


@dataclass(frozen=True)
class World:
    """All hosts and the cables that are in now.

    Args:
        boots: How often each host was started.
    """

    macs: tuple[Mac, ...]
    cables: tuple[Cable, ...]
    boots: Mapping[str, int] = field(default_factory=dict)

    def peer(self, end: End) -> End | None:
        """The other end of the cable in a receptacle; None if it is empty."""
        for one, other in self.cables:
            if end in (one, other):
                return other if end == one else one
        return None

    def domain_uuid(self, end: End) -> uuid.UUID:
        """The domain UUID that a receptacle has since its host last booted.

        It is another one after a reboot: whether real ones survive is disputed, so
        nothing may depend on it.
        """
        return uuid.uuid5(_NAMESPACE, f"{end.host} {end.interface} {self.boots.get(end.host, 0)}")


class WorldFile:
    """``world.json`` in a folder, readable also after ``chroot``."""

    def __init__(self, folder: Path, macs: tuple[Mac, ...]) -> None:
        self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self._macs = macs

    @property
    def descriptor(self) -> int:
        """The open folder, which a forked host has to keep."""
        return self._folder

    def write(self, world: World) -> None:
        """Replace the file at once."""
        ends = [
            [*(one.host, one.interface), *(two.host, two.interface)] for one, two in world.cables
        ]
        text = json.dumps({"cables": ends, "boots": dict(world.boots)}, indent=1)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(os.open("world.json.new", flags, 0o644, dir_fd=self._folder), "w") as file:
            file.write(text)
        os.replace("world.json.new", "world.json", src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def read(self) -> World:
        """The cabling of this moment."""
        with os.fdopen(os.open("world.json", os.O_RDONLY, dir_fd=self._folder)) as file:
            stored = json.load(file)
        cables = tuple((End(a, b), End(c, d)) for a, b, c, d in stored["cables"])
        return World(self._macs, cables, stored["boots"])
