"""``route``, ``netstat`` and ``arp``, after ``route.c`` of Apple's network_cmds.

``route`` exits 0 when the kernel refused a change: it only prints why.
"""

from __future__ import annotations

import json
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING

from tests.macos_output import render_netstat, render_netstat_interfaces, render_route_get
from tests.simulated_macs.commands.answers import Answer, Caller
from tests.simulated_macs.network import Network, NetworkRefusal, run_ip
from tests.simulated_macs.portrait import live_interfaces, live_routes, net_route, portray

if TYPE_CHECKING:
    from tests.simulated_macs.helper import Host

__all__ = ["arp", "netstat", "route"]

_EX_NOPERM, _EX_USAGE = 77, 64


def route(host: Host, args: list[str], caller: Caller) -> Answer:
    """``route [-nqv] add|change|delete|get [-host|-net] DEST [-interface NAME | GATEWAY]``."""
    words = [word for word in args if word not in ("-n", "-q", "-v", "-inet")]
    if not words or words[0] not in ("add", "change", "delete", "get"):
        return Answer(_EX_USAGE, "", "usage: route [-dnqtv] command [[modifiers] args]\n")
    verb = words.pop(0)
    if verb != "get" and not caller.is_root:
        return Answer(_EX_NOPERM, "", "route: must be root to alter routing table\n")
    is_net = "-net" in words
    interface = gateway = mask = ""
    destination = ""
    while words:
        word = words.pop(0)
        if word in ("-host", "-net"):
            continue
        if word in ("-interface", "-ifp", "-ifscope"):
            interface = words.pop(0)
        elif word == "-netmask":
            mask = words.pop(0)
        elif not destination:
            destination = word
        else:
            gateway = word
    if destination == "default":
        destination, is_net = "0.0.0.0/0", True
    if mask:
        destination = f"{destination}/{mask}"
    try:
        network = IPv4Network(destination, strict=False)
    except ValueError:
        return Answer(_EX_USAGE, "", f"route: bad address: {destination}\n")
    if verb == "get":
        return _route_get(host, network.network_address)
    kind = "net" if is_net or network.prefixlen < 32 else "host"
    shown = f"{verb} {kind} {network.network_address}"
    if interface or gateway:
        shown += f": gateway {gateway or interface}"
    refusal = _change(host.network, verb, network, gateway, interface)
    if refusal:
        error = f"route: writing to routing socket: {refusal}\n"
        return Answer(0, f"{shown}: {refusal}\n", error)
    return Answer(0, f"{shown}\n")


def _change(
    network: Network, verb: str, destination: IPv4Network, gateway: str, interface: str
) -> str:
    """Change the table; what the kernel says against it, or nothing."""
    exists = network.has_route(destination)
    if verb == "add" and exists:
        return "File exists"
    if verb != "add" and not exists:
        return "not in table"
    try:
        if verb == "add":
            network.add_route(destination, via=gateway, interface=interface)
        elif verb == "change":
            network.change_route(destination, via=gateway, interface=interface)
        else:
            network.delete_route(destination)
    except NetworkRefusal:
        return "Network is unreachable"
    return ""


def _route_get(host: Host, address: IPv4Address) -> Answer:
    missing = Answer(1, "", "route: writing to routing socket: not in table\n")
    try:
        taken = host.network.route_to(address)
    except NetworkRefusal:
        return missing
    fitting = [
        entry
        for entry in host.network.routes()
        if entry["dev"] == taken["dev"] and address in net_route(entry, {}).destination
    ]
    if not fitting:  # our own address: macOS answers with the loopback interface
        local = net_route({"dst": f"{address}/32", "dev": "lo"}, {})
        return Answer(0, render_route_get(address, local, flags="UP,HOST,DONE,LOCAL"))
    best = max(fitting, key=lambda entry: net_route(entry, {}).destination.prefixlen)
    mtu = host.network.link(taken["dev"]).mtu
    return Answer(0, render_route_get(address, net_route(best, {}), mtu=mtu))


def netstat(host: Host, args: list[str], _caller: Caller) -> Answer:
    """``netstat -rn``, with or without ``-f inet``, and ``netstat -ibn``."""
    fake = portray(host.world_file.read(), host.network.mac.name)
    interfaces = live_interfaces(fake, host.network)
    if args == ["-ibn"]:
        return Answer(0, render_netstat_interfaces(interfaces, _count_traffic()))
    if "".join(word.lstrip("-") for word in args if word.startswith("-")) not in (
        "rn",
        "nr",
        "rnf",
    ):
        return Answer(_EX_USAGE, "", f"netstat: the simulation does not know: {args}\n")
    text = render_netstat(live_routes(fake, host.network, interfaces))
    if args[-2:] == ["-f", "inet"]:
        text = text.partition("\nInternet6:")[0]
    return Answer(0, text)


def _count_traffic() -> dict[str, tuple[int, int, int, int]]:
    """Interface -> packets and bytes in, packets and bytes out."""
    found = {}
    for entry in json.loads(run_ip("-j", "-s", "link", "show")):
        came, went = entry["stats64"]["rx"], entry["stats64"]["tx"]
        name = "lo0" if entry["ifname"] == "lo" else entry["ifname"]
        found[name] = (came["packets"], came["bytes"], went["packets"], went["bytes"])
    return found


def arp(_host: Host, args: list[str], caller: Caller) -> Answer:
    """``arp -an``, ``arp -n ADDRESS``, ``arp -d ADDRESS``."""
    known = {each["dst"]: each for each in json.loads(run_ip("-4", "-j", "neigh", "show")) if each}
    address = args[-1]
    if args[:1] == ["-d"]:
        if not caller.is_root:
            return Answer(1, "", "arp: writing to routing socket: Operation not permitted\n")
        if address not in known:
            return Answer(1, "", f"arp: delete: cannot locate {address}\n")
        run_ip("neigh", "del", address, "dev", known[address]["dev"])
        return Answer(0, f"{address} ({address}) deleted\n")
    if not address.startswith("-"):
        if address not in known:
            return Answer(1, f"{address} ({address}) -- no entry\n")
        known = {address: known[address]}
    lines = [
        f"? ({name}) at {each.get('lladdr', '(incomplete)')} on {each['dev']} ifscope [ethernet]\n"
        for name, each in known.items()
    ]
    return Answer(0, "".join(lines))
