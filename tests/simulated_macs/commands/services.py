"""``networksetup`` and ``ipconfig``: what macOS has stored, and who manages an address."""

from __future__ import annotations

from ipaddress import IPv4Interface
from typing import TYPE_CHECKING

from tests.fakemac_network import hardware_ports, service_list
from tests.macos_output import render_networksetup_ports, render_networksetup_services
from tests.simulated_macs.commands.answers import Answer, Caller
from tests.simulated_macs.network import MAX_MTU
from tests.simulated_macs.portrait import portray
from tests.simulated_macs.stored_services import StoredService

if TYPE_CHECKING:
    from tests.simulated_macs.helper import Host

__all__ = ["ipconfig", "networksetup"]


_CHANGES = ("-createnetworkservice", "-removenetworkservice", "-setmanual", "-setdhcp")
_NOT_ADMIN = "** Error: Command requires admin privileges.\n"


def networksetup(host: Host, args: list[str], caller: Caller) -> Answer:
    """The verbs that list ports and services, and those that make services of ports."""
    if args[:1] and args[0] in _CHANGES:
        return _change_service(host, args, caller)
    mac = host.network.mac
    fake = portray(host.world_file.read(), mac.name)
    made = {each.interface: name for name, each in host.services.read().items()}
    fake.port_services = {
        port: made.get(port, f"Thunderbolt {1 + place}")
        for place, port in enumerate(mac.ports)
        if port in mac.addresses
    }
    services = service_list(fake)
    verb = args[0] if args else ""
    if verb == "-listallhardwareports":
        return Answer(0, render_networksetup_ports(hardware_ports(fake)))
    if verb == "-listnetworkserviceorder":
        return Answer(0, render_networksetup_services(services))
    if verb == "-listallnetworkservices":
        lines = ["An asterisk (*) denotes that a network service is disabled."]
        lines += [service.name for service in services]
        return Answer(0, "".join(f"{line}\n" for line in lines))
    if verb == "-getnetworkserviceenabled" and len(args) == 2:
        if args[1] not in {service.name for service in services}:
            text = f"{args[1]} is not a recognized network service.\n** Error: The parameters were"
            return Answer(4, f"{text} not valid.\n")
        return Answer(0, "Enabled\n")
    if verb == "-getcurrentlocation":
        return Answer(0, "Automatic\n")
    if verb == "-listvalidMTUrange" and len(args) == 2:
        return Answer(0, f"Valid MTU Range: 1280-{MAX_MTU}\n")
    return Answer(4, f"networksetup: the simulation does not know: {args}\n")


def _change_service(host: Host, args: list[str], caller: Caller) -> Answer:
    """Make, address or remove the service of a port, on disk and at once.

    A port that is in the bridge can be given none, as somebody found: error 1001.
    """
    if not caller.is_root:
        return Answer(14, _NOT_ADMIN)
    verb, name, *words = args
    services = host.services.read()
    if (name in services) == (verb == "-createnetworkservice"):
        return Answer(4, f"{name} is not a recognized network service.\n")
    if verb == "-createnetworkservice":
        if words[0] not in host.network.mac.ports or host.network.link(words[0]).bridge:
            return Answer(1, "** Error: Unable to create the service (1001).\n")
        services[name] = StoredService(words[0])
    interface = services[name].interface
    if verb == "-removenetworkservice":
        del services[name]
    elif verb == "-setmanual":
        services[name] = StoredService(interface, str(IPv4Interface("/".join(words[:2]))))
    elif verb == "-setdhcp":
        services[name] = StoredService(interface)
    host.services.write(services)
    host.network.mac = host.services.on_disk()
    if verb != "-createnetworkservice":
        _readdress(host, interface, services.get(name))
    return Answer()


def _readdress(host: Host, interface: str, service: StoredService | None) -> None:
    """Give an interface what its service says, and nothing else."""
    link = host.network.link(interface)
    wanted = [service.address or _self_assigned(link.mac)] if service else []
    for address in link.addresses:
        if str(address) not in wanted:
            host.network.remove_address(interface, address)
    for text in wanted:
        if IPv4Interface(text) not in link.addresses:
            host.network.add_address(interface, IPv4Interface(text))


def ipconfig(host: Host, args: list[str], caller: Caller) -> Answer:
    """``ipconfig getifaddr NAME``, ``ipconfig set NAME DHCP|NONE``."""
    network = host.network
    if len(args) < 2 or args[0] not in ("getifaddr", "set"):
        return Answer(1, "", "usage: ipconfig <command> <args>\n")
    name = args[1]
    names = {link.name for link in network.links()}
    if name not in names:
        return Answer(1, "", f"ipconfig: interface {name} not found\n")
    addresses = network.link(name).addresses
    if args[0] == "getifaddr":
        return Answer(0, f"{addresses[0].ip}\n") if addresses else Answer(1)
    if not caller.is_root:
        return Answer(1, "", "ipconfig_set failed: permission denied\n")
    for address in addresses:
        network.remove_address(name, address)
    if args[2:3] == ["DHCP"]:
        for text in network.mac.addresses.get(name, (_self_assigned(network.link(name).mac),)):
            network.add_address(name, IPv4Interface(text))
    return Answer()


def _self_assigned(ether: str) -> str:
    """What an interface gives itself when no DHCP server answers."""
    octets = bytes.fromhex(ether.replace(":", ""))
    return f"169.254.{1 + octets[4] % 254}.{octets[5]}/16"
