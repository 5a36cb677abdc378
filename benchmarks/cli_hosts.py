"""The part of `cli.py` that needs hosts: simulated Macs, each with a real sshd.

All hosts share the processors of this machine with the tools that are measured,
so that a tool pays for what its commands cost the hosts, too.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.simulated_macs import SimulatedMacs, ring_of, simulated  # noqa: E402

__all__ = ["Hosts", "hosts_in_a_ring"]

PROFILE = "system_profiler SPThunderboltDataType -json"


class Hosts:
    """So many Macs in a ring of cables, and the tools as run from the operator's machine."""

    def __init__(self, macs: SimulatedMacs, folder: Path) -> None:
        self._macs = macs
        self._names = ",".join(macs.names)
        self.hostfile = folder / "hostfile.json"
        entries = [
            {"ssh": name, "ips": [str(macs.layout.lan_address(name).ip)]} for name in macs.names
        ]
        self.hostfile.write_text(json.dumps(entries))

    def popen(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[str]:
        """Start a program on the operator's machine."""
        return self._macs.popen(argv, **options)

    def draw(self, program: Path) -> float:
        """Seconds until a ``distributed_config`` has printed the picture of the cabling."""
        start = time.perf_counter()
        done = self._macs.run([str(program), "--hosts", self._names, "--dot"])
        seconds = time.perf_counter() - start
        cables = done.stdout.count(" -- ")
        if done.returncode or cables != len(self._macs.names):
            raise RuntimeError(f"{program}: {cables} cables found: {done.stderr}")
        return seconds

    def ask_once(self) -> float:
        """Seconds for the most important command alone: an OpenSSH client per host, all at once."""
        start = time.perf_counter()
        clients = [
            self.popen(["ssh", name, PROFILE], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
            for name in self._macs.names
        ]
        answers = [client.communicate()[0] for client in clients]
        seconds = time.perf_counter() - start
        if not all(b"domain_uuid_key" in answer for answer in answers):
            raise RuntimeError("a host did not answer")
        return seconds


@contextlib.contextmanager
def hosts_in_a_ring(size: int) -> Iterator[Hosts]:
    """Boot the hosts; bash is the login shell, as mlx.launch needs it or zsh."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        layout = ring_of(size).with_macs(login_shell="/bin/bash")
        with simulated(layout, folder, shared=[ROOT / "benchmarks"]) as macs:
            yield Hosts(macs, folder)
