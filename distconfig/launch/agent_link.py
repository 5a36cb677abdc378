"""Frames to and from one agent, over two file descriptors, without ever waiting."""

from __future__ import annotations

import os
from typing import Protocol

from distconfig.launch import frames
from distconfig.launch.local_agent import LocalAgent

__all__ = ["AgentLink", "FarSide", "link_to_local_agent"]

_READ_SIZE = 1 << 18


class FarSide(Protocol):
    """What is at the far end of a link."""

    def stderr_tail(self) -> str:
        """The end of what it has complained about."""
        ...

    def close(self) -> None:
        """Give it up, without waiting for anything."""
        ...


class AgentLink:
    """A stream of frames to and from one agent.

    Args:
        source: What the agent says comes from there.
        sink: What it shall hear goes there.
        far: What to ask for complaints, and to close.
        unsent: Bytes to send first.
    """

    def __init__(self, source: int, sink: int, far: FarSide, unsent: bytes = b"") -> None:
        os.set_blocking(source, False)
        os.set_blocking(sink, False)
        self.source = source
        self.sink = sink
        self.heard_at = 0.0
        self._is_open = True
        self._is_sending = True
        self._far = far
        self._decoder = frames.Decoder()
        self._outgoing = bytearray(unsent)

    @property
    def wants_to_send(self) -> bool:
        """Bytes are waiting for the sink to take them."""
        return self._is_sending and bool(self._outgoing)

    def send(self, data: bytes) -> None:
        """Send bytes, as many as go now and the rest when `flush` is called."""
        if self._is_sending:
            self._outgoing += data
            self.flush()

    def flush(self) -> None:
        """Send what is waiting, as far as it goes now."""
        try:
            while self._outgoing:
                del self._outgoing[: os.write(self.sink, self._outgoing)]
        except BlockingIOError:
            pass
        except OSError:  # the end will show where we receive
            self._outgoing.clear()

    def receive(self, now: float) -> list[frames.Frame] | None:
        """The frames that have come, perhaps none; None at the end.

        Raises:
            FrameError: What came are no frames.
        """
        try:
            data = os.read(self.source, _READ_SIZE)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not data:
            return None
        self.heard_at = now
        return self._decoder.feed(data)

    def stderr_tail(self) -> str:
        """The end of what the agent, or what should have become it, has complained about."""
        return self._far.stderr_tail()

    def finish_sending(self) -> None:
        """Let the agent know that nothing more will come: it ends when its ranks have."""
        if self._is_sending:
            self._is_sending = False
            os.close(self.sink)

    def close(self) -> None:
        """Give up the link."""
        self.finish_sending()
        if self._is_open:
            self._is_open = False
            os.close(self.source)
            self._far.close()


def link_to_local_agent(agent: LocalAgent) -> AgentLink:
    """The link to an agent on this machine."""
    return AgentLink(agent.source, agent.sink, agent)
