"""The helper of a host: one process that answers all its fake commands and knows its state."""

from __future__ import annotations

import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import threading
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from tests.simulated_macs.commands import Answer, Caller, answer
from tests.simulated_macs.interference import Interference
from tests.simulated_macs.network import Network
from tests.simulated_macs.stored_services import StoredServices
from tests.simulated_macs.world_file import WorldFile

__all__ = ["Host", "serve"]


@dataclass
class Host:
    """All that the fake commands of one Mac share.

    Args:
        sudo: As in ``layout.Mac``; a test may change it while the host runs.
        has_stealth: The firewall is on and drops pings.
    """

    network: Network
    world_file: WorldFile
    services: StoredServices
    sudo: str
    has_stealth: bool = False
    interference: Interference = field(default_factory=Interference)
    lock: threading.Lock = field(default_factory=threading.Lock)


def serve(
    listener: socket.socket,
    network: Network,
    world: WorldFile,
    services: StoredServices,
    sshd: subprocess.Popen[bytes],
) -> None:
    """Answer the fake commands until sshd ends."""
    host = Host(network, world, services, network.mac.sudo)
    threading.Thread(target=_accept, args=(listener, host), daemon=True).start()
    if network.mac.put_back_every_s:
        threading.Thread(target=_be_configd, args=(host,), daemon=True).start()
    sshd.wait()


def _accept(listener: socket.socket, host: Host) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_answer, args=(connection, host), daemon=True).start()


def _answer(connection: socket.socket, host: Host) -> None:
    with connection:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        _, uid, _ = struct.unpack("3i", credentials)
        with connection.makefile("rb") as reader:
            length = int(reader.readline() or 0)
            words = [os.fsdecode(word) for word in reader.read(length).split(b"\0")[:-1]]
            caller = Caller(uid, reader.read(), partial(_is_closed, connection))
        if not words:
            return
        try:
            reply = answer(host, words[0], words[1:], caller)
        except BaseException:
            traceback.print_exc()
            reply = Answer(70, "", f"simulated {words}: see the log of this host\n")
        if words[0] != "simulation":
            _log_command(uid, words, reply.status)
        with suppress(BrokenPipeError):
            connection.sendall(reply.encoded())


def _is_closed(connection: socket.socket) -> bool:
    """Whether the other side has closed; it ended its writing long before."""
    poll = select.poll()
    poll.register(connection, 0)
    return bool(poll.poll(0))


def _log_command(uid: int, words: list[str], status: int) -> None:
    entry = {"uid": uid, "words": words, "status": status}
    print(f"command {json.dumps(entry)}", file=sys.stderr, flush=True)


def _be_configd(host: Host) -> None:
    """Put freed ports back now and then, at random, as configd does when it looks again."""
    dice = random.Random(host.network.mac.name)
    wake = threading.Event()
    while not wake.wait(dice.expovariate(1 / host.network.mac.put_back_every_s)):
        with host.lock:
            host.network.put_ports_back()
