"""The running job: output, input, signals and heartbeats, until the last rank has ended."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from distconfig.errors import RankFailed
from distconfig.launch import frames
from distconfig.launch.agent_link import AgentLink
from distconfig.launch.agent_ranks import GRACE_S
from distconfig.launch.display import Display
from distconfig.launch.outcome import HOST_LOST, FirstFailure, RankEnd, report_failure
from distconfig.launch.output import LineMerger
from distconfig.launch.printer import LogFiles
from distconfig.launch.signals import note_signals
from distconfig.launch.stdin import StandardInput

__all__ = ["Conclusion", "RunningHost", "Supervisor"]

#: How long a host may take, once the grace is over, to say that its ranks have ended.
CONFIRM_S = 3.0
#: Before we stop ourselves, time for the order to stop to leave for the hosts.
_PARTING_S = 0.2
_LONGEST_REASON = 300
_STREAMS = {frames.STDOUT: 1, frames.STDERR: 2}
_KINDS = {fd: kind for kind, fd in _STREAMS.items()}


@dataclass
class RunningHost:
    """An agent with its ranks.

    Args:
        order: What starts them, from `assemble_order`.
        is_mpirun: Its one process is mpirun, and no rank.
    """

    name: str
    link: AgentLink
    order: dict[str, Any]
    is_mpirun: bool = False
    unclosed: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.unclosed = {spec["rank"] for spec in self.order["ranks"]}


@dataclass(frozen=True)
class Conclusion:
    """How the job ended.

    Args:
        failure: The rank that failed first, if that is why it ended.
        unconfirmed: Hosts that did not say whether their ranks have ended.
    """

    exit_code: int
    failure: RankFailed | None = None
    unconfirmed: tuple[str, ...] = ()


class Supervisor:
    """Starts the ranks of a job and stays with it to the end.

    Args:
        share_surface: Our standard output and error end up in the same place.
    """

    def __init__(
        self,
        hosts: Sequence[RunningHost],
        *,
        merger: LineMerger,
        share_surface: bool,
        logs: LogFiles | None = None,
        lost_after_s: float = 60.0,
    ) -> None:
        self._hosts = list(hosts)
        self._lost_after_s = lost_after_s
        self._wake = os.pipe()
        for fd in self._wake:
            os.set_blocking(fd, False)
        self._display = Display(merger, logs, share_surface=share_surface, wake=self._wake[1])
        self._stdin = StandardInput()
        self._signals: list[int] = []
        self._running = {rank for host in hosts for rank in host.unclosed}
        self._first_failure = FirstFailure()
        self._failure: RankFailed | None = None
        self._exit_code: int | None = None
        self._unconfirmed: list[str] = []
        self._give_up_at: float | None = None
        self._is_told = False  # by a signal, to end; then not even a slow terminal keeps us
        self._is_hurried = False  # to be gone, whatever is still to be written
        self._beat_s = min(1.0, lost_after_s / 4)
        self._beat_at = 0.0

    def run(self) -> Conclusion:
        """Run the job and say how it ended."""
        with note_signals(self._wake[1]) as self._signals:
            now = time.monotonic()
            for host in self._hosts:
                host.link.heard_at = now
                host.link.send(frames.encode_json(frames.START, host.order))
            while self._is_going_on():
                self._turn()
            self._part()
        for fd in self._wake:
            os.close(fd)
        return Conclusion(self._exit_code or 0, self._failure, tuple(self._unconfirmed))

    def _is_going_on(self) -> bool:
        if any(host.unclosed for host in self._hosts):
            return True
        return not (self._display.is_idle or self._is_hurried)

    def _turn(self) -> None:
        readable = [self._wake[0], *(host.link.source for host in self._hosts)]
        if self._stdin.is_wanted:
            readable.append(0)
        sinks = {host.link.sink: host.link for host in self._hosts if host.link.wants_to_send}
        timeout = self._time_to_wait(time.monotonic())
        ready, sendable, _ = select.select(readable, list(sinks), [], timeout)
        now = time.monotonic()
        for fd in sendable:
            sinks[fd].flush()
        if self._wake[0] in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake[0], 4096)
        while self._signals:
            self._obey_signal(self._signals.pop(0), now)
        for host in [host for host in self._hosts if host.link.source in ready]:
            self._hear(host, now)
        if 0 in ready:
            self._spread_stdin()
        self._display.pass_on(now)
        self._grant_credit()
        self._look_at_clock(now)

    def _time_to_wait(self, now: float) -> float:
        due = [self._beat_at + self._beat_s]
        for moment in (self._display.next_deadline(), self._settle_until(), self._give_up_at):
            if moment is not None:
                due.append(moment)
        return max(0.0, min(due) - now)

    def _settle_until(self) -> float | None:
        return self._first_failure.settle_until if self._exit_code is None else None

    # What comes from the hosts

    def _hear(self, host: RunningHost, now: float) -> None:
        try:
            received = host.link.receive(now)
            if received is None:
                complaint = host.link.stderr_tail().splitlines()
                why = f" ({complaint[-1]})" if complaint else ""
                self._lose(host, f"the connection to its agent ended{why}", now)
                return
            for frame in received:
                self._take(host, frame, now)
        except (ValueError, TypeError, LookupError) as error:
            self._lose(host, f"its agent can not be understood: {error}", now)

    def _take(self, host: RunningHost, frame: frames.Frame, now: float) -> None:
        rank = frame.rank
        if frame.kind == frames.BEAT:
            return
        if frame.kind == frames.TAKEN:
            self._stdin.note_taken(int(frames.decode_json(frame)))
            return
        if rank not in host.unclosed:
            raise frames.FrameError(f"a frame of kind {frame.kind} is about rank {rank}")
        if frame.kind in _STREAMS:
            self._display.take((rank, _STREAMS[frame.kind]), frame.payload, now)
        elif frame.kind == frames.EXIT:
            report = frames.decode_json(frame)
            code, reason = int(report["returncode"]), str(report["unstartable"])
            if not -256 < code < 256:
                raise frames.FrameError(f"no rank ends with {code}")
            self._note_end(rank, host, code, now, unstartable=reason[:_LONGEST_REASON])
        elif frame.kind == frames.CLOSED and rank not in self._running:
            self._close_rank(host, rank, now)
        else:
            raise frames.FrameError(f"a frame of kind {frame.kind} came unexpectedly")

    def _close_rank(self, host: RunningHost, rank: int, now: float) -> None:
        host.unclosed.discard(rank)
        self._display.finish(rank, now)

    def _note_end(
        self,
        rank: int,
        host: RunningHost,
        returncode: int,
        now: float,
        *,
        unstartable: str = "",
        lost: str = "",
    ) -> None:
        """A rank has ended; a failure that is not our own doing will end the job."""
        self._running.discard(rank)
        if returncode == 0 or self._exit_code is not None:
            return
        end = RankEnd(
            -1 if host.is_mpirun else rank,
            host.name,
            returncode,
            unstartable=unstartable,
            lost=lost,
            stderr=self._display.tail((rank, 2)),
            stdout=self._display.tail((rank, 1)),
        )
        self._first_failure.note(end, now)

    def _lose(self, host: RunningHost, reason: str, now: float) -> None:
        """A host is gone: what its ranks do can no more be known."""
        self._hosts.remove(host)
        host.link.close()
        for rank in sorted(host.unclosed):
            if rank in self._running:
                self._note_end(rank, host, HOST_LOST, now, lost=reason)
            self._close_rank(host, rank, now)

    # What we tell the hosts

    def _grant_credit(self) -> None:
        for (rank, fd), nbytes in self._display.grant():
            credit = frames.encode_json(frames.CREDIT, [_KINDS[fd], nbytes], rank)
            for host in self._hosts:
                if rank in host.unclosed:
                    host.link.send(credit)

    def _spread_stdin(self) -> None:
        data = self._stdin.read()
        if data is not None:
            for host in self._hosts:
                host.link.send(frames.encode(frames.STDIN, payload=data))

    # The end

    def _look_at_clock(self, now: float) -> None:
        if now - self._beat_at >= self._beat_s:
            self._beat_at = now
            for host in self._hosts:
                host.link.send(frames.encode(frames.BEAT))
        for host in [host for host in self._hosts if host.unclosed]:
            silence_s = now - host.link.heard_at
            if silence_s > self._lost_after_s:
                self._lose(host, f"nothing was heard of it for {silence_s:.0f} s", now)
        if self._exit_code is None:
            self._look_for_failure(now)
        if self._display.is_broken:
            self._is_hurried = True
            if self._exit_code is None:  # as if SIGPIPE had ended us
                self._end(128 + signal.SIGPIPE, now)
        if self._give_up_at is not None and now >= self._give_up_at:
            for host in [host for host in self._hosts if host.unclosed]:
                self._unconfirmed.append(host.name)
                self._lose(host, "", now)
            self._give_up_at = None
            self._is_hurried = self._is_hurried or self._is_told

    def _look_for_failure(self, now: float) -> None:
        end = self._first_failure.decide(now, is_last=not self._running)
        if end is not None:
            self._failure = report_failure(end, len(self._running))
            self._end(self._failure.returncode, now)

    def _end(self, exit_code: int, now: float, grace_s: float = GRACE_S) -> None:
        if self._exit_code is None:
            self._exit_code = exit_code
        for host in self._hosts:
            host.link.send(frames.encode_json(frames.END, {"grace_s": grace_s}))
        self._give_up_at = now + grace_s + CONFIRM_S

    def _obey_signal(self, number: int, now: float) -> None:
        if number == signal.SIGTSTP:
            self._pause()
        elif self._exit_code is None:
            self._is_told = True
            self._end(128 + number, now)
        elif number == signal.SIGINT:
            self._is_hurried = True
            self._end(128 + number, now, grace_s=0)

    def _pause(self) -> None:
        """Stop the ranks, then ourselves, until somebody lets us go on."""
        for host in self._hosts:
            host.link.send(frames.encode(frames.PAUSE))
        select.select([], [], [], _PARTING_S)  # over ssh, threads of ours carry it
        os.kill(os.getpid(), signal.SIGSTOP)
        now = time.monotonic()
        for host in self._hosts:
            host.link.heard_at = now
            host.link.send(frames.encode(frames.RESUME))

    def _part(self) -> None:
        """Let the agents go, and wait until they have cleaned up."""
        for host in self._hosts:
            host.link.finish_sending()
        deadline = time.monotonic() + CONFIRM_S
        links = {host.link.source: host.link for host in self._hosts}
        while links and not self._is_hurried and (left_s := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select(list(links), [], [], left_s)
            for fd in ready:
                with contextlib.suppress(frames.FrameError):
                    if links[fd].receive(0.0) is not None:
                        continue
                del links[fd]
        for host in self._hosts:
            host.link.close()
