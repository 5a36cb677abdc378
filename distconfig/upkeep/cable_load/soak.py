"""A long load: every cable in both directions at once, with each dip, break and lost link noted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from threading import Event

from distconfig.errors import ProbeError, UnexpectedOutput
from distconfig.hosts.deadline import Deadline
from distconfig.hosts.shell import Shell
from distconfig.probes.ifconfig import parse_ifconfig
from distconfig.setup.addressed import AddressedCable, AddressedEnd
from distconfig.upkeep.cable_load.loader import Loader, LoadFailed, number_in
from distconfig.upkeep.cable_load.streams import Loaders, all_at_once, find_loaders, start_stream
from distconfig.upkeep.cable_test.results import DirectionResult, Load
from distconfig.upkeep.cable_test.samples import LinkWatch, Sample, find_dips

__all__ = ["soak_cables", "watch_links"]

_GRACE_S = 20.0
_SAMPLE_S = 1.0
_PAUSE_S = 1.0
_LOOK_EVERY_S = 2.0


def soak_cables(
    cables: Sequence[AddressedCable],
    loaders: Loaders,
    *,
    seconds: float,
    tell: Callable[[str], None],
    until: Event,
) -> dict[AddressedCable, tuple[DirectionResult, DirectionResult]]:
    """Both directions of every cable, all at once; where a stream breaks a new one is started.

    Args:
        seconds: For all of it.
        tell: Hears of each stream that breaks or flows again, as it does.
        until: Set it to end sooner, with what was found by then.
    """
    found: dict[tuple[AddressedCable, bool], DirectionResult] = {}

    def soak(cable: AddressedCable, is_there: bool) -> None:
        source, target = cable.ends if is_there else cable.ends[::-1]
        found[cable, is_there] = _soak_direction(source, target, loaders, seconds, tell, until)

    all_at_once([partial(soak, cable, is_there) for cable in cables for is_there in (True, False)])
    return {cable: (found[cable, True], found[cable, False]) for cable in cables}


def _soak_direction(
    source: AddressedEnd,
    target: AddressedEnd,
    loaders: Loaders,
    seconds: float,
    tell: Callable[[str], None],
    until: Event,
) -> DirectionResult:
    try:
        sender, receiver = find_loaders(source, target, loaders)
    except LoadFailed as error:
        return DirectionResult(source, target, no_load_because=str(error))
    whole = Deadline(seconds)
    samples: list[Sample] = []
    breaks: list[str] = []
    flows = True

    def note(what: str) -> None:
        at = f"second {seconds - whole.left():.0f}"
        breaks.append(f"the stream {what} at {at}")
        tell(f"{at}: the stream from {source.host} to {target.host} {what}")

    while not whole.has_passed and not until.is_set():
        begun = seconds - whole.left()
        try:
            for each in _stream_sampled(sender, receiver, source, target, whole.left()):
                samples.append(replace(each, at=begun + each.at))
                if not flows:
                    flows = True
                    note("flowed again")
                if until.is_set():
                    break
        except LoadFailed as error:
            if flows:
                flows = False
                note(f"broke ({error})")
            until.wait(min(_PAUSE_S, whole.left()))
    nbytes = sum(sample.nbytes for sample in samples)
    load = Load(nbytes, seconds - whole.left(), dips=find_dips(samples), breaks=tuple(breaks))
    return DirectionResult(source, target, load=load)


def _stream_sampled(
    sender: Loader, receiver: Loader, source: AddressedEnd, target: AddressedEnd, seconds: float
) -> Iterator[Sample]:
    """One stream, and what came in each second of it.

    Raises:
        LoadFailed: It broke.
    """
    deadline = Deadline(seconds + _GRACE_S)
    listening, sending = start_stream(
        sender, receiver, source, target, seconds, deadline, every=_SAMPLE_S
    )
    before, since = 0.0, 0.0
    while "so_far" in (answer := listening.wait(deadline)):
        so_far, at = number_in(answer, "so_far"), number_in(answer, "seconds")
        yield Sample(at, at - since, int(so_far - before))
        before, since = so_far, at
    sending.wait_for("bytes", deadline)


def watch_links(
    shells: Mapping[str, Shell],
    cables: Sequence[AddressedCable],
    tell: Callable[[str], None],
    until: Event,
) -> None:
    """Tell each link that is lost or comes back, as it does, until the event is set."""
    ends = [end for cable in cables for end in cable.ends if end.interface]
    watch = LinkWatch({(end.host, end.interface) for end in ends})
    start = time.monotonic()
    while not until.wait(_LOOK_EVERY_S):
        for host, shell in shells.items():
            try:
                done = shell.run("/sbin/ifconfig -a", timeout_s=_LOOK_EVERY_S * 5)
                interfaces = parse_ifconfig(done.stdout).value
                events = watch.look(host, interfaces, time.monotonic() - start)
            except (ProbeError, UnexpectedOutput) as error:
                events = watch.miss(host, error.what, time.monotonic() - start)
            for event in events:
                tell(event)
