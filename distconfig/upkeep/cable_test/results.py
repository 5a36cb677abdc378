"""What was measured on a cable, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from distconfig.setup.addressed import AddressedCable, AddressedEnd
from distconfig.upkeep.tries import TryResult

__all__ = ["CableResult", "DirectionResult", "Load"]


@dataclass(frozen=True)
class Load:
    """One stream as its receiver saw it, and what the counters of both hosts say of it.

    Args:
        sent: Bytes that each interface of the sending host sent meanwhile; empty if the
            counters could not be read.
        received: The same of what the receiving host's interfaces received.
        dips: For a long load the seconds in which less than half of the usual came.
        breaks: For a long load, sentences about when and how the stream ended early.
    """

    nbytes: int
    seconds: float
    sent: Mapping[str, int] = field(default_factory=dict)
    received: Mapping[str, int] = field(default_factory=dict)
    dips: tuple[float, ...] = ()
    breaks: tuple[str, ...] = ()

    @property
    def gbps(self) -> float:
        """Thousands of millions of bits a second.

        Example:
            >>> Load(125_000_000, 2.0).gbps
            0.5
        """
        return self.nbytes * 8 / self.seconds / 1e9 if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class DirectionResult:
    """What was found from one end of a cable to the other.

    Args:
        tried: Route, ping and TCP from the host of the first end; None if it was not asked.
        load: None if nothing was sent, or the stream broke.
        no_load_because: Why nothing was sent, such as that a host has no Python.
        broke_because: Why the stream broke, or did not come about though both hosts tried.
    """

    source: AddressedEnd
    target: AddressedEnd
    tried: TryResult | None = None
    load: Load | None = None
    no_load_because: str = ""
    broke_because: str = ""

    def carried_by(self) -> str:
        """The interface that the sending host's counters prove to have carried the stream.

        Empty where nothing was sent or no interface sent most of it.
        """
        return _carrier(self.load.sent, self.load.nbytes) if self.load else ""

    def arrived_by(self) -> str:
        """The interface that the receiving host's counters prove to have received the stream."""
        return _carrier(self.load.received, self.load.nbytes) if self.load else ""


def _carrier(counted: Mapping[str, int], nbytes: int) -> str:
    """The interface that carried at least half of the bytes; hardware before what is made of it."""
    carriers = [name for name, each in counted.items() if nbytes and each >= nbytes / 2]
    carriers.sort(key=lambda name: (name.startswith("bridge"), -counted[name]))
    return carriers[0] if carriers else ""


@dataclass(frozen=True)
class CableResult:
    """One cable with what was found in both directions.

    Args:
        faults: Clauses about the state of its ends, such as "studio2 en3 is down".
    """

    cable: AddressedCable
    there: DirectionResult
    back: DirectionResult
    faults: tuple[str, ...] = ()

    @property
    def directions(self) -> tuple[DirectionResult, DirectionResult]:
        """From end a to b, and from b to a."""
        return (self.there, self.back)
