"""What no Mac has: verbs for the tests, spoken to the helper over the same socket."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tests.simulated_macs.commands.answers import Answer, Caller

if TYPE_CHECKING:
    from tests.simulated_macs.helper import Host

__all__ = ["simulation"]


def simulation(host: Host, args: list[str], caller: Caller) -> Answer:
    """Do one of ``_VERBS``."""
    if not caller.is_root:
        return Answer(1, "", "only the test may do that\n")
    verb, *words = args
    return Answer(0, _VERBS[verb](host, *words) or "")


def _put_back(host: Host) -> str:
    with host.lock:
        return "".join(f"{port}\n" for port in host.network.put_ports_back())


def _members(host: Host) -> str:
    with host.lock:
        lines = [
            f"{name} {'up' if bridge.is_up else 'down'} {' '.join(bridge.members)}".rstrip()
            for name, bridge in sorted(host.network.bridges.items())
        ]
    return "".join(f"{line}\n" for line in lines)


def _sudo(host: Host, mode: str) -> None:
    host.sudo = mode


def _stealth(host: Host) -> None:
    Path("/proc/sys/net/ipv4/icmp_echo_ignore_all").write_text("1")
    host.has_stealth = True


def _break(host: Host, pattern: str, message: str) -> None:
    host.interference.broken[pattern] = message


def _say(host: Host, words: str, stdout: str) -> None:
    host.interference.sayings[words] = stdout


def _repair(host: Host) -> None:
    host.interference.broken.clear()
    host.interference.sayings.clear()


def _hold(host: Host, pattern: str) -> None:
    host.interference.hold(pattern)


def _release(host: Host, pattern: str) -> None:
    host.interference.release(pattern)


def _await_held(host: Host, pattern: str, seconds: str) -> str:
    return "held" if host.interference.await_held(pattern, float(seconds)) else ""


_VERBS: dict[str, Callable[..., str | None]] = {
    "put-back": _put_back,
    "members": _members,
    "sudo": _sudo,
    "stealth": _stealth,
    "break": _break,
    "say": _say,
    "repair": _repair,
    "hold": _hold,
    "release": _release,
    "await-held": _await_held,
}
