"""The link to an agent behind a channel: what each side hears when the other has finished."""

from __future__ import annotations

import select
import time

from distconfig.hosts.local import LocalConnection
from distconfig.launch import frames
from distconfig.launch.agent_link import AgentLink
from distconfig.launch.ssh_link import link_over_ssh


def receive_all(link: AgentLink, timeout_s: float = 90.0) -> list[frames.Frame]:
    """Every frame up to the end, which must come while our own end is open."""
    deadline = time.monotonic() + timeout_s
    received: list[frames.Frame] = []
    while True:
        ready, _, _ = select.select([link.source], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"no end within {timeout_s:g} s, only {received}"
        more = link.receive(time.monotonic())
        if more is None:
            return received
        received += more


def test_the_far_side_hears_that_nothing_more_will_come() -> None:
    """`cat` ends when its input does; the launcher waits for exactly that when a job is over."""
    beat = frames.encode(frames.BEAT)
    link = link_over_ssh(LocalConnection("localhost"), ("cat",), beat)
    link.send(beat)
    link.finish_sending()
    assert [frame.kind for frame in receive_all(link)] == [frames.BEAT, frames.BEAT]
    link.close()


def test_a_far_side_that_ends_first_ends_the_link() -> None:
    link = link_over_ssh(LocalConnection("localhost"), ("sh", "-c", "echo why >&2"), b"")
    assert receive_all(link) == []
    assert link.stderr_tail() == "why"
    link.send(frames.encode(frames.BEAT))  # to nobody, which is no error
    link.close()
