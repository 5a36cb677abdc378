"""``nc -z``: whether a TCP port is answered; of netcat's uses the only one anybody has here."""

from __future__ import annotations

import socket

from tests.simulated_macs.commands.answers import Answer

__all__ = ["nc"]

_TIMEOUT_S = 10.0
_WITH_VALUE = ("-G", "-w", "-s", "-b", "-p")


def nc(args: list[str]) -> Answer:
    """``nc -z [-G SECONDS] [-w SECONDS] [-s SOURCE] HOST PORT``."""
    rest = list(args)
    values: dict[str, str] = {}
    flags: set[str] = set()
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word in _WITH_VALUE:
            values[word] = rest.pop(0)
        else:
            flags.update(word[1:])
    if "z" not in flags or len(rest) != 2:
        return Answer(64, "", f"nc: the simulation does not know: {args}\n")
    host, port = rest
    patience = float(values.get("-G", values.get("-w", _TIMEOUT_S)))
    source = (values.get("-s", ""), 0)
    try:
        socket.create_connection((host, int(port)), patience, source_address=source).close()
    except OSError as error:
        reason = "No route to host" if error.errno == 113 else error.strerror or "timed out"
        return Answer(1, "", f"nc: connectx to {host} port {port} (tcp) failed: {reason}\n")
    return Answer(0, "", f"Connection to {host} port {port} [tcp/*] succeeded!\n")
