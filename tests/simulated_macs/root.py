"""The root file system of a simulated Mac: Linux underneath, macOS paths on top, own /tmp.

Everything is mounted in the private mount namespace of the host and vanishes with it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.simulated_macs.layout import Mac
from tests.simulated_macs.namespaces import bind, keep_mounts_private, mount

__all__ = ["PRIVATE", "USER_ID", "enter_root"]

PRIVATE = Path("/private/simulation")
"""Where a host keeps what no Mac has: the helper's socket and sshd's files."""

USER_ID, STAFF = 501, 20

_COMMANDS = {
    "usr/bin": "uname sw_vers sudo xcode-select ibv_devices ibv_devinfo rdma_ctl launchctl nc ping"
    " dscl plutil",
    "usr/sbin": "sysctl system_profiler networksetup netstat ioreg scutil ipconfig arp ifconfig"
    " route ping",
    "usr/libexec/ApplicationFirewall": "socketfilterfw",
}
"""On a Mac ``/sbin`` and ``/bin`` are folders of their own; here they point into ``/usr``."""

_CHECKOUT = Path(__file__).resolve().parents[2]


def enter_root(root: Path, mac: Mac, authorized_key: str, shared: Iterable[Path]) -> None:
    """Build the root of this host on a fresh tmpfs and make it this process's root.

    Args:
        root: An empty folder of the operator's machine to mount it on.
        shared: Folders of the operator's machine that the host sees too, writable.
    """
    keep_mounts_private()
    mount("tmpfs", root, "tmpfs", "mode=755")
    _make_private_folder(root)
    _mount_system(root, mac)
    _make_folders(root, mac, authorized_key)
    for folder in _interpreter_folders():
        bind(folder, _inside(root, folder), read_only=True)
    for folder in shared:
        bind(folder, _inside(root, folder))
    os.chroot(root)
    os.chdir("/")


def _inside(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")


def _interpreter_folders() -> list[Path]:
    """The checkout and what its Python needs, unless they are part of the system below."""
    wanted = [_CHECKOUT, Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()]
    outside = [folder for folder in wanted if not folder.is_relative_to("/usr")]
    return [
        folder
        for index, folder in enumerate(outside)
        if not any(folder.is_relative_to(other) for other in outside[:index])
    ]


def _make_private_folder(root: Path) -> None:
    private = _inside(root, PRIVATE)
    (private / "etc").mkdir(parents=True)
    as_root = private / "as-root"
    shutil.copyfile("/usr/bin/setpriv", as_root)
    as_root.chmod(0o4755)
    fake = private / "fakecommand"
    shutil.copyfile(Path(__file__).with_name("fakecommand.pl"), fake)
    fake.chmod(0o755)


def _mount_system(root: Path, mac: Mac) -> None:
    private = _inside(root, PRIVATE)
    for folder, names in _COMMANDS.items():
        (private / folder).mkdir(parents=True)
        for name in names.split():
            (private / folder / name).symlink_to(PRIVATE / "fakecommand")
    if mac.sudo == "absent":
        hide = private / "usr/bin/sudo"
        hide.unlink()
        os.mknod(hide, 0o020000)  # a character device 0:0 is how overlayfs spells "deleted"
    _write_accounts(private / "etc", mac)
    for layer in ("usr", "etc"):
        options = f"lowerdir={private / layer}:/{layer}"
        mount("overlay", root / layer, "overlay", options)
    for name in ("bin", "sbin", "lib", "lib64", "lib32"):
        if Path("/", name).is_symlink():
            (root / name).symlink_to(Path("/", name).readlink())
    mount("proc", root / "proc", "proc")
    mount("sysfs", root / "sys", "sysfs")
    bind(Path("/dev"), root / "dev")


def _write_accounts(etc: Path, mac: Mac) -> None:
    (etc / "passwd").write_text(
        "root:*:0:0:System Administrator:/var/root:/bin/sh\n"
        "sshd:*:75:75:sshd Privilege separation:/var/empty:/usr/bin/false\n"
        "nobody:*:65534:65534:Unprivileged User:/var/empty:/usr/bin/false\n"
        f"{mac.user}:*:{USER_ID}:{STAFF}:{mac.user}:/Users/{mac.user}:{mac.login_shell}\n"
    )
    (etc / "group").write_text(
        f"wheel:*:0:root\nstaff:*:{STAFF}:root\nadmin:*:80:{mac.user}\nsshd:*:75:\n"
        "nogroup:*:65534:\n"
    )
    (etc / "hostname").write_text(f"{mac.name}\n")
    (etc / "hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")


def _make_folders(root: Path, mac: Mac, authorized_key: str) -> None:
    for name in ("tmp", "var/tmp"):
        (root / name).mkdir(parents=True)
        (root / name).chmod(0o1777)
    for name in ("run/sshd", "var/empty", "var/log", "var/root", "Library/LaunchDaemons"):
        (root / name).mkdir(parents=True)
    (root / "var/run").symlink_to("/run")
    (root / "private/tmp").symlink_to("/tmp")
    (root / "private/var").symlink_to("/var")
    home = root / "Users" / mac.user
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/authorized_keys").write_text(authorized_key)
    if mac.banner:
        (home / ".ssh/rc").write_text(f"cat <<'END OF BANNER'\n{mac.banner}\nEND OF BANNER\n")
    for path in (home, *home.rglob("*")):
        os.chown(path, USER_ID, STAFF)
