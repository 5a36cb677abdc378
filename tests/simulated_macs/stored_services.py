"""Network services that somebody made on a Mac; they are on its disk and outlast a restart."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tests.simulated_macs.layout import Mac

__all__ = ["StoredService", "StoredServices"]


@dataclass(frozen=True)
class StoredService:
    """One service.

    Args:
        address: In CIDR notation; empty where DHCP is to be asked.
    """

    interface: str
    address: str = ""


class StoredServices:
    """The services of one Mac, in a file of its folder that is there also after ``chroot``."""

    def __init__(self, folder: int, mac: Mac) -> None:
        self._folder = folder
        self._mac = mac
        self._name = f"services-{mac.name}.json"

    def read(self) -> dict[str, StoredService]:
        """Every service by its name."""
        try:
            with os.fdopen(os.open(self._name, os.O_RDONLY, dir_fd=self._folder)) as file:
                stored = json.load(file)
        except FileNotFoundError:
            return {}
        return {name: StoredService(*words) for name, words in stored.items()}

    def write(self, services: Mapping[str, StoredService]) -> None:
        """Replace the file."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        text = {name: (each.interface, each.address) for name, each in services.items()}
        with os.fdopen(os.open(self._name, flags, 0o644, dir_fd=self._folder), "w") as file:
            json.dump(text, file)

    def on_disk(self) -> Mac:
        """The Mac as it comes out of a restart, with what the services change about it."""
        given = {
            each.interface: (each.address,) if each.address else () for each in self.read().values()
        }
        return replace(self._mac, addresses={**self._mac.addresses, **given})
