"""The machine on which the product runs: a namespace on the LAN, with ssh settings of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
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

__all__ = ["known_host", "make_keys", "run_operator"]


def known_host(address: str, port: int, key: str) -> str:
    """A line of ``known_hosts``."""
    where = address if port == 22 else f"[{address}]:{port}"
    return f"{where} {key}"


def make_keys(folder: Path, layout: Layout) -> str:
    """Make host keys and the operator's key, and its ssh settings; the public key to authorize.

    Each host is then reached by its name.
    """
    ssh = folder / "operator/.ssh"
    paths = {mac.name: folder / mac.name / "host_key" for mac in layout.macs}
    makers = []
    for path in (*paths.values(), ssh / "id_ed25519"):
        path.parent.mkdir(parents=True)
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)]
        makers.append(subprocess.Popen(words))
    statuses = {maker.wait() for maker in makers}
    if statuses != {0}:
        raise RuntimeError("ssh-keygen failed")
    known = config = ""
    for mac in layout.macs:
        address = str(layout.lan_address(mac.name).ip)
        known += known_host(address, mac.ssh_port, paths[mac.name].with_suffix(".pub").read_text())
        config += f"Host {mac.name}\n    HostName {address}\n    User {mac.user}\n"
        if mac.ssh_port != 22:
            config += f"    Port {mac.ssh_port}\n"
    (ssh / "known_hosts").write_text(known)
    (ssh / "config").write_text(f"{config}Host *\n    IdentityFile ~/.ssh/id_ed25519\n")
    return (ssh / "id_ed25519.pub").read_text()


def run_operator(
    home: Path, address: IPv4Interface, gateway: IPv4Address, line: socket.socket
) -> int:
    """Hold the operator's namespaces until killed. Root's home there is ``home``.

    OpenSSH asks the list of accounts, not ``$HOME``, where its settings are.
    """
    unshare(CLONE_NEWNET | CLONE_NEWNS)
    keep_mounts_private()
    line.send(b"the namespaces are there")
    accounts = Path("/etc/passwd").read_text().splitlines()
    others = [account for account in accounts if not account.startswith("root:")]
    ours = home / "passwd"
    ours.write_text("\n".join([f"root:x:0:0:root:{home}:/bin/bash", *others, ""]))
    bind(ours, Path("/etc/passwd"))
    quieten_network()
    if not line.recv(64):
        return 1
    commands = ["link set lo up", f"addr add {address} brd + dev eth0", "link set eth0 up"]
    run_ip("-batch", "-", batch="\n".join([*commands, f"route add default via {gateway}"]))
    line.send(b"the network is there")
    line.close()
    signal.pause()
    return 0
