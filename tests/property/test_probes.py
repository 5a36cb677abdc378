"""What hosts print: rendered values are read back, and corrupted output never makes up a fact."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distconfig.errors import DistconfigError
from distconfig.probes.ibv_devices import RdmaDevice, parse_ibv_devices
from distconfig.probes.ifconfig import InterfaceState, parse_ifconfig
from distconfig.probes.netstat import Route, parse_netstat
from distconfig.probes.networksetup_ports import HardwarePort, parse_networksetup_ports
from distconfig.probes.networksetup_services import NetworkService, parse_networksetup_services
from distconfig.probes.parsed import Parsed
from distconfig.recordings.recording import HostRecording
from distconfig.reports.report import HostReport, assemble
from tests import macos_output as shown
from tests.fakemac import MODELS, Mac, connect, connect_through, dock
from tests.scenarios import load_scenarios

# Corruption
#
# Only kinds of damage that leave a trace are tried: output cut off, a line lost, a line that
# does not belong there, a byte that is no UTF-8. A digit flipped inside an address gives
# another valid address, which nobody can tell from the right one.

HOSTS = {
    (stored.name, host.host): host for stored in load_scenarios() for host in stored.recording.hosts
}
JUNK = (b"Killed: 9", b"", b"???", b"\t\x1b[2J", b"zzz: yyy", b"   ", b"(*) ()", b"}{")


def facts(report: HostReport) -> set[tuple[object, ...]]:
    """Everything in a report that a plan could rest on; free text is none of it."""
    found: set[tuple[object, ...]] = {
        ("model", report.model),
        ("version", report.os_version),
        ("machine", report.hardware_uuid),
        ("rdma", report.rdma_status),
        ("ssh", report.ssh_connection),
        ("sudo", report.sudo.everything if report.sudo else None),
    }
    for port in report.receptacles:
        found.add(("receptacle", port.label, port.domain_uuid))
        found.add(("interface of", port.label, port.interface))
        found.add(("rdma device", port.label, port.rdma_device))
        found.add(("link", port.label, port.link_gbps))
        found.add(("ceiling", port.label, port.ceiling_gbps))
        for peer in port.peers:
            found.add(("peer", port.label, peer.domain_uuid, len(peer.via)))
            found |= {("offers", port.label, peer.domain_uuid)} if peer.offers_rdma else set()
    for each in report.interfaces:
        found.add(("interface", each.name, each.is_up, each.mtu))
        found |= {("address", each.name, address) for address in each.addresses}
        found |= {("far end", each.name, address) for address in each.peer_addresses}
        found |= {("member", each.name, member) for member in each.members}
    found |= {("route", each.destination, each.gateway, each.interface) for each in report.routes}
    found |= {("service", device, enabled) for _, device, enabled in report.services}
    return {fact for fact in found if fact[-1] not in (None, "", ())}


INTACT = {key: facts(assemble(host)) for key, host in HOSTS.items()}


@st.composite
def corrupted_hosts(draw: st.DrawFn) -> tuple[tuple[str, str], HostRecording]:
    """A host of a scenario, one of whose answers was damaged."""
    key = draw(st.sampled_from(sorted(HOSTS)))
    host = HOSTS[key]
    probe = draw(st.sampled_from(sorted(name for name, done in host.probes.items() if done.stdout)))
    stdout = host.probes[probe].stdout
    lines = stdout.splitlines(keepends=True)
    place = draw(st.integers(0, len(stdout) - 1))
    line = draw(st.integers(0, len(lines) - 1))
    kind = draw(st.sampled_from(("cut", "lost line", "junk line", "bad byte")))
    if kind == "cut":
        damaged = stdout[:place]
    elif kind == "lost line":
        damaged = b"".join(lines[:line] + lines[line + 1 :])
    elif kind == "junk line":
        damaged = b"".join([*lines[:line], draw(st.sampled_from(JUNK)), b"\n", *lines[line:]])
    else:
        damaged = stdout[:place] + b"\xff" + stdout[place + 1 :]
    answers: Mapping[str, object] = {
        **host.probes,
        probe: replace(host.probes[probe], stdout=damaged),
    }
    return key, HostRecording(host.host, answers)  # type: ignore[arg-type]


@given(corrupted_hosts())
def test_damaged_output_makes_up_no_fact(found: tuple[tuple[str, str], HostRecording]) -> None:
    key, host = found
    try:
        report = assemble(host)
    except DistconfigError:
        return
    assert facts(report) - INTACT[key] == set()


@given(st.sampled_from(sorted(HOSTS)), st.binary(max_size=200), st.data())
def test_any_bytes_end_in_an_error_or_a_report(
    key: tuple[str, str], stdout: bytes, data: st.DataObject
) -> None:
    host = HOSTS[key]
    probe = data.draw(st.sampled_from(sorted(host.probes)))
    answers = {**host.probes, probe: replace(host.probes[probe], stdout=stdout)}
    with contextlib.suppress(DistconfigError):
        assemble(HostRecording(host.host, answers))


# Round trips

names = st.from_regex(r"[a-z]{2,5}[0-9]{1,3}", fullmatch=True)
macs = st.binary(min_size=6, max_size=6).map(lambda octets: octets.hex(":"))
addresses = st.builds(
    lambda number, length: IPv4Interface((number, length)),
    st.integers(0, 2**32 - 1),
    st.integers(0, 32),
)
texts = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1).filter(
    lambda text: text == text.strip() and "\x85" not in text
)


@st.composite
def interfaces(draw: st.DrawFn) -> list[shown.Interface]:
    """Interfaces as a kernel may have them: some up, some bridges, some tunnels."""
    listed = draw(st.lists(names, unique=True, min_size=1, max_size=6))
    found = []
    for name in listed:
        far = draw(st.none() | st.integers(0, 2**32 - 1).map(IPv4Address))
        own = draw(st.lists(addresses, max_size=3))
        flags = draw(st.integers(0, 0xFFFF))
        found.append(
            shown.Interface(
                name,
                flags=flags & ~shown.BROADCAST | shown.POINTOPOINT if far else flags,
                mtu=draw(st.integers(0, 65535)),
                options=draw(st.sampled_from((0, 0x460, 0x63))),
                mac=draw(st.just("") | macs),
                addresses=(
                    shown.Inet6("fe80::1"),
                    *(shown.Inet(address, far) for address in own),
                ),
                members=draw(st.none() | st.lists(st.sampled_from(listed), unique=True).map(tuple)),
                has_nd6=draw(st.booleans()),
                media=draw(st.sampled_from(("", "autoselect", "<unknown type>"))),
                is_active=draw(st.sampled_from((None, True, False))),
            )
        )
    return found


def as_read(each: shown.Interface) -> InterfaceState:
    inet = [entry for entry in each.addresses if isinstance(entry, shown.Inet)]
    return InterfaceState(
        each.name,
        is_up=bool(each.flags & shown.UP),
        mtu=each.mtu,
        mac=each.mac,
        is_active=each.is_active,
        addresses=tuple(entry.address for entry in inet),
        peer_addresses=tuple(entry.peer for entry in inet if entry.peer is not None),
        members=each.members or (),
        is_bridge=each.members is not None,
    )


@given(interfaces(), st.booleans())
def test_interfaces_are_read_back(listed: list[shown.Interface], is_old: bool) -> None:
    text = shown.render_ifconfig(listed, is_old=is_old)
    assert parse_ifconfig(text.encode()) == Parsed(tuple(as_read(each) for each in listed))


routes = st.builds(
    lambda network, gateway, flags, interface: shown.NetRoute(
        network, gateway, flags + ("H" if network.prefixlen == 32 else ""), interface
    ),
    addresses.map(lambda address: address.network),
    st.integers(0, 2**32 - 1).map(lambda number: str(IPv4Address(number)))
    | st.sampled_from(("link#4", "0:11:32:5:c7:9f")),
    st.sampled_from(("U", "UGSc", "UCS", "UGScIg")),
    names,
)


@given(st.lists(routes, max_size=8))
def test_routes_are_read_back(listed: list[shown.NetRoute]) -> None:
    text = shown.render_netstat(listed, lines6=("::1  ::1  UHL  lo0",))
    assert parse_netstat(text.encode()) == Parsed(
        tuple(
            Route(
                each.destination,
                IPv4Address(each.gateway) if each.gateway.count(".") == 3 else None,
                each.interface,
                each.flags,
            )
            for each in listed
        )
    )


@given(st.lists(st.tuples(texts, names, st.just("N/A") | macs), max_size=6))
def test_hardware_ports_are_read_back(listed: list[tuple[str, str, str]]) -> None:
    ports = [shown.HardwarePort(*each) for each in listed]
    vlans = [shown.Vlan("Lab", "en0", "vlan0", 42)]
    text = shown.render_networksetup_ports(ports, vlans)
    assert parse_networksetup_ports(text.encode()) == Parsed(
        tuple(
            HardwarePort(name, device, "" if mac == "N/A" else mac) for name, device, mac in listed
        )
    )


@given(st.lists(st.tuples(texts, texts, st.just("") | names, st.booleans()), max_size=6))
def test_services_are_read_back(listed: list[tuple[str, str, str, bool]]) -> None:
    text = shown.render_networksetup_services([shown.Service(*each) for each in listed])
    assert parse_networksetup_services(text.encode()) == Parsed(
        tuple(NetworkService(*each) for each in listed)
    )


@given(st.lists(st.tuples(names, st.binary(min_size=8, max_size=8)), max_size=8))
def test_rdma_devices_are_read_back(listed: list[tuple[str, bytes]]) -> None:
    text = shown.render_ibv_devices([(f"rdma_{name}", guid.hex()) for name, guid in listed])
    assert parse_ibv_devices(text.encode()) == Parsed(
        tuple(RdmaDevice(f"rdma_{name}", name, guid.hex()) for name, guid in listed)
    )


@st.composite
def cablings(draw: st.DrawFn) -> tuple[list[Mac], dict[tuple[str, int], tuple[str, int, bool]]]:
    """Macs of any models, cabled at random, and where each receptacle's cable ends."""
    models = draw(st.lists(st.sampled_from(sorted(MODELS)), min_size=2, max_size=5))
    languages = st.sampled_from(("en", "de", "zh"))
    hosts = [
        Mac(
            f"host{place}", model, "13.6.7" if "Book" in model else "26.4", language=draw(languages)
        )
        for place, model in enumerate(models)
    ]
    free = [(host, receptacle) for host in hosts for receptacle in host.receptacles]
    ends = draw(st.permutations(free))
    wiring: dict[tuple[str, int], tuple[str, int, bool]] = {}
    for (a, at), (b, bt) in zip(ends[::2], ends[1::2], strict=False):
        if not draw(st.booleans()):
            continue
        is_docked = draw(st.booleans())
        if is_docked:
            connect_through(dock(), a, at, b, bt)
        else:
            connect(a, at, b, bt)
        wiring[a.name, at] = (b.name, bt, is_docked)
        wiring[b.name, bt] = (a.name, at, False)
    return hosts, wiring


