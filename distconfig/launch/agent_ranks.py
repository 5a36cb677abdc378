"""The ranks of one host as processes: their pipes, their process groups, their end.

This module is also run on the far side, so it needs nothing newer than Python 3.8
and nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

from distconfig.launch.agent_files import StdinSpool
from distconfig.launch.frames import STDERR, STDOUT

__all__ = ["GRACE_S", "OutStream", "RankProcess", "Unstartable"]

CHUNK = 1 << 16
#: Between TERM and KILL.
GRACE_S = 3.0
#: How long what a rank leaves behind in its group may go on once the rank itself has ended.
LINGER_S = 1.0
#: After KILL nothing runs; what then still counts is a zombie that nobody collects.
GIVE_UP_S = 0.5


class Unstartable(Exception):
    """A program could not be started; ``returncode`` is what a shell would give."""

    def __init__(self, returncode: int, reason: str) -> None:
        super().__init__(reason)
        self.returncode = returncode
        self.reason = reason


class OutStream:
    """One output pipe of a rank, and how many bytes of it the launcher can still take."""

    def __init__(self, kind: int, fd: int, credit: int) -> None:
        self.kind = kind
        self.fd = fd
        self.credit = credit
        self.is_open = True
        os.set_blocking(fd, False)

    def read(self) -> bytes | None:
        """What there is, within the credit; empty at the end, None if nothing is there now."""
        try:
            data = os.read(self.fd, min(CHUNK, self.credit))
        except BlockingIOError:
            return None
        self.credit -= len(data)
        return data

    def close(self) -> None:
        """Close our end of the pipe."""
        self.is_open = False
        os.close(self.fd)


class RankProcess:
    """One rank: a process that leads a session, and so a process group, of its own.

    Raises:
        Unstartable: There is no such program, or it may not be run.
    """

    def __init__(
        self, rank: int, argv: list[str], env: dict[str, str], cwd: str, window: int
    ) -> None:
        self.rank = rank
        self.returncode: int | None = None
        self.group_is_gone = False
        self._linger_until: float | None = None
        self._kill_at: float | None = None
        self._give_up_at: float | None = None
        stdin, self.stdin = os.pipe()
        stdout, our_stdout = os.pipe()[::-1]
        stderr, our_stderr = os.pipe()[::-1]
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=cwd,
                env=env,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            for fd in (self.stdin, our_stdout, our_stderr):
                os.close(fd)
            code = 127 if isinstance(error, FileNotFoundError) else 126
            where, why = str(argv[0]), str(error)
            if isinstance(error, OSError):
                where, why = error.filename or where, str(error.strerror)
            raise Unstartable(code, f"{where}: {why}") from error
        finally:
            for fd in (stdin, stdout, stderr):
                os.close(fd)
        os.set_blocking(self.stdin, False)
        self.stdin_is_open = True
        self.taken = 0
        self.streams = (
            OutStream(STDOUT, our_stdout, window),
            OutStream(STDERR, our_stderr, window),
        )

    @property
    def is_over(self) -> bool:
        """Nothing of this rank is left."""
        return self.group_is_gone and not any(stream.is_open for stream in self.streams)

    def feed(self, spool: StdinSpool | None, has_ended: bool) -> bool:
        """Write what the rank's standard input takes now.

        Returns:
            Whether the rank may want more later; if not, the pipe can be closed.
        """
        while True:
            data = spool.read(self.taken) if spool else b""
            if not data:
                return not has_ended
            try:
                self.taken += os.write(self.stdin, data)
            except BlockingIOError:
                return True
            except OSError:  # the rank closed it
                return False

    def has_unread(self, spool: StdinSpool | None) -> bool:
        """Whether bytes are waiting for the rank to read them."""
        return spool is not None and bool(spool.read(self.taken))

    def close_stdin(self) -> None:
        """Close our end of the rank's standard input."""
        self.stdin_is_open = False
        os.close(self.stdin)

    def has_just_ended(self, now: float) -> bool:
        """Whether the process has ended since this was asked last; its return code is then set."""
        if self.returncode is not None or self._process.poll() is None:
            return False
        self.returncode = self._process.returncode
        self._look_at_group()
        if self._kill_at is None:
            self._linger_until = now + LINGER_S
        return True

    def end(self, now: float, grace_s: float) -> None:
        """TERM to the group, and KILL once the grace is over."""
        self._linger_until = None
        if grace_s > 0:
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)
        kill_at = now + grace_s
        self._kill_at = kill_at if self._kill_at is None else min(kill_at, self._kill_at)
        self.step(now)

    def step(self, now: float) -> None:
        """Do what is due: end what the rank left behind, KILL what ignored TERM."""
        if self.returncode is not None and not self.group_is_gone:
            self._look_at_group()
        if self.group_is_gone:
            return
        if self._linger_until is not None and now >= self._linger_until:
            self.end(now, GRACE_S)
        elif self._kill_at is not None and now >= self._kill_at:
            if self._give_up_at is None:
                self._signal(signal.SIGKILL)
                self._give_up_at = now + GIVE_UP_S
            elif now >= self._give_up_at and self.returncode is not None:
                self.group_is_gone = True

    def pause(self, is_paused: bool) -> None:
        """Stop the group, or let it go on."""
        self._signal(signal.SIGSTOP if is_paused else signal.SIGCONT)

    def expects_no_output(self, now: float) -> bool:
        """Whether a pipe that is silent now will stay so: nobody of the group can write to it.

        A process that left the group may hold the pipe open for ever; it gets
        the same time to finish as one that stayed.
        """
        return self.group_is_gone and (self._linger_until is None or now >= self._linger_until)

    def _signal(self, number: int) -> None:
        if not self.group_is_gone:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _look_at_group(self) -> None:
        try:
            os.killpg(self._process.pid, 0)
        except (ProcessLookupError, PermissionError):  # macOS: EPERM when only zombies are left
            self.group_is_gone = True
