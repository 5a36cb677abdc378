"""The few Linux system calls that Python 3.10 lacks: namespaces, mounts, parent-death signal."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable, Collection
from pathlib import Path

__all__ = [
    "CLONE_NEWIPC",
    "CLONE_NEWNET",
    "CLONE_NEWNS",
    "CLONE_NEWPID",
    "CLONE_NEWUTS",
    "bind",
    "die_with_parent",
    "fork_as_init",
    "keep_mounts_private",
    "mount",
    "set_hostname",
    "unshare",
]

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
_PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Move this process (for ``CLONE_NEWPID``: its next child) into new namespaces."""
    _check(_libc.unshare(flags), "unshare")


def mount(source: str, target: Path, kind: str, options: str = "", flags: int = 0) -> None:
    """Mount a file system, making the folder it goes on."""
    target.mkdir(parents=True, exist_ok=True)
    words = (source.encode(), os.fsencode(target), kind.encode())
    _check(_libc.mount(*words, ctypes.c_ulong(flags), options.encode()), f"mount {target}")


def bind(source: Path, target: Path, *, read_only: bool = False) -> None:
    """Make a file or folder, with all that is mounted in it, appear at another path too."""
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    words = (os.fsencode(source), os.fsencode(target), b"none")
    _check(_libc.mount(*words, ctypes.c_ulong(_MS_BIND | _MS_REC), b""), f"bind {target}")
    if read_only:
        flags = _MS_BIND | _MS_REMOUNT | _MS_RDONLY
        _check(_libc.mount(*words, ctypes.c_ulong(flags), b""), f"bind {target} read-only")


def keep_mounts_private() -> None:
    """From now on what is mounted here is seen by no process outside this mount namespace."""
    flags = ctypes.c_ulong(_MS_REC | _MS_PRIVATE)
    _check(_libc.mount(b"none", b"/", b"none", flags, b""), "make mounts private")


def set_hostname(name: str) -> None:
    """Set the host name of this UTS namespace."""
    encoded = name.encode()
    _check(_libc.sethostname(encoded, len(encoded)), "sethostname")


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends, however that happens."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")


def fork_as_init(body: Callable[[], int], *, keep: Collection[int] = ()) -> int:
    """Fork a child that is process 1 of a new process namespace, and return its number here.

    When the child ends, the kernel kills all its descendants; when we end, it kills the child.

    Args:
        body: What the child does; its return value is the exit status.
        keep: File descriptors that stay open in the child, beside 0, 1 and 2.
    """
    unshare(CLONE_NEWPID)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            die_with_parent()
            os.setsid()
            _close_all_but(keep)
            status = body()
        finally:
            os._exit(status)
    ours = os.open("/proc/self/ns/pid", os.O_RDONLY)
    try:
        _check(_libc.setns(ours, CLONE_NEWPID), "setns")
    finally:
        os.close(ours)
    return pid


def _close_all_but(keep: Collection[int]) -> None:
    for entry in list(Path("/proc/self/fd").iterdir()):
        descriptor = int(entry.name)
        if descriptor > 2 and descriptor not in keep:
            try:
                os.close(descriptor)
            except OSError:
                continue
