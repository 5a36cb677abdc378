"""The commands that only say what this Mac is: they print what `tests.fakemac` renders."""

from __future__ import annotations

import plistlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from distconfig.probes import PROBES
from tests.simulated_macs.commands.answers import Answer, Caller
from tests.simulated_macs.portrait import portray

if TYPE_CHECKING:
    from tests.simulated_macs.helper import Host

__all__ = ["answer_identity"]

_GROUPS = ("_www", "admin", "com.apple.access_ssh-disabled", "everyone", "staff", "wheel")


def answer_identity(host: Host, name: str, args: list[str], _caller: Caller) -> Answer:
    """Answer any command that neither reads nor changes the network."""
    mac = host.network.mac
    fake = portray(host.world_file.read(), mac.name)
    probe = next(
        (
            each
            for each in PROBES
            if (each.argv[0].rsplit("/")[-1], *each.argv[1:]) == (name, *args)
        ),
        None,
    )
    if probe is not None:
        done = fake.answer(probe.name)
        return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())
    release = fake.answer("uname").stdout.decode().split()
    version = fake.answer("sw_vers").stdout.decode().splitlines()
    texts = {
        "uname": release[0],
        "uname -s": release[0],
        "uname -r": release[1],
        "uname -m": release[2],
        "uname -n": f"{mac.name}.local",
        "sw_vers -productVersion": version[1].split()[-1],
        "sw_vers -productName": version[0].split()[-1],
        "sw_vers -buildVersion": version[2].split()[-1],
        "sysctl -n kern.hostname": f"{mac.name}.local",
        "sysctl -n hw.ncpu": "14",
        "scutil --get LocalHostName": mac.name,
        "dscl . -list /Groups": "\n".join(_GROUPS),
        **_firewall(host.has_stealth),
    }
    words = shlex.join([name, *args])
    if words in texts:
        return Answer(0, texts[words] + "\n")
    if name == "xcode-select" and args == ["-p"]:
        return _xcode_select(mac.xcode)
    if name == "plutil" and args[:-1] == ["-convert", "xml1", "-o", "-"]:
        return _convert(Path(args[-1]))
    if name == "launchctl" and args[:1] == ["list"]:
        return Answer(0, "PID\tStatus\tLabel\n-\t0\tcom.apple.SafariHistoryServiceAgent\n")
    return Answer(64, "", f"{name}: the simulation does not know: {words}\n")


def _convert(path: Path) -> Answer:
    """A property list of this Mac's disk as XML; the helper sees the same disk."""
    if not path.is_file():
        return Answer(
            1, "", f"{path}: file does not exist or is not readable or is not a regular file\n"
        )
    return Answer(0, plistlib.dumps(plistlib.loads(path.read_bytes())).decode())


def _firewall(has_stealth: bool) -> dict[str, str]:
    """The answers of the application firewall: off, or on and dropping pings."""
    state = "enabled. (State = 1)" if has_stealth else "disabled. (State = 0)"
    return {
        "socketfilterfw --getglobalstate": f"Firewall is {state}",
        "socketfilterfw --getblockall": "Firewall has block all state set to disabled.",
        "socketfilterfw --getstealthmode": (
            f"Firewall stealth mode is {'on' if has_stealth else 'off'}"
        ),
    }


def _xcode_select(is_there: bool) -> Answer:
    if is_there:
        return Answer(0, "/Library/Developer/CommandLineTools\n")
    return Answer(
        2,
        "",
        "xcode-select: error: unable to get active developer directory, use `sudo xcode-select"
        " --switch path/to/Xcode.app` to set one (or see `man xcode-select`)\n",
    )
