"""Simulated Macs as a test holds them: hosts by name, cables to move, the product to run."""

from __future__ import annotations

import json
import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.simulated_macs.layout import Layout
from tests.simulated_macs.operator import known_host
from tests.simulated_macs.simulated_mac import SimulatedMac, run_to_end

__all__ = ["SimulatedMacs", "attach", "read_facts", "simulated", "start_lab"]

_CHECKOUT = Path(__file__).resolve().parents[2]


class SimulatedMacs:
    """All hosts of a layout, and the machine of the operator."""

    def __init__(self, layout: Layout, folder: Path, facts: dict[str, Any]) -> None:
        self.layout = layout
        self.folder = folder
        self.facts = facts
        self.home = folder / "operator"
        self._macs = {name: SimulatedMac(self, name) for name in layout.names()}

    def __getitem__(self, name: str) -> SimulatedMac:
        return self._macs[name]

    def __iter__(self) -> Iterator[SimulatedMac]:
        return iter(self._macs.values())

    @property
    def names(self) -> list[str]:
        """The hosts in order."""
        return self.layout.names()

    def order(self, verb: str, **words: Any) -> None:
        """Have the lab do something; RuntimeError if it cannot."""
        with socket.socket(socket.AF_UNIX) as lab:
            lab.settimeout(120)
            descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                lab.connect(f"/proc/self/fd/{descriptor}/orders")
            finally:
                os.close(descriptor)
            with lab.makefile("rw") as stream:
                stream.write(json.dumps({"verb": verb, **words}) + "\n")
                stream.flush()
                reply = json.loads(stream.readline())
        if "error" in reply:
            raise RuntimeError(reply["error"])
        self.facts.update(reply)

    # The operator

    def environment(self) -> dict[str, str]:
        """The environment of programs on the operator's machine."""
        return {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(_CHECKOUT),
            "LANG": "C.UTF-8",
            "COLUMNS": "120",
        }

    def popen(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[Any]:
        """Start a program on the operator's machine; ``options`` are those of ``Popen``."""
        target = self.facts["operator"]
        folder = options.pop("cwd", self.home)
        # Through /proc/N/root, so that it is a folder of that mount namespace, not of ours.
        enter = ["nsenter", f"--target={target}", "--mount", "--net"]
        enter += [f"--wd=/proc/{target}/root{folder}", "--"]
        environment = {**self.environment(), **(env or {})}
        return subprocess.Popen([*enter, *argv], env=environment, **options)

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
        timeout_s: float = 120,
        cwd: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program on the operator's machine and return what it printed."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        stdin = subprocess.DEVNULL if input is None else subprocess.PIPE
        return run_to_end(
            self.popen(argv, env=env, stdin=stdin, cwd=cwd or self.home, **pipes),
            argv,
            input,
            timeout_s,
        )

    def run_cli(self, args: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """Run ``distributed_config ARGS`` on the operator's machine."""
        return self.run([sys.executable, "-m", "distconfig.cli", *args], **options)

    def run_launch(self, args: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """Run ``distributed_launch ARGS`` on the operator's machine."""
        return self.run([sys.executable, "-m", "distconfig.launch.cli", *args], **options)

    def add_ssh_alias(self, alias: str, host: str, address: str = "", **settings: str) -> None:
        """Let the operator's ``ssh ALIAS`` lead to a host.

        Args:
            address: Another one than that on the LAN.
            settings: Of ssh_config, such as ``ProxyJump="studio1"``.
        """
        folder = self.home / ".ssh"
        mac = self.layout[host]
        address = address or str(self.layout.lan_address(host).ip)
        defaults = {"HostName": address, "User": mac.user, "Port": str(mac.ssh_port)}
        lines = [f"    {name} {value}\n" for name, value in {**defaults, **settings}.items()]
        before = (folder / "config").read_text()
        (folder / "config").write_text("".join([f"Host {alias}\n", *lines, before]))
        key = (self.folder / host / "host_key.pub").read_text()
        with (folder / "known_hosts").open("a") as known:
            known.write(known_host(address, mac.ssh_port, key))

    def ssh(self, host: str, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command on a host with the OpenSSH client of the operator."""
        return self.run(["ssh", "-o", "BatchMode=yes", host, command])


@contextmanager
def simulated(
    layout: Layout, folder: Path, *, shared: Sequence[Path] = ()
) -> Iterator[SimulatedMacs]:
    """Simulated Macs for the time of a ``with`` block; needs root on Linux.

    Args:
        folder: Usually ``tmp_path``; a folder ``macs`` is made in it.
        shared: Folders that every host sees at the same path, writable.
    """
    place = folder / "macs"
    lab = start_lab(layout, place, shared, until_eof=True)
    try:
        yield attach(place, read_facts(lab, place))
    finally:
        if lab.stdin:
            lab.stdin.close()
        lab.wait(120)


def start_lab(
    layout: Layout, folder: Path, shared: Sequence[Path], *, until_eof: bool
) -> subprocess.Popen[str]:
    """Start the process that holds everything."""
    folder.mkdir(parents=True)
    (folder / "layout.pickle").write_bytes(pickle.dumps((layout, tuple(shared))))
    words = [sys.executable, "-m", "tests.simulated_macs", "serve", str(folder)]
    if not until_eof:
        words.append("--keep")
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            words,
            stdin=subprocess.PIPE if until_eof else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=_CHECKOUT,
            start_new_session=True,
        )


def read_facts(lab: subprocess.Popen[str], folder: Path) -> dict[str, Any]:
    assert lab.stdout is not None
    line = lab.stdout.readline()
    if not line:
        lab.wait(120)
        raise RuntimeError(f"the lab did not start:\n{(folder / 'log').read_text()}")
    facts: dict[str, Any] = json.loads(line)
    return facts


def attach(folder: Path, facts: dict[str, Any]) -> SimulatedMacs:
    """Simulated Macs that run already."""
    layout, _ = pickle.loads((folder / "layout.pickle").read_bytes())
    return SimulatedMacs(layout, folder, facts)
