"""What one host says about itself, as values: `HostReport` and its parts."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from distconfig.errors import ReportError
from distconfig.probes import PROBES, is_wanted
from distconfig.probes.computer_name import parse_computer_name
from distconfig.probes.hardware import parse_hardware
from distconfig.probes.hw_model import parse_hw_model
from distconfig.probes.ibv_devices import parse_ibv_devices
from distconfig.probes.ifconfig import InterfaceState, parse_ifconfig
from distconfig.probes.ioreg_ports import parse_ioreg_ports
from distconfig.probes.netstat import Route, parse_netstat
from distconfig.probes.network_interfaces import parse_network_interfaces
from distconfig.probes.networksetup_ports import parse_networksetup_ports
from distconfig.probes.networksetup_services import parse_networksetup_services
from distconfig.probes.rdma_ctl import parse_rdma_ctl
from distconfig.probes.ssh_connection import parse_ssh_connection
from distconfig.probes.sudo import SudoAbility, parse_sudo
from distconfig.probes.sw_vers import parse_sw_vers
from distconfig.probes.system_profiler import parse_system_profiler, parse_system_profiler_xml
from distconfig.probes.thunderbolt_buses import Buses
from distconfig.probes.uname import Uname, parse_uname
from distconfig.recordings.recording import HostRecording
from distconfig.reports.port_interfaces import InterfaceSources
from distconfig.reports.probe_answers import ProbeAnswers
from distconfig.reports.receptacles import (
    AmbiguousSighting,
    PeerSighting,
    Receptacle,
    assemble_receptacles,
)

__all__ = [
    "AmbiguousSighting",
    "Bridge",
    "HostReport",
    "InterfaceState",
    "PeerSighting",
    "Receptacle",
    "Route",
    "SudoAbility",
    "assemble",
]


@dataclass(frozen=True)
class Bridge:
    """A bridge and its members, found by membership and never by name."""

    name: str
    is_up: bool
    members: tuple[str, ...]


@dataclass(frozen=True)
class HostReport:
    """Everything one host said, put together.

    Args:
        host: The name as the user typed it.
        platform: ``Darwin``, ``Linux`` or whatever ``uname -s`` said.
        hardware_uuid: Identity of the machine; None when not printed.
        receptacles: In ascending order of label (numeric labels first, as numbers).
        ambiguous: Sightings that could not be given to one receptacle.
        interfaces: In printed order.
        hardware_ports: (name, interface) of every network port, in printed order.
        services: (name, interface, is enabled) of every network service.
        ssh_connection: The four fields of ``$SSH_CONNECTION`` (client address, client
            port, server address, server port); empty without ssh.
        rdma_status: ``enabled``, ``disabled``, or empty when there is no ``rdma_ctl``.
        notes: Lines that were not understood and carried no fact we use.
        problems: Probes that were missing or not understood, in sentences for a person.
        unread: Names of the probes whose facts are not known: missing, failed or not
            understood. With ``ifconfig`` among them, no interfaces does not mean none.
    """

    host: str
    platform: str = "Darwin"
    computer_name: str = ""
    model: str = ""
    os_version: str = ""
    hardware_uuid: UUID | None = None
    receptacles: tuple[Receptacle, ...] = ()
    ambiguous: tuple[AmbiguousSighting, ...] = ()
    interfaces: tuple[InterfaceState, ...] = ()
    routes: tuple[Route, ...] = ()
    hardware_ports: tuple[tuple[str, str], ...] = ()
    services: tuple[tuple[str, str, bool], ...] = ()
    ssh_connection: tuple[str, ...] = ()
    sudo: SudoAbility | None = None
    rdma_status: str = ""
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        labels = [receptacle.label for receptacle in self.receptacles]
        if len(set(labels)) != len(labels):
            raise ValueError(f"{self.host}: receptacle labels repeat: {labels}")

    @property
    def bridges(self) -> tuple[Bridge, ...]:
        """Every interface that is a bridge or holds members."""
        return tuple(
            Bridge(each.name, each.is_up, each.members)
            for each in self.interfaces
            if each.is_bridge or each.members
        )

    def receptacle(self, label: str) -> Receptacle:
        """The receptacle with this label.

        Raises:
            KeyError: The host has none.
        """
        for each in self.receptacles:
            if each.label == label:
                return each
        raise KeyError(label)

    def interface(self, name: str) -> InterfaceState | None:
        """The state of an interface, or None if ``ifconfig`` did not list it."""
        return next((each for each in self.interfaces if each.name == name), None)


def _read_buses(answers: ProbeAnswers) -> Buses:
    xml = next(probe for probe in PROBES if probe.instead_of == "system_profiler")
    if xml.name in answers.probes and is_wanted(xml, answers.probes):
        return answers.require(xml.name, parse_system_profiler_xml)
    return answers.require("system_profiler", parse_system_profiler)


def _read_sudo(answers: ProbeAnswers) -> SudoAbility | None:
    completed = answers.probes.get("sudo")
    if completed is None:
        answers.miss("sudo", "not recorded")
        return None
    return parse_sudo(completed, answers.probes.get("sudo_list")).value


def _read_receptacles(
    answers: ProbeAnswers, buses: Buses, sources: InterfaceSources
) -> tuple[tuple[Receptacle, ...], tuple[AmbiguousSighting, ...]]:
    try:
        receptacles, ambiguous, problems = assemble_receptacles(buses.buses, sources)
    except ReportError as error:
        error.host = answers.host
        raise
    answers.problems += [*buses.problems, *problems]
    return receptacles, ambiguous


def _assemble_other(answers: ProbeAnswers, uname: Uname) -> HostReport:
    return HostReport(
        answers.host,
        platform=uname.platform,
        os_version=uname.release,
        ssh_connection=answers.read("ssh_connection", parse_ssh_connection) or (),
        notes=tuple(answers.notes),
        problems=(f"{uname.platform} hosts are not supported yet; its ports were not read.",),
        unread=tuple(answers.unread),
    )


def _assemble_mac(answers: ProbeAnswers, uname: Uname) -> HostReport:
    buses = _read_buses(answers)
    interfaces = answers.read("ifconfig", parse_ifconfig) or ()
    ports = answers.read("networksetup_ports", parse_networksetup_ports) or ()
    is_listed = "ifconfig" not in answers.unread
    sources = InterfaceSources(
        ioreg=answers.read("ioreg_ports", parse_ioreg_ports) or (),
        hardware_ports=ports,
        stored=answers.read("network_interfaces", parse_network_interfaces) or (),
        rdma_devices=answers.read("ibv_devices", parse_ibv_devices) or (),
        known_interfaces=frozenset(each.name for each in interfaces) if is_listed else None,
    )
    receptacles, ambiguous = _read_receptacles(answers, buses, sources)
    services = answers.read("networksetup_services", parse_networksetup_services) or ()
    return HostReport(
        answers.host,
        platform=uname.platform,
        computer_name=answers.read("computer_name", parse_computer_name) or "",
        model=answers.read("hw_model", parse_hw_model) or "",
        os_version=answers.read("sw_vers", parse_sw_vers) or "",
        hardware_uuid=answers.read("hardware", parse_hardware),
        receptacles=receptacles,
        ambiguous=ambiguous,
        interfaces=interfaces,
        routes=answers.read("netstat", parse_netstat) or (),
        hardware_ports=tuple((port.name, port.device) for port in ports),
        services=tuple((each.name, each.device, each.is_enabled) for each in services),
        ssh_connection=answers.read("ssh_connection", parse_ssh_connection) or (),
        sudo=_read_sudo(answers),
        rdma_status=answers.read("rdma_ctl", parse_rdma_ctl) or "",
        notes=tuple(answers.notes),
        problems=tuple(answers.problems),
        unread=tuple(answers.unread),
    )


def assemble(recording: HostRecording) -> HostReport:
    """What a host's answers mean, put together.

    A probe that is missing or not understood costs only its facts and is named
    in ``problems``; without `uname`, or without `system_profiler` on macOS,
    nothing can be said. A host that is no Mac has a report without ports.

    Raises:
        ReportError: One of those two did not answer, or was not understood.
    """
    answers = ProbeAnswers(recording)
    uname = answers.require("uname", parse_uname)
    if uname.platform != "Darwin":
        return _assemble_other(answers, uname)
    return _assemble_mac(answers, uname)
