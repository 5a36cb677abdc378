"""The user's ssh configuration read by paramiko, for machines without an OpenSSH client."""

from __future__ import annotations

from pathlib import Path

import paramiko

from distconfig.errors import UsageError
from distconfig.ssh.ssh_config import Jump

__all__ = ["look_up"]

_DEFAULT_KEYS = ("~/.ssh/id_rsa", "~/.ssh/id_ecdsa", "~/.ssh/id_ed25519")
_FILES = ("~/.ssh/config", "/etc/ssh/ssh_config")


def look_up(target: Jump) -> str:
    """The settings for a host, in the format of ``ssh -G``.

    Raises:
        UsageError: The configuration is not understood.
    """
    user, _, name = target.host.rpartition("@")
    config = paramiko.SSHConfig()
    try:
        for file in _FILES:
            path = Path(file).expanduser()
            if path.exists():
                with path.open() as lines:
                    config.parse(lines)
        found = config.lookup(name)
    except (OSError, ValueError, ImportError, paramiko.SSHException) as error:
        raise UsageError(
            f"the ssh configuration can not be read: {error}",
            hint="Install the OpenSSH client, or simplify ~/.ssh/config.",
        ) from error
    found.setdefault("identityfile", list(_DEFAULT_KEYS))
    if user or target.user:
        found["user"] = target.user or user
    if target.port:
        found["port"] = str(target.port)
    return "".join(
        f"{key} {value}\n"
        for key, values in found.items()
        for value in (values if isinstance(values, list) else [values or "none"])
    )
