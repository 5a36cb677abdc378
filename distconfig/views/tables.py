"""What a person sees on stderr: the tables of hosts and cables, and the ring in one line."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from distconfig.cabling.topology import Cable, CableEnd, Topology
from distconfig.printable import escape_controls
from distconfig.rings.ring import RingPlan
from distconfig.setup.addressing import AddressPlan

__all__ = ["cable_table", "host_table", "new_table", "ring_line", "text_row"]


def text_row(*cells: str, style: str = "") -> list[Text]:
    """Cells as plain text: what a host printed is never read as markup."""
    return [Text(escape_controls(cell), style=style) for cell in cells]


def new_table(title: str, *columns: str) -> Table:
    """A table in the style of all of ours."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def host_table(topology: Topology, ring: RingPlan | None) -> Table:
    """One line for each host, in rank order: what it is, and its ports in use."""
    table = new_table("Hosts", "rank", "host", "model", "system", "ports with a peer", "remarks")
    ranked = ring.hosts if ring else ()
    for host in [*ranked, *(each for each in topology.hosts if each not in ranked)]:
        report = topology.reports.get(host)
        if report is None:
            table.add_row(
                *text_row("", host, "", "", "", topology.unread.get(host, ""), style="dim")
            )
            continue
        rank = str(ranked.index(host)) if host in ranked else ""
        peers = [each for each in report.receptacles if each.peers]
        ports = f"{len(peers)} of {len(report.receptacles)}"
        system = f"{report.platform} {report.os_version}".replace("Darwin", "macOS").strip()
        table.add_row(
            *text_row(rank, host, report.model, system, ports, "; ".join(report.problems))
        )
    return table


def _end(end: CableEnd) -> str:
    return f"{end.host} {end.interface or '?'} (port {end.receptacle})"


def _speed(cable: Cable) -> str:
    if cable.gbps is None:
        return "unknown"
    return f"{'up to ' if cable.is_ceiling else ''}{cable.gbps} Gb/s"


def _use(cable: Cable, ring: RingPlan | None) -> str:
    for rank, hop in enumerate(ring.cables if ring else ()):
        if ring and cable in hop:
            return f"ring, rank {rank} to {(rank + 1) % ring.size}"
    if cable.is_loop:
        return "both ends in one host"
    if not cable.is_usable:
        return "not usable"
    return "spare" if ring else ""


def cable_table(
    topology: Topology, ring: RingPlan | None, addresses: AddressPlan | None = None
) -> Table:
    """One line for each cable, the ring's first: its ends, speed, use and subnet."""
    table = new_table("Cables", "from", "to", "speed", "use", "subnet", "remarks")
    used = list(dict.fromkeys(cable for hop in ring.cables for cable in hop)) if ring else []
    others = [cable for cable in topology.cables if cable not in used]
    for cable in [*used, *others, *topology.loops]:
        remarks = [f"through {name}" for name in cable.via]
        if not cable.confirmed:
            remarks.append("seen from one side only")
        subnet = addresses.subnets.get(cable) if addresses else None
        use = _use(cable, ring)
        cells = (_end(cable.a), _end(cable.b), _speed(cable), use, str(subnet or ""))
        style = "" if use.startswith("ring") else "dim"
        table.add_row(*text_row(*cells, ", ".join(remarks), style=style))
    for stranger in topology.strangers:
        name = f"{stranger.model or 'a peer'} not in --hosts"
        table.add_row(*text_row(_end(stranger.seen_from), name, "", "", "", "", style="dim"))
    return table


def ring_line(ring: RingPlan) -> str:
    """The ring in one line, each hop by its interfaces, back to where it began.

    Two hosts have one hop's worth of cables, so their line does not come back.
    """
    words = [ring.hosts[0]]
    for rank in range(1 if ring.size == 2 else ring.size):
        here, there = ring.hosts[rank], ring.hosts[(rank + 1) % ring.size]
        leaving = ",".join(cable.end_at(here).interface for cable in ring.cables[rank])
        arriving = ",".join(cable.end_at(there).interface for cable in ring.cables[rank])
        words.append(f"{leaving} -- {arriving} {there}")
    return " ".join(words)
