"""What happens inside a host from power-on: its root, its network, sshd and the helper."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path

from tests.simulated_macs.helper import serve
from tests.simulated_macs.layout import Mac
from tests.simulated_macs.namespaces import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWUTS,
    set_hostname,
    unshare,
)
from tests.simulated_macs.network import Network, quieten_network, run_ip
from tests.simulated_macs.portrait import portray
from tests.simulated_macs.root import PRIVATE, enter_root
from tests.simulated_macs.stored_services import StoredServices
from tests.simulated_macs.world_file import WorldFile

__all__ = ["Power", "run_host"]


@dataclass(frozen=True)
class Power:
    """What a host is given when it is switched on.

    Args:
        folder: Its folder on the operator's machine: ``root`` to mount on, ``log``, host key.
        line: To the lab: we say that the namespaces are there, it that the interfaces are,
            we that ssh answers.
    """

    mac: Mac
    folder: Path
    authorized_key: str
    shared: Sequence[Path]
    lan_address: IPv4Interface
    gateway: IPv4Address
    world_file: WorldFile
    line: socket.socket


def run_host(power: Power) -> int:
    """Be process 1 of a host: boot it, then reap orphans until the helper ends."""
    log = os.open(power.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC)
    set_hostname(power.mac.name)
    quieten_network()
    power.line.send(b"the namespaces are there")
    key = (power.folder / "host_key").read_bytes()
    sshd_log = os.open(power.folder / "sshd.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    enter_root(power.folder / "root", power.mac, power.authorized_key, power.shared)
    if not power.line.recv(64):
        return 1
    helper = os.fork()
    if helper == 0:
        status = 1
        try:
            _run_helper(power, key, sshd_log)
            status = 0
        finally:
            sys.stderr.flush()
            os._exit(status)
    power.line.close()
    while os.wait()[0] != helper:
        continue
    return 1


def _store_preferences(mac: Mac, world: WorldFile) -> None:
    """Write what configd keeps on disk and anybody may read."""
    path = Path("/Library/Preferences/SystemConfiguration/NetworkInterfaces.plist")
    path.parent.mkdir(parents=True)
    path.write_bytes(portray(world.read(), mac.name).answer("network_interfaces").stdout)


def _run_helper(power: Power, host_key: bytes, sshd_log: int) -> None:
    _store_preferences(power.mac, power.world_file)
    services = StoredServices(power.world_file.descriptor, power.mac)
    network = Network(services.on_disk())
    configure_network(network, power.lan_address, power.gateway)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(PRIVATE / "socket"))
    (PRIVATE / "socket").chmod(0o777)
    listener.listen(64)
    sshd = start_sshd(power.mac, host_key, sshd_log)
    power.line.send(b"ssh answers")
    power.line.close()
    serve(listener, network, power.world_file, services, sshd)


def configure_network(network: Network, lan: IPv4Interface, gateway: IPv4Address) -> None:
    """Bring up the interfaces as they are on a Mac that has just booted."""
    mac = network.mac
    batch = ["link set lo up"]
    batch += [f"link set {port} up" for port in mac.ports]
    batch += [f"addr add {lan} brd + dev en0", "link set en0 up"]
    batch += [f"route add default via {gateway} dev en0"]
    if mac.vpn:
        batch += ["tuntap add dev utun4 mode tun", f"addr add {mac.vpn.address}/32 dev utun4"]
        batch += ["link set utun4 up"]
        batch += [f"route add {route} dev utun4" for route in mac.vpn.routes]
    if mac.usb_card:
        batch += ["link set en8 up"]
    run_ip("-batch", "-", batch="\n".join(batch))
    for port, addresses in mac.addresses.items():
        for address in addresses:
            network.add_address(port, IPv4Interface(address))
    network.create_automatic_bridge()
    if mac.bridge and mac.bridge.address:
        network.add_address(mac.bridge.name, IPv4Interface(mac.bridge.address))
    if mac.routes:
        run_ip("-batch", "-", batch="\n".join(f"route add {route}" for route in mac.routes))


def start_sshd(mac: Mac, host_key: bytes, log: int) -> subprocess.Popen[bytes]:
    """Start a real sshd and return once it answers on its TCP port."""
    folder = PRIVATE / "ssh"
    folder.mkdir()
    (folder / "host_key").write_bytes(host_key)
    (folder / "host_key").chmod(0o600)
    settings = {
        "Port": str(mac.ssh_port),
        "AddressFamily": "inet",
        "HostKey": str(folder / "host_key"),
        "PidFile": "none",
        "UsePAM": "no",
        "UseDNS": "no",
        "StrictModes": "no",
        "PasswordAuthentication": "no",
        "KbdInteractiveAuthentication": "no",
        "PrintMotd": "no",
        "PrintLastLog": "no",
        "LogLevel": "VERBOSE",
        "SetEnv": "PATH=/usr/bin:/bin:/usr/sbin:/sbin LANG=C.UTF-8",
    }
    config = folder / "sshd_config"
    config.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    words = ["/usr/sbin/sshd", "-D", "-e", "-f", str(config)]
    sshd = subprocess.Popen(words, stderr=log, start_new_session=True)
    _wait_for_sshd(sshd, mac.ssh_port)
    return sshd


def _wait_for_sshd(sshd: subprocess.Popen[bytes], port: int) -> None:
    while sshd.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
        except ConnectionRefusedError:
            try:
                sshd.wait(0.01)
            except subprocess.TimeoutExpired:
                continue
    raise RuntimeError(f"sshd ended with {sshd.returncode}; see sshd.log")
