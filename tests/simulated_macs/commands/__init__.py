"""The fake macOS commands: words in, what the real command would print out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.simulated_macs.commands.answers import Answer, Caller
from tests.simulated_macs.commands.identity import answer_identity
from tests.simulated_macs.commands.ifconfig import ifconfig
from tests.simulated_macs.commands.nc import nc
from tests.simulated_macs.commands.ping import ping
from tests.simulated_macs.commands.routing import arp, netstat, route
from tests.simulated_macs.commands.services import ipconfig, networksetup
from tests.simulated_macs.commands.simulation import simulation
from tests.simulated_macs.commands.sudo import sudo

if TYPE_CHECKING:
    from tests.simulated_macs.helper import Host

__all__ = ["Answer", "Caller", "answer"]

_COMMANDS: dict[str, Callable[[Host, list[str], Caller], Answer]] = {
    "arp": arp,
    "ifconfig": ifconfig,
    "ipconfig": ipconfig,
    "netstat": netstat,
    "networksetup": networksetup,
    "route": route,
    "sudo": sudo,
}


def answer(host: Host, name: str, args: list[str], caller: Caller) -> Answer:
    """Run one fake command; those that read or change this host run one at a time."""
    if name == "simulation":
        return simulation(host, args, caller)
    spoken = " ".join([name, *args])
    failure = host.interference.meet(spoken)
    if failure is not None:
        return Answer(1, "", failure)
    if spoken in host.interference.sayings:
        return Answer(0, host.interference.sayings[spoken])
    if caller.is_gone():
        return Answer(1)
    if name in ("ping", "nc"):
        return {"ping": ping, "nc": nc}[name](args)
    with host.lock:
        if name in _COMMANDS:
            return _COMMANDS[name](host, args, caller)
        return answer_identity(host, name, args, caller)
