"""``ifconfig``: prints as Apple's does, and changes the interface of the namespace.

Error texts and their exit status follow ``ifconfig.c`` and ``ifbridge.c`` of network_cmds.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Interface
from typing import TYPE_CHECKING

from tests.macos_output import render_ifconfig
from tests.simulated_macs.commands.answers import Answer, Caller
from tests.simulated_macs.network import MAX_MTU, Network, NetworkRefusal
from tests.simulated_macs.portrait import live_interfaces, portray

if TYPE_CHECKING:
    from tests.simulated_macs.helper import Host

__all__ = ["ifconfig"]


class _Failure(Exception):
    """What ifconfig prints behind its own name before it exits with 1."""


def ifconfig(host: Host, args: list[str], caller: Caller) -> Answer:
    """``ifconfig [-a]``, ``ifconfig NAME``, ``ifconfig NAME WORDS...``."""
    name, words = (args or ["-a"])[0], args[1:]
    if name in ("-a", "-l") or not words:
        return _show(host, name)
    is_creation = words[0] == "create" and name.startswith("bridge")
    if not host.network.exists(name) and not is_creation:
        return _no_interface(name)
    try:
        _apply(host.network, name, words, caller)
    except _Failure as failure:
        return Answer(1, "", f"ifconfig: {failure}\n")
    return Answer()


def _show(host: Host, name: str) -> Answer:
    fake = portray(host.world_file.read(), host.network.mac.name)
    interfaces = live_interfaces(fake, host.network)
    names = [each.name for each in interfaces]
    if name == "-l":
        return Answer(0, " ".join(names) + "\n")
    if name == "-a":
        return Answer(0, render_ifconfig(interfaces))
    if name not in names:
        return _no_interface(name)
    return Answer(0, render_ifconfig(interfaces, only=[name]))


def _no_interface(name: str) -> Answer:
    return Answer(1, "", f"ifconfig: interface {name} does not exist\n")


def _apply(network: Network, name: str, words: list[str], caller: Caller) -> None:
    """Carry out the words from left to right; an address with its netmask comes last."""
    rest = list(words)
    if not caller.is_root:
        raise _Failure(_refusal_for(rest))
    address: IPv4Address | None = None
    mask = ""
    is_alias = is_removal = False
    while rest:
        word = rest.pop(0)
        if word == "inet":
            continue
        if word in ("up", "down"):
            network.set_up(name, word == "up")
        elif word in ("alias", "add"):
            is_alias = True
        elif word in ("-alias", "delete", "remove"):
            is_removal = True
        elif word in ("mtu", "netmask", "broadcast", "addm", "deletem"):
            value = _argument(rest, word)
            if word == "mtu":
                _set_mtu(network, name, value)
            elif word == "netmask":
                mask = value
            elif word != "broadcast":
                _change_members(network, name, word, value)
        elif word == "create":
            _try("ioctl (SIOCIFCREATE2)", lambda: network.create_bridge(name, "36:00:00:00:00:01"))
        elif word == "destroy":
            _destroy(network, name)
        else:
            address, mask = _parse_address(word, mask)
    if address is not None:
        _set_address(network, name, address, mask, is_alias, is_removal)
    elif is_removal:
        _remove_first_address(network, name)


def _refusal_for(words: list[str]) -> str:
    if words[0] in ("addm", "deletem"):
        verb = {"addm": "BRDGADD", "deletem": "BRDGDEL"}[words[0]]
        return f"{verb} {words[1]}: Operation not permitted"
    if words[0] in ("up", "down"):
        return f"{words[0]}: permission denied"
    if words[0] == "mtu":
        return "ioctl (set mtu): permission denied"
    return "ioctl (SIOCAIFADDR): permission denied"


def _argument(rest: list[str], word: str) -> str:
    if not rest:
        raise _Failure(f"'{word}' requires argument")
    return rest.pop(0)


def _try(what: str, change: Callable[[], None]) -> None:
    try:
        change()
    except NetworkRefusal as error:
        raise _Failure(f"{what}: {error}") from error


def _parse_address(word: str, mask: str) -> tuple[IPv4Address, str]:
    text, _, length = word.partition("/")
    try:
        return IPv4Address(text), length or mask
    except ValueError as error:
        raise _Failure(f"{word}: bad value") from error


def _interface(address: IPv4Address, mask: str) -> IPv4Interface:
    """The address with its mask, which may be dotted, hexadecimal, a length or left out."""
    if mask.startswith("0x"):
        mask = str(IPv4Address(int(mask, 16)))
    if not mask:
        first = address.packed[0]
        mask = "8" if first < 128 else "16" if first < 192 else "24"
    try:
        return IPv4Interface(f"{address}/{mask}")
    except ValueError as error:
        raise _Failure(f"{mask}: bad value") from error


def _set_address(
    network: Network,
    name: str,
    address: IPv4Address,
    mask: str,
    is_alias: bool,
    is_removal: bool,
) -> None:
    existing = network.link(name).addresses
    if is_removal:
        for each in existing:
            if each.ip == address:
                network.remove_address(name, each)
                return
        raise _Failure("ioctl (SIOCDIFADDR): Can't assign requested address")
    wanted = _interface(address, mask)
    if wanted in existing:
        network.set_up(name, True)
        return
    # Without "alias" BSD replaces the first address of the interface.
    for each in existing:
        if each.ip == address or (not is_alias and each == existing[0]):
            network.remove_address(name, each)
    _try("ioctl (SIOCAIFADDR)", lambda: network.add_address(name, wanted))


def _remove_first_address(network: Network, name: str) -> None:
    existing = network.link(name).addresses
    if not existing:
        raise _Failure("ioctl (SIOCDIFADDR): Can't assign requested address")
    network.remove_address(name, existing[0])


def _set_mtu(network: Network, name: str, value: str) -> None:
    if not value.isdecimal() or not 72 <= int(value) <= MAX_MTU:
        raise _Failure("ioctl (set mtu): Invalid argument")
    _try("ioctl (set mtu)", lambda: network.set_mtu(name, int(value)))


def _change_members(network: Network, name: str, word: str, port: str) -> None:
    verb = {"addm": "BRDGADD", "deletem": "BRDGDEL"}[word]
    if name not in network.bridges:
        raise _Failure(f"{verb} {port}: Invalid argument")
    if not network.exists(port):
        reason = "No such file or directory" if word == "deletem" else "Device not configured"
        raise _Failure(f"{verb} {port}: {reason}")
    change = network.add_member if word == "addm" else network.remove_member
    _try(f"{verb} {port}", lambda: change(name, port))


def _destroy(network: Network, name: str) -> None:
    if name not in network.bridges:
        raise _Failure("SIOCIFDESTROY: Invalid argument")
    network.destroy_bridge(name)
