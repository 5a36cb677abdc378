"""What each backend's ranks find in their environment, with the names and meaning of MLX's.

Names and files are those of ``mlx.launch`` (``mlx/_distributed_utils/launch.py``
in ml-explore/mlx 0.32); a test holds them against the installed one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from distconfig.errors import UsageError
from ring_runtime.hostfile import (
    AddressList,
    Endpoint,
    HostfileEntry,
    assign_endpoints,
    render_address_list,
)

__all__ = ["Backend", "plan_jaccl", "plan_nccl", "plan_ring"]

_BY_CONFIG = "Let distributed_config write the hostfile, or list addresses in it."


@dataclass(frozen=True)
class Backend:
    """What a backend adds to a job.

    Args:
        env: Variables of every rank.
        env_of_rank: Variables of each rank, by rank; empty if there are none.
        files: Name and text of files that the ranks read.
        file_env: Variables that hold the path of a file, and its name.
        listens: Where each rank will listen, by rank; empty if unknown.
    """

    env: tuple[tuple[str, str], ...] = ()
    env_of_rank: tuple[tuple[tuple[str, str], ...], ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    file_env: tuple[tuple[str, str], ...] = ()
    listens: AddressList = ()


def plan_ring(
    entries: Sequence[HostfileEntry],
    starting_port: int,
    connections_per_ip: int,
    *,
    is_verbose: bool = False,
) -> Backend:
    """A ring: every rank reads where each rank listens.

    Raises:
        UsageError: A host has no address.
        HostfileError: There are not enough TCP ports.

    Example:
        >>> entries = [HostfileEntry("a", ("10.0.0.1",)), HostfileEntry("b", ("10.0.0.2",))]
        >>> plan_ring(entries, 5000, 1).files
        (('hostfile.json', '[["10.0.0.1:5000"],["10.0.0.2:5001"]]'),)
    """
    if len(entries) == 1:
        listens: AddressList = ()
        text = ""  # as mlx.launch writes it: a ring of one
    else:
        for rank, entry in enumerate(entries):
            if not entry.ips:
                raise UsageError(
                    f"rank {rank} on {entry.ssh} has no address to listen on, "
                    "and a ring needs one of every rank",
                    hint=_BY_CONFIG,
                )
        listens = assign_endpoints(
            (entry.ips for entry in entries),
            starting_port=starting_port,
            connections_per_ip=connections_per_ip,
        )
        text = render_address_list(listens)
    return Backend(
        env=(("MLX_RING_VERBOSE", "1"),) if is_verbose else (),
        files=(("hostfile.json", text),),
        file_env=(("MLX_HOSTFILE", "hostfile.json"),),
        listens=listens,
    )


def plan_jaccl(entries: Sequence[HostfileEntry], starting_port: int, *, is_ring: bool) -> Backend:
    """RDMA over Thunderbolt: each rank's devices by peer rank, and rank 0 to meet at.

    Raises:
        UsageError: The hostfile does not name a device where one is needed.
    """
    size = len(entries)
    for rank, entry in enumerate(entries):
        if len(entry.rdma) != size:
            raise UsageError(
                f"rank {rank} on {entry.ssh} lists {len(entry.rdma)} RDMA devices for {size} ranks",
                hint="Write the hostfile with distributed_config --backend jaccl or jaccl-ring.",
            )
        if entry.rdma[rank] is not None:
            raise UsageError(
                f"rank {rank} on {entry.ssh} lists an RDMA device towards itself",
                hint="That entry has to be null.",
            )
        peers = {(rank - 1) % size, (rank + 1) % size} if is_ring else set(range(size))
        for peer in sorted(peers - {rank}):
            if entry.rdma[peer] is None:
                raise UsageError(
                    f"rank {rank} on {entry.ssh} lists no RDMA device towards rank {peer}",
                    hint="jaccl needs a cable between every two hosts; jaccl-ring and ring do not.",
                )
    coordinator = Endpoint(_address_of_first(entries), starting_port)
    env = [("MLX_JACCL_COORDINATOR", str(coordinator))]
    if is_ring:
        env.append(("MLX_JACCL_RING", "1"))
    devices = [
        [list(device) if isinstance(device, tuple) else device for device in entry.rdma]
        for entry in entries
    ]
    return Backend(
        env=tuple(env),
        files=(("devices.json", json.dumps(devices)),),
        file_env=(("MLX_IBV_DEVICES", "devices.json"),),
        listens=_listen_on_first(coordinator, size),
    )


def plan_nccl(
    entries: Sequence[HostfileEntry], tcp_port: int, repeat: int, *, is_verbose: bool = False
) -> Backend:
    """NCCL: rank 0 to meet at, and one of its host's GPUs for each rank.

    Raises:
        UsageError: Rank 0 has no address.
    """
    address = _address_of_first(entries)
    env = [("NCCL_HOST_IP", address), ("NCCL_PORT", str(tcp_port))]
    if is_verbose:
        env.append(("NCCL_DEBUG", "INFO"))
    size = len(entries)
    return Backend(
        env=tuple(env),
        env_of_rank=tuple((("CUDA_VISIBLE_DEVICES", str(rank % repeat)),) for rank in range(size)),
        listens=_listen_on_first(Endpoint(address, tcp_port), size),
    )


def _address_of_first(entries: Sequence[HostfileEntry]) -> str:
    if not entries[0].ips:
        raise UsageError(
            f"rank 0 on {entries[0].ssh} has no address where the others could meet it",
            hint=_BY_CONFIG,
        )
    return entries[0].ips[0]


def _listen_on_first(endpoint: Endpoint, size: int) -> AddressList:
    return ((endpoint,), *((),) * (size - 1))
