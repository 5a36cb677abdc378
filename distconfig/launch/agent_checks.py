"""What has to be true on a host before a rank starts there, looked at from that host.

This module is also run on the far side, so it needs nothing newer than Python 3.8
and nothing but the standard library. It finds facts; `checks` puts them into words.

A request and its answer are JSON objects:

    request   cwd, cwd_is_asked, python (or null), program [kind, word], path (or null),
              binds [[address, TCP port]], reach [[address, TCP port]], mpirun (bool), ssh_to [host]
    answer    python, cwd, program, mpirun {path, version, library} or null,
              problems [{kind, ...}]
"""

# Not pathlib, which would be a tenth of the agent's start-up time.
# ruff: noqa: PTH110, PTH111, PTH112, PTH113, PTH115, PTH116, PTH118, PTH123, PTH208
from __future__ import annotations

import contextlib
import errno
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from distconfig.launch.agent_mpi import find_mpirun, try_ssh

__all__ = ["answer_checks", "find_listener"]

REACH_TIMEOUT_S = 2.0


def answer_checks(request: dict[str, Any]) -> dict[str, Any]:
    """Everything that was asked, with all problems together."""
    problems: list[dict[str, Any]] = []
    cwd = _find_cwd(request, problems)
    python = _find_python(request, cwd, problems)
    program = _find_program(request, cwd, python, problems)
    for address, tcp_port in request["binds"]:
        problems += _try_to_listen(address, tcp_port)
    for address, tcp_port in request["reach"]:
        problems += _try_to_reach(address, tcp_port)
    problems += try_ssh(request["ssh_to"])
    mpirun = find_mpirun(python, problems) if request["mpirun"] else None
    return {
        "python": python,
        "cwd": cwd,
        "program": program,
        "mpirun": mpirun,
        "problems": problems,
    }


def _find_cwd(request: dict[str, Any], problems: list[dict[str, Any]]) -> str:
    """The folder to run in; the home if the launcher's own folder is not on this host."""
    wanted: str = os.path.expanduser(request["cwd"])
    if os.path.isdir(wanted) and os.access(wanted, os.X_OK):
        return wanted
    if request["cwd_is_asked"]:
        problems.append({"kind": "cwd", "path": wanted})
        return wanted
    home = os.path.expanduser("~")
    return home if os.path.isdir(home) else "/"


def _find_python(request: dict[str, Any], cwd: str, problems: list[dict[str, Any]]) -> str:
    wanted = request["python"]
    if wanted is None:
        return sys.executable
    found = _which(wanted, cwd, request["path"])
    if found is None:
        problems.append({"kind": "python", "path": wanted})
    return found or wanted


def _find_program(
    request: dict[str, Any], cwd: str, python: str, problems: list[dict[str, Any]]
) -> str:
    """The word to start with: as typed, or our python where the host's PATH knows none."""
    kind, word = request["program"]
    typed: str = os.path.expanduser(word)
    if kind == "script":
        path = os.path.join(cwd, typed)
        if not os.path.isfile(path):
            problems.append({"kind": "script", "path": path})
        elif not os.access(path, os.R_OK):
            problems.append({"kind": "unreadable", "path": path})
    elif kind == "program" and _which(typed, cwd, request["path"]) is None:
        if typed in ("python", "python3"):
            return python
        exists = "/" in typed and os.path.exists(os.path.join(cwd, typed))
        problems.append({"kind": "program", "word": word, "exists": exists})
    return typed


def _which(word: str, cwd: str, path: str | None) -> str | None:
    word = os.path.expanduser(word)
    return shutil.which(os.path.join(cwd, word) if "/" in word else word, path=path)


def _try_to_listen(address: str, tcp_port: int) -> list[dict[str, Any]]:
    place = {"address": address, "tcp_port": tcp_port}
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            address, tcp_port, type=socket.SOCK_STREAM
        )[0]
        with socket.socket(family, kind, protocol) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(where)
            listener.listen(1)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return [dict(place, kind="taken", by=find_listener(tcp_port))]
        if error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
            return [dict(place, kind="address")]
        return [dict(place, kind="listen", reason=error.strerror or str(error))]
    return []


def _try_to_reach(address: str, tcp_port: int) -> list[dict[str, Any]]:
    """Whether this process may talk to a neighbour at all; a refusal is an answer too."""
    try:
        with contextlib.closing(socket.create_connection((address, tcp_port), REACH_TIMEOUT_S)):
            return []
    except OSError as error:
        if error.errno == errno.EHOSTUNREACH:
            return [{"kind": "unreachable", "address": address, "errno": error.errno}]
        return []


def find_listener(tcp_port: int) -> str:
    """Who listens on a TCP port here, such as ``python3 (pid 12, ada)``; empty if not known."""
    try:
        return _find_listener_in_proc(tcp_port) or _ask_lsof(tcp_port)
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""


def _listening_inodes(tcp_port: int) -> Iterator[str]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(FileNotFoundError), open(table, encoding="ascii") as file:
            next(file)
            for line in file:
                words = line.split()
                if words[3] == "0A" and int(words[1].rpartition(":")[2], 16) == tcp_port:
                    yield words[9]


def _find_listener_in_proc(tcp_port: int) -> str:
    wanted = {f"socket:[{inode}]" for inode in _listening_inodes(tcp_port)}
    for pid in filter(str.isdigit, os.listdir("/proc") if wanted else ()):
        folder = f"/proc/{pid}/fd"
        with contextlib.suppress(OSError):  # ended meanwhile, or not ours to look at
            if any(os.readlink(f"{folder}/{name}") in wanted for name in os.listdir(folder)):
                with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                    command = file.read().strip()
                return f"{command} (pid {pid}, {_user_name(os.stat(folder).st_uid)})"
    return ""


def _user_name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def _ask_lsof(tcp_port: int) -> str:
    """``lsof -F`` prints one field per line, named by its first letter."""
    path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/usr/bin"
    lsof = shutil.which("lsof", path=path)
    if lsof is None:
        return ""
    asked = subprocess.run(
        [lsof, "-nP", f"-iTCP:{tcp_port}", "-sTCP:LISTEN", "-FpcL"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=10,
        check=False,
    )
    fields: dict[str, str] = {}
    for line in asked.stdout.decode(errors="replace").splitlines():
        fields.setdefault(line[:1], line[1:])
    if "p" not in fields:
        return ""
    return f"{fields.get('c', 'a process')} (pid {fields['p']}, {fields.get('L', 'unknown user')})"
