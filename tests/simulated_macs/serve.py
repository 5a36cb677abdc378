"""The lab as a process of its own: it takes orders over a unix socket until nobody needs it.

A test keeps the other end of its standard input open; when the test ends, however it ends,
the lab sees the end of file, goes, and takes everything with it.
"""

from __future__ import annotations

import json
import os
import pickle
import selectors
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from tests.simulated_macs.lab import Lab
from tests.simulated_macs.layout import End
from tests.simulated_macs.network import NetworkRefusal

__all__ = ["main"]


def main(folder: Path, *, until_eof: bool) -> None:
    """Start the lab whose layout is in ``FOLDER/layout.pickle`` and serve it.

    Prints one line of JSON with the process numbers once all hosts are up.
    """
    layout, shared = pickle.loads((folder / "layout.pickle").read_bytes())
    (folder / "pid").write_text(str(os.getpid()))
    lab = Lab(layout, folder, shared)
    lab.start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        listener = _listen(folder)
        print(json.dumps(_facts(lab)), flush=True)
        _serve(lab, listener, until_eof)
    finally:
        lab.stop()


def _serve(lab: Lab, listener: socket.socket, until_eof: bool) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        if until_eof:
            selector.register(sys.stdin, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is listener:
                    _serve_one(lab, listener)
                elif not os.read(0, 1024):
                    return


def _facts(lab: Lab) -> dict[str, Any]:
    return {"lab": os.getpid(), "operator": lab.operator_pid, "hosts": lab.pids}


def _listen(folder: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    listener.bind(f"/proc/self/fd/{descriptor}/orders")  # a long path would not fit
    os.close(descriptor)
    listener.listen()
    return listener


def _serve_one(lab: Lab, listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection, connection.makefile("rw") as stream:
        order = json.loads(stream.readline())
        try:
            _obey(lab, **order)
            reply: dict[str, Any] = _facts(lab)
        except (ValueError, KeyError, RuntimeError, NetworkRefusal) as error:
            reply = {"error": str(error)}
        stream.write(json.dumps(reply) + "\n")


def _obey(lab: Lab, verb: str, **words: Any) -> None:
    if verb == "plug":
        lab.plug(End(*words["one"]), End(*words["two"]))
    elif verb == "cut":
        lab.cut(End(*words["end"]))
    elif verb == "shape":
        lab.shape(End(*words["end"]), words["rate"])
    elif verb == "lan":
        lab.set_lan(words["host"], words["is_up"])
    elif verb in ("reboot", "switch_on", "switch_off"):
        getattr(lab, verb)(words["host"])
    elif verb != "facts":
        raise ValueError(f"no such order: {verb}")
