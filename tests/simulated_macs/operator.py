"""The machine on which the product runs: a namespace on the LAN, with ssh settings of its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path

from tests.simulated_macs.layout import Layout
from tests.simulated_macs.namespaces import (
    CLONE_NEWNET,
    CLONE_NEWNS,
    bind,
    keep_mounts_private,
    unshare,
)
from tests.simulated_macs.network import quieten_network, run_ip

__all__ = ["known_host", "run_operator", "write_ssh_settings"]


def known_host(address: str, port: int, key: str) -> str:
    """A line of ``known_hosts``."""
    where = address if port == 22 else f"[{address}]:{port}"
    return f"{where} {key}"


def write_ssh_settings(folder: Path, layout: Layout, known_hosts: Sequence[str]) -> None:
    """Write ``config`` and ``known_hosts`` such that each host is reached by its name."""
    (folder / "known_hosts").write_text("".join(known_hosts))
    lines = []
    for mac in layout.macs:
        lines.append(f"Host {mac.name}")
        lines.append(f"    HostName {layout.lan_address(mac.name).ip}")
        lines.append(f"    User {mac.user}")
        if mac.ssh_port != 22:
            lines.append(f"    Port {mac.ssh_port}")
    lines.append("Host *")
    lines.append("    IdentityFile ~/.ssh/id_ed25519")
    (folder / "config").write_text("".join(line + "\n" for line in lines))


def run_operator(
    home: Path,
    address: IPv4Interface,
    gateway: IPv4Address,
    unplugged: int,
    plugged: int,
    ready: int,
) -> int:
    """Hold the operator's namespaces until killed. Root's home there is ``home``.

    OpenSSH asks the list of accounts, not ``$HOME``, where its settings are.
    """
    unshare(CLONE_NEWNET | CLONE_NEWNS)
    keep_mounts_private()
    os.write(unplugged, b"1")
    accounts = home / "passwd"
    others = [
        line
        for line in Path("/etc/passwd").read_text().splitlines()
        if not line.startswith("root:")
    ]
    accounts.write_text("\n".join([f"root:x:0:0:root:{home}:/bin/bash", *others, ""]))
    bind(accounts, Path("/etc/passwd"))
    quieten_network()
    if not os.read(plugged, 1):
        return 1
    commands = ["link set lo up", f"addr add {address} brd + dev eth0", "link set eth0 up"]
    run_ip("-batch", "-", batch="\n".join([*commands, f"route add default via {gateway}"]))
    os.write(ready, b"1")
    os.close(ready)
    signal.pause()
    return 0
