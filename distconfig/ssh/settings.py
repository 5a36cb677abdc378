"""How ssh would reach a host: ``ssh -G`` where an OpenSSH client is installed, else paramiko."""

from __future__ import annotations

import getpass
import os
import re
import shlex
import shutil
import socket
import subprocess
from dataclasses import replace
from pathlib import Path

from distconfig.errors import Unreachable, UsageError
from distconfig.hosts.deadline import Deadline
from distconfig.ssh.ssh_config import Jump, SshSettings, expand_tokens, parse_ssh_settings

__all__ = ["proxy_argv", "read_settings"]


def read_settings(target: Jump, deadline: Deadline) -> SshSettings:
    """The settings for a name as typed, with the user and port of a jump host if it is one.

    ``ssh`` is looked for on PATH, so whoever wraps it, wraps this too.

    Raises:
        Unreachable: The user's ssh configuration can not be used for this host.
    """
    try:
        ssh = shutil.which("ssh")
        settings = parse_ssh_settings(
            target.host, _ask_openssh(ssh, target, deadline) if ssh else _ask_paramiko(target)
        )
    except UsageError as error:
        raise Unreachable(error.what, host=target.host, hint=error.hint) from error
    return _with_paths(settings if settings.user else replace(settings, user=getpass.getuser()))


def _with_paths(settings: SshSettings) -> SshSettings:
    """The settings with every path as the operating system takes it.

    See ssh_config(5), TOKENS; ``ssh -G`` leaves most of them as written.
    """
    tokens = {
        **_target_tokens(settings),
        "d": str(Path("~").expanduser()),
        "i": str(os.getuid()),
        "k": settings.host_key_alias or settings.hostname,
        "L": socket.gethostname().partition(".")[0],
        "l": socket.gethostname(),
        "u": getpass.getuser(),
    }

    def expand(path: str) -> str:
        with_variables = re.sub(
            r"\$\{(\w+)\}", lambda match: os.environ.get(match[1], match[0]), path
        )
        return str(Path(expand_tokens(with_variables, tokens)).expanduser())

    agent = settings.identity_agent
    return replace(
        settings,
        identity_files=tuple(map(expand, settings.identity_files)),
        user_known_hosts=tuple(map(expand, settings.user_known_hosts)),
        global_known_hosts=tuple(map(expand, settings.global_known_hosts)),
        identity_agent=agent if agent in ("none", "SSH_AUTH_SOCK") else expand(agent),
    )


def _target_tokens(settings: SshSettings) -> dict[str, str]:
    return {
        "h": settings.hostname,
        "n": settings.host.rpartition("@")[2],
        "p": str(settings.port),
        "r": settings.user,
    }


def _ask_openssh(ssh: str, target: Jump, deadline: Deadline) -> str:
    user = ("-l", target.user) if target.user else ()
    port = ("-p", str(target.port)) if target.port else ()
    argv = (ssh, "-G", *user, *port, "--", target.host)
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=deadline.left(),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"`{shlex.join(argv)}` did not end within {deadline.timeout_s:g} s",
            hint="Look for a slow `Match exec` in ~/.ssh/config.",
        ) from error
    except OSError as error:
        raise UsageError(f"{ssh} can not be run: {error.strerror}") from error
    if done.returncode != 0:
        complaint = done.stderr.decode("utf-8", "replace").strip()
        raise UsageError(
            f"ssh does not understand its configuration: {complaint}",
            hint=f"Correct it until `{shlex.join(argv)}` prints the settings.",
        )
    return done.stdout.decode("utf-8", "replace")


def _ask_paramiko(target: Jump) -> str:
    from distconfig.ssh.config_file import look_up

    return look_up(target)


def proxy_argv(settings: SshSettings) -> tuple[str, ...]:
    """The command that makes the connection, as ``ProxyCommand`` says, its tokens replaced."""
    command = expand_tokens(settings.proxy_command, _target_tokens(settings))
    return ("/bin/sh", "-c", f"exec {command}")
