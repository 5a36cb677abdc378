"""What no Mac has: verbs for the tests, spoken to the helper over the same socket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulated_macs.commands.answers import Answer, Caller

if TYPE_CHECKING:
    from tests.simulated_macs.helper import Host

__all__ = ["simulation"]


def simulation(host: Host, args: list[str], caller: Caller) -> Answer:
    """``put-back``: configd looks again. ``members``: the bridges. ``sudo MODE``: its rights."""
    if not caller.is_root:
        return Answer(1, "", "only the test may do that\n")
    if args == ["put-back"]:
        return Answer(0, "".join(f"{port}\n" for port in host.network.put_ports_back()))
    if args == ["members"]:
        lines = [
            f"{name} {'up' if bridge.is_up else 'down'} {' '.join(bridge.members)}".rstrip()
            for name, bridge in sorted(host.network.bridges.items())
        ]
        return Answer(0, "".join(f"{line}\n" for line in lines))
    if args[:1] == ["sudo"] and len(args) == 2:
        host.sudo = args[1]
        return Answer()
    return Answer(64, "", f"simulation: {args}?\n")