@given(cablings())
def test_every_cable_is_seen_where_it_is(
    found: tuple[list[Mac], dict[tuple[str, int], tuple[str, int, bool]]],
) -> None:
    hosts, wiring = found
    by_name = {host.name: host for host in hosts}
    for host in hosts:
        report = assemble(HostRecording(host.name, host.answers()))
        assert (report.notes, report.problems) == ((), ())
        assert {port.label: port.interface for port in report.receptacles} == {
            str(number): name for number, name in host.interfaces.items()
        }
        for port in report.receptacles:
            far = wiring.get((host.name, int(port.label)))
            assert port.is_connected == (far is not None)
            doubtful = {
                each.sighting.domain_uuid
                for each in report.ambiguous
                if port.label in each.candidates
            }
            seen = {(peer.domain_uuid, bool(peer.via)) for peer in port.peers}
            if far is None:
                assert seen == set()
                continue
            peer_uuid = UUID(by_name[far[0]].domain_uuid(far[1]))
            assert seen == {(peer_uuid, far[2])} or (host.is_intel and peer_uuid in doubtful)


@pytest.mark.parametrize("key", sorted(HOSTS), ids="/".join)
def test_an_intact_host_has_facts(key: tuple[str, str]) -> None:
    assert len(INTACT[key]) >= 2
