"""Which group a program gets: from its environment, or from what it passes to `init`."""

from __future__ import annotations

import importlib.util
import json
import logging
import math
import os
from collections.abc import Mapping
from pathlib import Path

from ring_runtime.errors import UsageError
from ring_runtime.group import Group, make_world
from ring_runtime.hostfile import (
    AddressList,
    assign_endpoints,
    load_address_list,
    load_hostfile,
)
from ring_runtime.mpi import init_mpi
from ring_runtime.rendezvous import join_ring
from ring_runtime.ring import Ring

__all__ = ["init", "is_available"]

INIT_TIMEOUT_S = 300.0
TIMEOUT_S = 600.0
_MPI_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK")
_ELSEWHERE = ("jaccl", "jaccl-ring", "nccl")

_worlds: dict[str, Group] = {}


def is_available(backend: str = "any") -> bool:
    """Whether `init` could use this backend here, not whether it is configured.

    Args:
        backend: "any", "ring" or "mpi".

    Example:
        >>> is_available("ring")
        True
    """
    if backend == "mpi":
        return importlib.util.find_spec("mpi4py") is not None
    return backend in ("any", "ring")


def init(
    strict: bool = False,
    backend: str = "any",
    *,
    hostfile: str | os.PathLike[str] | None = None,
    rank: int | None = None,
    init_timeout: float | None = None,
    timeout: float | None = None,
) -> Group:
    """The group of all ranks of this job; alone, a group of one.

    The first group that came up is what later calls with ``backend="any"`` return, whatever
    else they ask for; each backend comes up once.

    Args:
        strict: Refuse to be alone when nothing is configured.
        backend: "ring", "mpi", or "any": the ring if MLX_HOSTFILE is set, else MPI if an MPI
            launcher started us, else a group of one.
        hostfile: A hostfile or an address list; default: MLX_HOSTFILE.
        rank: Our place in it; default: MLX_RANK.
        init_timeout: Seconds to wait for the others; default: RING_INIT_TIMEOUT, else 300.
        timeout: Seconds without any byte after which a collective gives up, 0 for never;
            default: RING_TIMEOUT, else 600.

    Raises:
        UsageError: What is configured makes no sense; names the variable.
        HostfileError: The hostfile is not one.
        RendezvousError: The others did not come, or do not belong to us.

    Example:
        >>> init().size()
        1
    """
    if backend not in ("any", "ring", "mpi"):
        elsewhere = "It belongs to mlx.core.distributed." if backend in _ELSEWHERE else ""
        raise UsageError(
            f"there is no backend {backend!r}", hint=f'Use "any", "ring" or "mpi". {elsewhere}'
        )
    remembered = _remembered(backend)
    if remembered is not None:
        return remembered
    _log_if_verbose(os.environ)
    chosen = backend
    if backend == "any":
        chosen = _choose_backend(os.environ, hostfile is not None or rank is not None)
    world: Group | None = None
    if chosen == "mpi":
        world = init_mpi(os.environ)
    elif chosen == "ring":
        world = _init_ring(os.environ, hostfile, rank, init_timeout, timeout)
    if world is not None:
        _worlds[chosen] = world
        return world
    if strict:
        raise UsageError(
            f"no distributed job is configured for backend {backend!r}",
            hint="Start the program with distributed_launch, or set MLX_RANK and MLX_HOSTFILE.",
        )
    return make_world(Ring(0, 1, None, None))


def find_world() -> Group:
    """The group collectives use when they are given none: the first that came up, else `init`'s."""
    return next(iter(_worlds.values()), None) or init()


def _remembered(backend: str) -> Group | None:
    """The open group of this backend, or the first of all for "any"; closed ones are forgotten."""
    for name, world in list(_worlds.items()):
        if world.is_closed():
            del _worlds[name]
        elif backend in ("any", name):
            return world
    return None


def _choose_backend(environ: Mapping[str, str], is_given: bool) -> str:
    if is_given or "MLX_HOSTFILE" in environ:
        return "ring"
    if any(name in environ for name in _MPI_VARIABLES):
        return "mpi"
    return "ring" if "MLX_RANK" in environ else "none"


def _init_ring(
    environ: Mapping[str, str],
    hostfile: str | os.PathLike[str] | None,
    rank: int | None,
    init_timeout: float | None,
    timeout: float | None,
) -> Group | None:
    """The ring that is configured, or None if none is."""
    path = environ.get("MLX_HOSTFILE") if hostfile is None else hostfile
    number = environ.get("MLX_RANK") if rank is None else str(rank)
    if path is None and number is None:
        return None
    if path is None or number is None:
        there, missing = ("MLX_RANK", "MLX_HOSTFILE") if path is None else _HOSTFILE_ONLY
        raise UsageError(
            f"{there} is set and {missing} is not",
            hint=f"Set both, or pass {missing[4:].lower()}= to init.",
        )
    addresses = load_addresses(path)
    if not number.isascii() or not number.isdigit() or int(number) >= len(addresses):
        raise UsageError(
            f"MLX_RANK={number!r} is not a rank",
            hint=f"The hostfile lists {len(addresses)} ranks, numbered from 0.",
        )
    return join_ring(
        addresses,
        int(number),
        secret=_secret(environ),
        init_timeout=_seconds(environ, "RING_INIT_TIMEOUT", init_timeout, INIT_TIMEOUT_S),
        timeout=_seconds(environ, "RING_TIMEOUT", timeout, TIMEOUT_S),
    )


_HOSTFILE_ONLY = ("MLX_HOSTFILE", "MLX_RANK")


def load_addresses(path: str | os.PathLike[str]) -> AddressList:
    """Where each rank listens, from an address list or from a hostfile.

    Raises:
        HostfileError: It is neither.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8") or "[]")
    except (OSError, ValueError, RecursionError):
        return load_address_list(path)
    if isinstance(data, dict) or (isinstance(data, list) and data and isinstance(data[0], dict)):
        return assign_endpoints(host.ips for host in load_hostfile(path).hosts)
    return load_address_list(path)


def _secret(environ: Mapping[str, str]) -> bytes | None:
    secret = environ.get("RING_SECRET")
    if secret is None:
        return None
    if not secret:
        raise UsageError("RING_SECRET is empty", hint="Unset it, or set it to a random text.")
    return secret.encode("utf-8", "surrogateescape")


def _seconds(
    environ: Mapping[str, str], variable: str, given: float | None, default: float
) -> float:
    text = environ.get(variable, "")
    try:
        seconds = given if given is not None else float(text) if text else default
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < 1e9:
        raise UsageError(
            f"{variable}={text!r} is not a number of seconds"
            if given is None
            else f"{given!r} is not a number of seconds",
            hint="Give a number that is not negative, such as 60.",
        )
    return seconds


def _log_if_verbose(environ: Mapping[str, str]) -> None:
    """With MLX_RING_VERBOSE, show what happens during the rendezvous on stderr."""
    if environ.get("MLX_RING_VERBOSE", "0") not in ("", "0"):
        log = logging.getLogger("ring_runtime")
        log.setLevel(logging.DEBUG)
        if not log.hasHandlers():
            log.addHandler(logging.StreamHandler())
