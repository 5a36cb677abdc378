"""The agent: one process per host that starts its ranks and ends with the launcher.

It talks in `frames` over its standard input and output. When the input ends,
or nothing comes for too long, it ends the ranks; nothing on the host outlives
it, and its private folder goes with it.

This module is also run on the far side, so it needs nothing newer than Python 3.8
and nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from distconfig.launch import frames
from distconfig.launch.agent_checks import answer_checks
from distconfig.launch.agent_files import PrivateFolder, StdinSpool
from distconfig.launch.agent_ranks import GRACE_S, OutStream, RankProcess, Unstartable

__all__ = ["Agent", "main"]

#: How often to look while something is due that announces itself by no event.
TICK_S = 0.05
UNLIMITED = 1 << 62
#: How long all hosts together may take until ranks start; nothing runs as yet.
PREPARATION_S = 300.0


class Agent:
    """The ranks of this host, and the launcher at the far end of two file descriptors."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._decoder = frames.Decoder()
        self._outgoing = bytearray()
        self._selector = selectors.DefaultSelector()
        self._wake = os.pipe()
        self._folder = PrivateFolder()
        self._spool: StdinSpool | None = None
        self._stdin_has_ended = False
        self._taken = 0
        self._ranks: dict[int, RankProcess] = {}
        self._unclosed: list[RankProcess] = []
        self._launcher_is_there = True
        self._is_told_to_leave = False
        self._is_ending = False
        self._is_paused = False
        self._lost_after_s = PREPARATION_S
        self._beat_s = 1.0
        self._heard_at = self._beat_at = time.monotonic()

    def run(self) -> None:
        """Serve the launcher until it leaves and no rank is left."""
        for fd in (self._source, self._sink, *self._wake):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(self._wake[1], warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._note_signal)
        self._watch(self._wake[0], selectors.EVENT_READ, self._drain_wake)
        self._watch(self._source, selectors.EVENT_READ, self._hear_launcher)
        hello = {
            "python": sys.executable,
            "version": list(sys.version_info[:3]),
            "platform": sys.platform,
            "pid": os.getpid(),
        }
        self._say(frames.encode_json(frames.HELLO, hello))
        try:
            while self._launcher_is_there or self._unclosed:
                self._turn()
        finally:
            for rank in self._unclosed:
                rank.end(time.monotonic(), 0)
            self._folder.remove()

    def _turn(self) -> None:
        hurries = self._is_ending or any(rank.returncode is not None for rank in self._unclosed)
        for key, _ in self._selector.select(TICK_S if hurries else self._beat_s / 2):
            key.data()
        now = time.monotonic()
        if self._is_told_to_leave:
            self._lose_launcher()
        for rank in self._unclosed:
            if rank.has_just_ended(now):
                self._report_exit(rank)
            rank.step(now)
            if rank.expects_no_output(now):
                self._close_silent_streams(rank)
        for rank in [rank for rank in self._unclosed if rank.is_over]:
            self._unclosed.remove(rank)
            self._say(frames.encode(frames.CLOSED, rank.rank))
        if now - self._beat_at >= self._beat_s:
            self._beat_at = now
            self._say(frames.encode(frames.BEAT))
        if not self._is_paused and now - self._heard_at > self._lost_after_s:
            self._lose_launcher()

    # Events

    def _watch(self, fd: int, event: int, call: Callable[[], object]) -> None:
        if fd not in self._selector.get_map():
            self._selector.register(fd, event, call)

    def _unwatch(self, fd: int) -> None:
        if fd in self._selector.get_map():
            self._selector.unregister(fd)

    def _note_signal(self, number: int, _frame: object) -> None:
        if number != signal.SIGCHLD:
            self._is_told_to_leave = True

    def _drain_wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake[0], 4096)

    # The launcher

    def _say(self, data: bytes) -> None:
        if self._launcher_is_there:
            self._outgoing += data
            self._flush()

    def _flush(self) -> None:
        try:
            while self._outgoing:
                del self._outgoing[: os.write(self._sink, self._outgoing)]
        except BlockingIOError:
            self._watch(self._sink, selectors.EVENT_WRITE, self._flush)
        except OSError:
            self._lose_launcher()
        else:
            self._unwatch(self._sink)

    def _hear_launcher(self) -> None:
        try:
            data = os.read(self._source, 1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose_launcher()
            return
        for frame in self._decoder.feed(data):
            self._obey(frame)
        self._heard_at = time.monotonic()

    def _lose_launcher(self) -> None:
        """The launcher is gone: end every rank, and drop what it still writes."""
        if not self._launcher_is_there:
            return
        self._launcher_is_there = False
        self._outgoing.clear()
        self._unwatch(self._source)
        self._unwatch(self._sink)
        for rank in self._unclosed:
            for stream in rank.streams:
                stream.credit = UNLIMITED
                self._listen(rank, stream)
        self._end(GRACE_S)

    def _obey(self, frame: frames.Frame) -> None:
        if frame.kind == frames.STDIN:
            self._spread_stdin(frame.payload)
        elif frame.kind == frames.CREDIT:
            self._grant(frame.rank, *frames.decode_json(frame))
        elif frame.kind == frames.CHECK:
            answer = answer_checks(frames.decode_json(frame))
            self._say(frames.encode_json(frames.CHECKED, answer))
        elif frame.kind == frames.START:
            self._start(frames.decode_json(frame))
        elif frame.kind == frames.END:
            self._end(frames.decode_json(frame)["grace_s"])
        elif frame.kind in (frames.PAUSE, frames.RESUME):
            self._pause(frame.kind == frames.PAUSE)
        elif frame.kind != frames.BEAT:
            raise frames.FrameError(f"a frame of kind {frame.kind} came from the launcher")

    # The ranks

    def _start(self, order: dict[str, Any]) -> None:
        self._lost_after_s = order["lost_after_s"]
        self._beat_s = min(1.0, self._lost_after_s / 4)
        files = {name: self._folder.write(name, text) for name, text in order["files"].items()}
        shared = {variable: files[name] for variable, name in order["file_env"].items()}
        for spec in order["ranks"]:
            number = spec["rank"]
            argv = [word if isinstance(word, str) else files[word["file"]] for word in spec["argv"]]
            env = {**order["default_env"], **os.environ, **spec["env"], **shared}
            try:
                rank = RankProcess(number, argv, env, order["cwd"], order["window"])
            except Unstartable as error:
                self._say_exit(number, error.returncode, error.reason)
                self._say(frames.encode(frames.CLOSED, number))
                continue
            self._ranks[number] = rank
            self._unclosed.append(rank)
            for stream in rank.streams:
                self._listen(rank, stream)

    def _say_exit(self, number: int, returncode: int, unstartable: str = "") -> None:
        report = {"returncode": returncode, "unstartable": unstartable}
        self._say(frames.encode_json(frames.EXIT, report, number))

    def _listen(self, rank: RankProcess, stream: OutStream) -> None:
        """Watch a stream exactly while there is somebody who takes what comes."""
        if not stream.is_open:
            return
        if stream.credit > 0:
            self._watch(stream.fd, selectors.EVENT_READ, lambda: self._pass_on(rank, stream))
        else:
            self._unwatch(stream.fd)

    def _pass_on(self, rank: RankProcess, stream: OutStream) -> bool:
        """Read a stream once and send what came; whether something did."""
        if not stream.is_open or stream.credit <= 0:
            return False
        data = stream.read()
        if data is None:
            return False
        if data:
            self._say(frames.encode(stream.kind, rank.rank, data))
            self._listen(rank, stream)
        else:
            self._close_stream(stream)
        return bool(data)

    def _close_stream(self, stream: OutStream) -> None:
        self._unwatch(stream.fd)
        stream.close()

    def _report_exit(self, rank: RankProcess) -> None:
        if rank.stdin_is_open:
            self._close_stdin(rank)
        for stream in rank.streams:
            while self._pass_on(rank, stream):
                pass
        assert rank.returncode is not None
        self._say_exit(rank.rank, rank.returncode)

    def _close_silent_streams(self, rank: RankProcess) -> None:
        for stream in rank.streams:
            while self._pass_on(rank, stream):
                pass
            if stream.is_open and stream.credit > 0:
                self._close_stream(stream)

    def _grant(self, number: int, kind: int, nbytes: int) -> None:
        rank = self._ranks[number]
        for stream in rank.streams:
            if stream.kind == kind and stream.is_open:
                stream.credit += nbytes
                self._listen(rank, stream)

    def _end(self, grace_s: float) -> None:
        self._is_ending = True
        for rank in self._unclosed:
            rank.end(time.monotonic(), grace_s)

    def _pause(self, is_paused: bool) -> None:
        self._is_paused = is_paused
        for rank in self._unclosed:
            rank.pause(is_paused)

    # Their standard input

    def _spread_stdin(self, data: bytes) -> None:
        if not data:
            self._stdin_has_ended = True
        else:
            if self._spool is None:
                self._spool = StdinSpool(self._folder.file("stdin"))
            self._spool.append(data)
        for rank in self._unclosed:
            self._feed(rank)

    def _feed(self, rank: RankProcess) -> None:
        if not rank.stdin_is_open:
            return
        if not rank.feed(self._spool, self._stdin_has_ended):
            self._close_stdin(rank)
        elif rank.has_unread(self._spool):
            self._watch(rank.stdin, selectors.EVENT_WRITE, lambda: self._feed(rank))
        else:
            self._unwatch(rank.stdin)
        if rank.taken > self._taken:
            self._taken = rank.taken
            self._say(frames.encode_json(frames.TAKEN, self._taken))

    def _close_stdin(self, rank: RankProcess) -> None:
        self._unwatch(rank.stdin)
        rank.close_stdin()


def main() -> None:
    """Serve the launcher on standard input and output, which nothing else may then write to."""
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    Agent(source, sink).run()
