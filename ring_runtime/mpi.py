"""Groups of ranks that MPI has started, for clusters that outgrow a ring.

mpi4py is imported when such a group is asked for, not before. Any rank can send to
any other, and any split is possible. What MPI does not do, and the ring does, is to
compare what the ranks call, and to survive the death of a rank: `mpirun` then ends
the whole job.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

import numpy as np

from ring_runtime.arrays import Array
from ring_runtime.errors import GroupClosed, PeerError, RingError, UsageError
from ring_runtime.group import Group, check_choice

__all__ = ["MpiGroup", "init_mpi"]

_SIZE_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")


class MpiGroup(Group):
    """Ranks that call collectives together over MPI. Made by `init` and by `split`.

    It is a `Group` for its users, and has nothing of a ring inside.

    Args:
        communicator: Of mpi4py, and nobody else's, so that messages of the program's own
            use of MPI do not meet ours.
    """

    def __init__(self, communicator: Any) -> None:
        self._communicator = communicator
        self._mpi = importlib.import_module("mpi4py.MPI")
        self._rank: int = communicator.Get_rank()
        self._size: int = communicator.Get_size()
        self._lock = threading.Lock()
        self._error: RingError | None = None
        self._is_closed = False

    def rank(self) -> int:
        """Our rank in this group, from 0."""
        return self._rank

    def size(self) -> int:
        """How many ranks this group has."""
        return self._size

    def close(self) -> None:
        """Refuse later calls; MPI itself ends with the program. Closing twice is fine."""
        self._is_closed = True

    def is_closed(self) -> bool:
        """Whether `close` was called; a broken group is not closed by itself."""
        return self._is_closed

    def check_open(self) -> None:
        """Refuse to go on with a closed or broken group, before anything else is looked at.

        Raises:
            RingError: `GroupClosed`, or the error that broke it.
        """
        if self._error is not None:
            raise self._error.with_traceback(None)
        if self._is_closed:
            raise GroupClosed("this group was closed", hint="Do not close it before the end.")

    def find_ready(self, operation: str, array: Array) -> None:
        """None: MPI keeps what it needs by itself."""

    def barrier(self) -> None:
        """Return once every rank of the group has called it.

        Raises:
            PeerError: The group is broken.
        """
        self.check_open()
        with self.turn() as communicator:
            communicator.Barrier()

    def split(self, color: int, key: int = -1) -> Group:
        """The group of all ranks that gave the same color; every rank has to call it.

        Args:
            color: Any integer from -2**63 to 2**63 - 1.
            key: Ranks of the new group are in order of it; negative stands for our rank.

        Raises:
            UsageError: Not such integers.
            PeerError: The group is broken.
        """
        self.check_open()
        check_choice(color, key)
        place = self._rank if key < 0 else key
        with self.turn() as communicator:
            # MPI's own colors and keys have 32 bits, so ranks agree on small numbers first.
            choices = np.empty((self._size, 2), np.int64)
            communicator.Allgather(np.array([color, place], np.int64), choices)
            colors = np.unique(choices[:, 0])
            order = np.lexsort((np.arange(self._size), choices[:, 1]))
            position = int(np.flatnonzero(order == self._rank)[0])
            return MpiGroup(communicator.Split(int(np.searchsorted(colors, color)), position))

    @contextlib.contextmanager
    def turn(self) -> Iterator[Any]:
        """The communicator for one collective; whatever leaves that midway breaks the group.

        Raises:
            UsageError: Another thread is in a collective of this group.
            PeerError: MPI failed.
        """
        if not self._lock.acquire(blocking=False):
            raise UsageError(
                "this group is in a collective already",
                hint="Use one thread at a time per group.",
            )
        try:
            yield self._communicator
        except self._mpi.Exception as error:
            self._error = PeerError(
                f"MPI failed: {error}", where=f"rank {self._rank} of {self._size}"
            )
            raise self._error from error
        except RingError as error:
            self._error = error
            raise
        except BaseException as error:
            self._error = PeerError(
                f"rank {self._rank} left a collective by {type(error).__name__}",
                peer=self._rank,
                hint="Restart the job.",
            )
            raise
        finally:
            self._lock.release()


def init_mpi(environ: Mapping[str, str]) -> MpiGroup | None:
    """The group of all ranks that MPI started; None if no MPI launcher started this program.

    From then on an exception that nobody catches ends all ranks: otherwise its rank would
    wait, while it leaves, for ranks that wait for it.

    Raises:
        UsageError: mpi4py or its library is missing, or is not the launcher's.
    """
    try:
        mpi = importlib.import_module("mpi4py.MPI")
    except (ImportError, RuntimeError) as error:
        raise UsageError(
            f"the MPI backend needs mpi4py and an MPI library: {error}",
            hint="Install both with: pip install 'distributed-config[mpi]'.",
        ) from error
    world = mpi.COMM_WORLD
    size = world.Get_size()
    for variable in _SIZE_VARIABLES:
        listed = environ.get(variable, str(size))
        if listed != str(size):
            raise UsageError(
                f"{variable} says {listed} ranks, and the library of mpi4py knows of {size}",
                where=mpi.Get_library_version().splitlines()[0].strip("\0 "),
                hint="Start the job with the mpirun that belongs to that library; "
                "MPI4PY_LIBMPI names another library to mpi4py.",
            )
    if size == 1 and not any(variable in environ for variable in _SIZE_VARIABLES):
        return None
    if size > 1:
        _end_all_with_one(world, mpi)
    return MpiGroup(world.Dup())


def _end_all_with_one(world: Any, mpi: Any) -> None:
    report = sys.excepthook

    def end_all(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        report(kind, error, traceback)
        is_at_a_prompt = hasattr(sys, "ps1") or sys.flags.interactive
        if not is_at_a_prompt and not mpi.Is_finalized():
            sys.stdout.flush()
            sys.stderr.flush()
            world.Abort(130 if issubclass(kind, KeyboardInterrupt) else 1)

    sys.excepthook = end_all
