"""The sender and receiver of one host, as this side holds it: orders out, answers in."""

from __future__ import annotations

import json
import math
import queue
import threading
from pathlib import Path
from typing import Any

from distconfig.errors import ProbeError
from distconfig.hosts.deadline import Deadline
from distconfig.hosts.shell import ByteChannel, Connection
from distconfig.launch.bootstrap import PYTHONS, remote_command

__all__ = ["LoadFailed", "Loader", "Order", "number_in", "start_loader"]

_START_TIMEOUT_S = 15.0
_LONGEST_LINE = 1 << 20
_NO_PYTHON = 127


class LoadFailed(Exception):
    """A load did not come about; the text says why."""


class Order:
    """One order to a host, and the answers to it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def hear(self, answer: dict[str, Any]) -> None:
        """Take an answer from the host."""
        self._answers.put(answer)

    def wait(self, deadline: Deadline) -> dict[str, Any]:
        """The next answer.

        Raises:
            LoadFailed: It is an error, or none came in time.
        """
        try:
            answer = self._answers.get(timeout=deadline.left())
        except queue.Empty as error:
            raise LoadFailed("no answer in time") from error
        if "error" in answer:
            raise LoadFailed(str(answer["error"])[:200])
        return answer

    def wait_for(self, key: str, deadline: Deadline) -> dict[str, Any]:
        """The next answer that has this key; others are passed over."""
        while key not in (answer := self.wait(deadline)):
            continue
        return answer


class Loader:
    """A host's sender and receiver; it ends when this is closed, however that comes about."""

    def __init__(self, host: str, channel: ByteChannel) -> None:
        self.host = host
        self._channel = channel
        self._lock = threading.Lock()
        self._orders: dict[int, Order] = {}
        self._end = ""
        for target in (self._listen, self._drain):
            threading.Thread(target=target, name=f"load {host}", daemon=True).start()

    def order(self, deed: str, **words: Any) -> Order:
        """Have the host do something.

        Raises:
            LoadFailed: It is gone.
        """
        with self._lock:
            if self._end:
                raise LoadFailed(self._end)
            order = Order(len(self._orders) + 1)
            self._orders[order.number] = order
        line = json.dumps({"id": order.number, "do": deed, **words}) + "\n"
        try:
            self._channel.send(line.encode())
        except ProbeError as error:
            raise LoadFailed(error.what) from error
        return order

    def close(self) -> None:
        """End the process on the host."""
        self._channel.close()

    def _listen(self) -> None:
        rest = b""
        while len(rest) < _LONGEST_LINE and (data := self._channel.recv(1 << 16)):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._hear(line)
        status = self._channel.exit_status(1.0)
        reason = f"its sender ended{'' if status is None else f' with exit {status}'}"
        if status == _NO_PYTHON:
            reason = f"no Python 3.8 or newer on {self.host}"
        with self._lock:
            self._end = reason
            orders = list(self._orders.values())
        for order in orders:
            order.hear({"error": reason})

    def _hear(self, line: bytes) -> None:
        try:
            answer = json.loads(line)
        except ValueError:
            return
        if isinstance(answer, dict):
            with self._lock:
                order = self._orders.get(answer.get("id", 0))
            if order is not None:
                order.hear(answer)

    def _drain(self) -> None:
        while self._channel.recv_stderr(1 << 16):
            continue


def start_loader(connection: Connection) -> Loader:
    """The sender and receiver of a host, once they answer.

    Raises:
        LoadFailed: No Python was found there, or the host is gone.
    """
    program = Path(__file__).with_name("far_side.py").read_text("utf-8")
    try:
        channel = connection.open_channel(remote_command(PYTHONS, program))
    except ProbeError as error:
        raise LoadFailed(error.what) from error
    loader = Loader(connection.host, channel)
    try:
        loader.order("counters").wait(Deadline(_START_TIMEOUT_S))
    except LoadFailed:
        loader.close()
        raise
    return loader


def number_in(answer: dict[str, Any], key: str) -> float:
    """A number that a host claims, if it is one that can be.

    Raises:
        LoadFailed: It is not.
    """
    value = answer.get(key)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is None or not is_number or not math.isfinite(value) or value < 0:
        raise LoadFailed(f"it answered {str(value)[:40]!r} for {key}")
    return float(value)
