"""Streams over cables, in rounds in which every host is on one cable only."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Thread

from distconfig.errors import UnexpectedOutput
from distconfig.hosts.deadline import Deadline
from distconfig.probes.interface_counters import ByteCounters, parse_interface_counters
from distconfig.setup.addressed import AddressedCable, AddressedEnd
from distconfig.upkeep.cable_load.loader import Loader, LoadFailed, Order, number_in
from distconfig.upkeep.cable_test.results import DirectionResult, Load
from distconfig.upkeep.cable_test.rounds import plan_rounds

__all__ = ["Loaders", "all_at_once", "find_loaders", "load_in_rounds", "start_stream"]

_GRACE_S = 20.0

#: Host to its sender and receiver, or the reason why there is none.
Loaders = Mapping[str, Loader | str]
Counters = Mapping[str, ByteCounters]


def load_in_rounds(
    cables: Sequence[AddressedCable], loaders: Loaders, *, seconds: float
) -> dict[AddressedCable, tuple[DirectionResult, DirectionResult]]:
    """Both directions of every cable, one after the other, no host on two cables at once.

    Args:
        seconds: For each direction.
    """
    rounds = plan_rounds(cables, [(cable.a.host, cable.b.host) for cable in cables])
    found: dict[AddressedCable, tuple[DirectionResult, DirectionResult]] = {}
    for group in rounds:
        all_at_once([partial(_load_cable, cable, loaders, seconds, found) for cable in group])
    return found


def _load_cable(
    cable: AddressedCable,
    loaders: Loaders,
    seconds: float,
    found: dict[AddressedCable, tuple[DirectionResult, DirectionResult]],
) -> None:
    there = _load_direction(cable.a, cable.b, loaders, seconds)
    found[cable] = (there, _load_direction(cable.b, cable.a, loaders, seconds))


def all_at_once(tasks: Sequence[Callable[[], None]]) -> None:
    """Do all tasks, each in a thread of its own, and return when all are done."""
    threads = [Thread(target=task, daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _load_direction(
    source: AddressedEnd, target: AddressedEnd, loaders: Loaders, seconds: float
) -> DirectionResult:
    try:
        sender, receiver = find_loaders(source, target, loaders)
    except LoadFailed as error:
        return DirectionResult(source, target, no_load_because=str(error))
    try:
        load = _send(sender, receiver, source, target, seconds)
    except LoadFailed as error:
        return DirectionResult(source, target, broke_because=str(error))
    return DirectionResult(source, target, load=load)


def find_loaders(
    source: AddressedEnd, target: AddressedEnd, loaders: Loaders
) -> tuple[Loader, Loader]:
    """The sender at one end and the receiver at the other.

    Raises:
        LoadFailed: A host has none.
    """
    found = []
    for end in (source, target):
        loader = loaders[end.host]
        if isinstance(loader, str):
            raise LoadFailed(loader)
        found.append(loader)
    return found[0], found[1]


def _send(
    sender: Loader, receiver: Loader, source: AddressedEnd, target: AddressedEnd, seconds: float
) -> Load:
    """One stream over a cable, with what the counters of both hosts say of it."""
    deadline = Deadline(seconds + _GRACE_S)
    before = [_read_counters(each, deadline) for each in (sender, receiver)]
    listening, sending = start_stream(sender, receiver, source, target, seconds, deadline)
    sending.wait_for("bytes", deadline)
    received = listening.wait_for("bytes", deadline)
    after = [_read_counters(each, deadline) for each in (sender, receiver)]
    return Load(
        int(number_in(received, "bytes")),
        number_in(received, "seconds"),
        _growth(before[0], after[0], lambda each: each.sent),
        _growth(before[1], after[1], lambda each: each.received),
    )


def _growth(
    before: Counters, after: Counters, count: Callable[[ByteCounters], int]
) -> dict[str, int]:
    return {name: count(after[name]) - count(before[name]) for name in after if name in before}


def start_stream(
    sender: Loader,
    receiver: Loader,
    source: AddressedEnd,
    target: AddressedEnd,
    seconds: float,
    deadline: Deadline,
    *,
    every: float = 0.0,
) -> tuple[Order, Order]:
    """Have one host listen and the other send to it; the two orders, in this order.

    Args:
        every: Let the receiver tell so often, in seconds, how much came; 0 for only at the end.

    Raises:
        LoadFailed: The receiver does not listen or is not reached, or a host is gone.
    """
    assert source.address is not None
    assert target.address is not None
    token = secrets.token_hex(16)
    at = str(target.address.ip)
    listening = receiver.order("listen", address=at, token=token, seconds=seconds, every=every)
    tcp_port = number_in(listening.wait_for("tcp_port", deadline), "tcp_port")
    here = str(source.address.ip)
    to = [at, int(tcp_port)]
    sending = sender.order("send", to=to, source=here, token=token, seconds=seconds)
    sending.wait_for("connected", deadline)
    return listening, sending


def _read_counters(loader: Loader, deadline: Deadline) -> Counters:
    """The byte counters of a host; none if they can not be read."""
    text = str(loader.order("counters").wait(deadline).get("text", ""))
    try:
        return parse_interface_counters(text.encode()).value
    except UnexpectedOutput:
        return {}
