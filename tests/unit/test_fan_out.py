"""One task per host at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from distconfig.errors import ProbeError, Unreachable
from distconfig.hosts.fan_out import ask_all


def late(host: str) -> ProbeError:
    return Unreachable("late", host=host)


def fail_with(error: ProbeError) -> Callable[[], str]:
    def task() -> str:
        raise error

    return task


def test_results_and_errors_come_in_the_order_of_the_hosts() -> None:
    """The first task waits for the last, so they do run at once."""
    went = threading.Event()
    error = Unreachable("off", host="b")

    def first() -> str:
        assert went.wait(80)
        return "first"

    def last() -> str:
        went.set()
        return "last"

    results = ask_all({"a": first, "b": fail_with(error), "c": last}, timeout_s=90, give_up=late)
    assert list(results.items()) == [("a", "first"), ("b", error), ("c", "last")]


def test_a_task_that_hangs_is_left_behind() -> None:
    release = threading.Event()

    def hang() -> str:
        release.wait()
        return "too late"

    start = time.monotonic()
    results = ask_all({"a": hang, "b": lambda: "b"}, timeout_s=2, give_up=late)
    assert time.monotonic() - start < 60
    release.set()
    assert results["b"] == "b"
    error = results["a"]
    assert isinstance(error, Unreachable)
    assert (error.what, error.host) == ("late", "a")


def test_no_host_needs_no_thread() -> None:
    assert ask_all({}, timeout_s=1, give_up=late) == {}
