"""Which algorithm carries a collective: small arrays are relayed, large ones pipelined.

Small ones travel whole and everybody reduces them, see `relay`; large ones are cut
into segments that are reduced on their way, see `strand`. All ranks choose alike,
because the choice depends only on what is in the header.
"""

from __future__ import annotations

import numpy as np

from ring_runtime.arrays import Array, as_bytes
from ring_runtime.connection import Connection
from ring_runtime.cuts import CHUNK_NBYTES, STRIPE_NBYTES, cut, is_small
from ring_runtime.group import Group
from ring_runtime.pipeline import broadcast_chain, move_message, run_ring
from ring_runtime.program import Plan, rows_of
from ring_runtime.reduction import Reduction

__all__ = ["broadcast_array", "gather_arrays", "move_array", "reduce_arrays"]


def _is_small(group: Group, array: Array, *, widens: bool = False) -> bool:
    return is_small(array.nbytes, array.itemsize, group.size(), group.strands, widens=widens)


def reduce_arrays(group: Group, operation: str, array: Array, name: str, result: Array) -> None:
    """Reduce to all of ``result``, or to our segment if it is shorter than the array."""
    if group.size() == 1:
        np.copyto(result, array)
        return
    reduction = group.ring.reduction(operation, array.dtype)
    small = _is_small(group, array, widens=reduction.widens)
    flat = result.reshape(-1)
    lends = array.flags.c_contiguous and not np.may_share_memory(result, array)
    with group.ring:
        if not small:
            header = group.calls.next_header(operation, array, name)
            _reduce_large(group, header, array, flat, reduction)
            return
        if lends and 0 < array.size == flat.size:
            ready = group.calls.make_ready(operation, array, reduction)
            group.calls.stamp(ready.header)
            ready.run(array, result)
            return
        parts = group.calls.relay(operation, array, name).run(array, lends=lends)
        if flat.size != array.size:
            start = group.rank() * flat.size
            parts = [part[start : start + flat.size] for part in parts]
        reduction.fold_all(parts, flat)


def _plan(group: Group, count: int, reduction: Reduction, *, reduces: bool, gathers: bool) -> Plan:
    return cut(
        count,
        reduction.partial.itemsize,
        group.position,
        group.order,
        group.strands,
        reduces=reduces,
        gathers=gathers,
    )


def _pool(group: Group, plan: Plan, reduction: Reduction) -> Array:
    """Memory for the partial results of every strand, a row for each."""
    share = -(-plan.count // (plan.size * plan.strands))
    row = -(-(-(-share // plan.chunks) + 1) * reduction.partial.itemsize // 64) * 64
    rows = rows_of(plan.size) if plan.reduces else 0
    pool = group.ring.scratch(plan.strands * rows * row)
    return pool.reshape(plan.strands, rows, row)


def _reduce_large(
    group: Group, header: bytearray, array: Array, flat: Array, reduction: Reduction
) -> None:
    gathers = flat.size == array.size
    if gathers and not array.flags.c_contiguous:
        np.copyto(flat.reshape(array.shape), array)
        source = flat
    else:
        source = np.ascontiguousarray(array).reshape(-1)
    plan = _plan(group, array.size, reduction, reduces=True, gathers=gathers)
    pool = _pool(group, plan, reduction)
    run_ring(group.ring, group.routes, plan, header, source, flat, reduction, pool)


def gather_arrays(group: Group, array: Array, name: str, rows: Array) -> None:
    """Fill ``rows``, one for each rank."""
    own = rows[group.rank()]
    if group.size() == 1:
        np.copyto(own.reshape(array.shape), array)
        return
    with group.ring:
        if _is_small(group, array):
            parts = group.calls.relay("all_gather", array, name).run(array)
            for row, part in zip(rows, parts, strict=True):
                row[...] = part
            return
        header = group.calls.next_header("all_gather", array, name)
        np.copyto(own.reshape(array.shape), array)
        flat = rows.reshape(-1)
        reduction = group.ring.reduction("all_sum", array.dtype)
        plan = _plan(group, flat.size, reduction, reduces=False, gathers=True)
        pool = _pool(group, plan, reduction)
        run_ring(group.ring, group.routes, plan, header, flat, flat, reduction, pool)


def broadcast_array(group: Group, array: Array, name: str, root: int, result: Array) -> None:
    """Fill ``result`` with the array of rank ``root``."""
    size = group.size()
    is_root = group.rank() == root
    if is_root and result.ctypes.data != array.ctypes.data:
        np.copyto(result, array)
    if size == 1:
        return
    with group.ring:
        if _is_small(group, array):
            parts = group.calls.relay("broadcast", array, name, root=root).run(array)
            result.reshape(-1)[...] = parts[root]
            return
        header = group.calls.next_header("broadcast", array, name, root=root)
        group.calls.agree(header)
        distance = (group.position - group.order.index(root)) % size
        data = as_bytes(result.reshape(-1))
        broadcast_chain(group.ring, group.routes, size, distance, data, CHUNK_NBYTES)


def move_array(
    group: Group,
    peer: int,
    connections: tuple[Connection, ...],
    array: Array,
    name: str,
    *,
    sends: bool,
) -> None:
    """Send a contiguous array to a neighbour or receive it, over all connections if that pays."""
    with group.ring:
        if array.nbytes > STRIPE_NBYTES:
            data = as_bytes(array.reshape(-1))
            header = group.calls.message_header(peer, array, name, sends=sends)
            move_message(group.ring, connections, header, data, sends=sends, chunk=CHUNK_NBYTES)
            return
        message = group.calls.message(peer, connections[0], array, name, sends=sends)
        if sends:
            message.send_all(array)
        else:
            message.receive_all(array)
