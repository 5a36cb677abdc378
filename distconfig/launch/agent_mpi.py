"""What MPI needs on a host: an mpirun, and from the first host ssh to the others.

This module is also run on the far side, so it needs nothing newer than Python 3.8
and nothing but the standard library.
"""

# Not pathlib, which would be a tenth of the agent's start-up time.
# ruff: noqa: PTH110, PTH118, PTH120
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Any

__all__ = ["find_mpirun", "try_ssh"]

SSH_TIMEOUT_S = 20.0
VERSION_TIMEOUT_S = 20.0


def try_ssh(hosts: list[str]) -> list[dict[str, Any]]:
    """The hosts among these that ssh does not reach from here without a question, with reasons."""
    if hosts and shutil.which("ssh") is None:
        return [{"kind": "ssh", "to": host, "reason": "there is no ssh command"} for host in hosts]
    options = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]
    started = [
        subprocess.Popen(
            ["ssh", *options, "--", host, "true"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        for host in hosts
    ]
    problems = []
    for host, process in zip(hosts, started):  # noqa: B905 -- strict= is newer than 3.8
        try:
            _, stderr = process.communicate(timeout=SSH_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            _, stderr = process.communicate()
            stderr += f"\nno answer within {SSH_TIMEOUT_S:.0f} s".encode()
        if process.returncode != 0:
            lines = stderr.decode(errors="replace").strip().splitlines()
            reason = lines[-1] if lines else f"exit code {process.returncode}"
            problems.append({"kind": "ssh", "to": host, "reason": reason})
    return problems


def find_mpirun(python: str, problems: list[dict[str, Any]]) -> dict[str, str] | None:
    """The mpirun beside the ranks' python, on PATH, or where Homebrew puts it."""
    folders = [
        os.path.dirname(python),
        *os.environ.get("PATH", os.defpath).split(os.pathsep),
        "/opt/homebrew/bin",
        "/usr/local/bin",
    ]
    path = shutil.which("mpirun", path=os.pathsep.join(folders))
    if path is None:
        problems.append({"kind": "mpirun", "path": "", "reason": ""})
        return None
    try:
        asked = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        problems.append({"kind": "mpirun", "path": path, "reason": str(error)})
        return None
    lines = asked.stdout.decode(errors="replace").strip().splitlines()
    version = lines[0] if lines else ""
    if asked.returncode != 0:
        problems.append({"kind": "mpirun", "path": path, "reason": version})
        return None
    return {"path": path, "version": version, "library": _find_library(path)}


def _find_library(mpirun: str) -> str:
    """The MPI library beside an mpirun, as MLX's MPI backend wants it named; empty if none."""
    folder = os.path.join(os.path.dirname(os.path.dirname(mpirun)), "lib")
    names = ("libmpi.dylib",) if sys.platform == "darwin" else ("libmpi.so", "libmpi.so.40")
    for name in names:
        if os.path.exists(os.path.join(folder, name)):
            return name
    return ""
