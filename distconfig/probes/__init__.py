"""The commands a host is asked to run, as a table; a module per command reads what it printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from distconfig.hosts.shell import Completed

__all__ = ["PROBES", "Probe", "is_wanted", "probes_for"]

_EVERYWHERE = ("Darwin", "Linux")


@dataclass(frozen=True)
class Probe:
    """One command that a host is asked to run; it changes nothing there.

    Args:
        name: Its name in a recording.
        argv: Absolute path first.
        platforms: What ``uname -s`` must say for the probe to run.
        instead_of: A probe that this one replaces where that one was not understood.
    """

    name: str
    argv: tuple[str, ...]
    platforms: tuple[str, ...] = ("Darwin",)
    instead_of: str = ""


_SYSTEM_PROFILER = ("/usr/sbin/system_profiler", "SPThunderboltDataType")
_STORED_INTERFACES = "/Library/Preferences/SystemConfiguration/NetworkInterfaces.plist"

PROBES: tuple[Probe, ...] = (
    Probe("uname", ("/usr/bin/uname", "-srm"), _EVERYWHERE),
    Probe("system_profiler", (*_SYSTEM_PROFILER, "-json")),
    Probe("system_profiler_xml", (*_SYSTEM_PROFILER, "-xml"), instead_of="system_profiler"),
    Probe("networksetup_ports", ("/usr/sbin/networksetup", "-listallhardwareports")),
    Probe("networksetup_services", ("/usr/sbin/networksetup", "-listnetworkserviceorder")),
    Probe("ifconfig", ("/sbin/ifconfig", "-a")),
    Probe("netstat", ("/usr/sbin/netstat", "-rn")),
    Probe("ioreg_ports", ("/usr/sbin/ioreg", "-a", "-l", "-r", "-c", "AppleThunderboltIPPort")),
    Probe("network_interfaces", ("/bin/cat", _STORED_INTERFACES)),
    Probe("ibv_devices", ("/usr/bin/ibv_devices",)),
    Probe("rdma_ctl", ("/usr/bin/rdma_ctl", "status")),
    Probe("hw_model", ("/usr/sbin/sysctl", "-n", "hw.model")),
    Probe("sw_vers", ("/usr/bin/sw_vers",)),
    Probe("hardware", ("/usr/sbin/ioreg", "-a", "-r", "-d", "1", "-c", "IOPlatformExpertDevice")),
    Probe("computer_name", ("/usr/sbin/scutil", "--get", "ComputerName")),
    Probe("sudo", ("/usr/bin/sudo", "-n", "true")),
    Probe("sudo_list", ("/usr/bin/sudo", "-n", "-l")),
    Probe("ssh_connection", ("/usr/bin/printenv", "SSH_CONNECTION"), _EVERYWHERE),
)


def probes_for(platform: str) -> tuple[Probe, ...]:
    """The probes that make sense where ``uname -s`` prints this platform, in table order.

    Example:
        >>> [probe.name for probe in probes_for("Linux")]
        ['uname', 'ssh_connection']
    """
    return tuple(probe for probe in PROBES if platform in probe.platforms)


def is_wanted(probe: Probe, answers: Mapping[str, Completed]) -> bool:
    """Whether a probe has to run, given the answers of those before it in the table.

    A probe that replaces another one runs only where that one failed or printed
    something that does not begin like JSON: ``-json`` is unknown to the
    ``system_profiler`` of macOS 10.14 and older.

    Example:
        >>> json, xml = PROBES[1], PROBES[2]
        >>> is_wanted(xml, {json.name: Completed(json.argv, 0, b'  {"a": []}')})
        False
        >>> is_wanted(xml, {json.name: Completed(json.argv, 64, b"usage:")})
        True
    """
    if not probe.instead_of:
        return True
    replaced = answers.get(probe.instead_of)
    if replaced is None:
        return True
    return replaced.returncode != 0 or not replaced.stdout.lstrip().startswith(b"{")
