"""Simulated Macs by hand, as root on Linux.

python -m tests.simulated_macs up ring4             also mesh4, pair2, triangle, chain3
python -m tests.simulated_macs run distributed_config --hosts studio1,studio2 --dot
python -m tests.simulated_macs shell studio1         a shell on the host; "operator" for yours
python -m tests.simulated_macs cut studio2 en3
python -m tests.simulated_macs plug studio2 en3 studio3 en2
python -m tests.simulated_macs shape studio2 en3 500mbit
python -m tests.simulated_macs reboot studio2
python -m tests.simulated_macs lan studio2 down
python -m tests.simulated_macs sudo studio2 password
python -m tests.simulated_macs put-back studio2      configd fills the automatic bridge again
python -m tests.simulated_macs counters | state | status
python -m tests.simulated_macs down
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.simulated_macs.layout import named_layout
from tests.simulated_macs.serve import main as serve
from tests.simulated_macs.simulated import (
    SimulatedMacs,
    attach,
    read_facts,
    start_lab,
)

_FOLDER = Path(os.environ.get("SIMULATED_MACS", "/tmp/simulated-macs"))


def _up(shape: str) -> None:
    if _FOLDER.exists():
        raise SystemExit(f"{_FOLDER} exists: something is up already; first: down")
    lab = start_lab(named_layout(shape), _FOLDER, (), until_eof=False)
    macs = attach(_FOLDER, read_facts(lab, _FOLDER))
    print(f"up: {','.join(macs.names)}; ssh settings in {macs.home}")


def _down() -> None:
    if not _FOLDER.exists():
        print("nothing is up")
        return
    try:
        os.kill(int((_FOLDER / "pid").read_text()), signal.SIGTERM)
    except (FileNotFoundError, ProcessLookupError):
        print("the lab had ended already")
    shutil.rmtree(_FOLDER)


def _attached() -> SimulatedMacs:
    if not _FOLDER.exists():
        raise SystemExit("nothing is up; first: up ring4")
    macs = attach(_FOLDER, {})
    macs.order("facts")
    return macs


def _run(macs: SimulatedMacs, words: Sequence[str]) -> None:
    modules = {
        "distributed_config": "distconfig.cli",
        "distributed_launch": "distconfig.launch.cli",
    }
    argv = list(words)
    if argv and argv[0] in modules:
        argv = [sys.executable, "-m", modules[argv[0]], *argv[1:]]
    with macs.popen(argv, cwd=Path.cwd()) as process:
        raise SystemExit(process.wait())


def _shell(macs: SimulatedMacs, name: str) -> None:
    if name == "operator":
        _run(macs, ["/bin/bash", "-i"])
    with macs[name].popen([macs[name].mac.login_shell, "-i"]) as process:
        raise SystemExit(process.wait())


def _counters(macs: SimulatedMacs) -> None:
    for mac in macs:
        for interface, count in mac.counters().items():
            sent, received = count.sent_bytes, count.received_bytes
            print(f"{mac.name:<12} {interface:<8} {sent:>14} sent {received:>14} received")


def _status(macs: SimulatedMacs) -> None:
    for mac in macs:
        held = "  ".join(f"{name} {' '.join(each)}" for name, each in mac.addresses().items())
        print(f"{mac.name:<12} pid {mac.pid}  {held}  members {mac.members()}")


def _states(macs: SimulatedMacs) -> None:
    for mac in macs:
        print(f"=== {mac.name}\n{mac.state()}")


_VERBS: dict[str, Callable[[SimulatedMacs, list[str]], object]] = {
    "run": _run,
    "shell": lambda macs, words: _shell(macs, words[0]),
    "cut": lambda macs, words: macs[words[0]].cut(words[1]),
    "plug": lambda macs, words: macs[words[0]].plug(*words[1:4]),
    "shape": lambda macs, words: macs[words[0]].shape(words[1], words[2]),
    "reboot": lambda macs, words: macs[words[0]].reboot(),
    "lan": lambda macs, words: macs.order("lan", host=words[0], is_up=words[1] == "up"),
    "sudo": lambda macs, words: macs[words[0]].set_sudo(words[1]),
    "put-back": lambda macs, words: print(*macs[words[0]].configd_put_back()),
    "counters": lambda macs, _: _counters(macs),
    "state": lambda macs, _: _states(macs),
    "status": lambda macs, _: _status(macs),
}


def main(argv: Sequence[str]) -> None:
    """Do what one command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulated_macs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("verb", choices=["up", "down", "serve", *_VERBS])
    parser.add_argument("words", nargs=argparse.REMAINDER)
    options = parser.parse_args(argv)
    if options.verb == "serve":
        serve(Path(options.words[0]), until_eof="--keep" not in options.words)
    elif options.verb == "up":
        _up(*options.words)
    elif options.verb == "down":
        _down()
    else:
        _VERBS[options.verb](_attached(), options.words)


if __name__ == "__main__":
    main(sys.argv[1:])
