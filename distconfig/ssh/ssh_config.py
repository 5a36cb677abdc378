"""Settings of one host as ``ssh -G`` prints them, as the value `SshSettings`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from distconfig.errors import UsageError

__all__ = ["Jump", "SshSettings", "expand_tokens", "parse_proxy_jump", "parse_ssh_settings"]


@dataclass(frozen=True)
class Jump:
    """One hop of ``ProxyJump``: what to look up, and what overrides its settings."""

    host: str
    user: str | None = None
    port: int | None = None


@dataclass(frozen=True)
class SshSettings:
    """How OpenSSH would reach a host.

    Args:
        host: The name or alias, as the user typed it.
        hostname: What it stands for, to be resolved.
        identity_files: In the order to try, as written: with ``~``, % tokens and ``${VAR}``,
            like the other paths here.
        identity_agent: A socket's path, ``SSH_AUTH_SOCK``, or ``none``.
        accepts_new_keys: ``StrictHostKeyChecking`` is ``accept-new``, ``no`` or ``off``.
        connect_timeout_s: ``ConnectTimeout``; None when not set.
        proxy_command: With its % tokens, not expanded.
    """

    host: str
    hostname: str
    port: int = 22
    user: str = ""
    host_key_alias: str = ""
    identity_files: tuple[str, ...] = ()
    identities_only: bool = False
    identity_agent: str = "SSH_AUTH_SOCK"
    user_known_hosts: tuple[str, ...] = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
    global_known_hosts: tuple[str, ...] = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
    hashes_known_hosts: bool = False
    accepts_new_keys: bool = False
    connect_timeout_s: float | None = None
    address_family: str = "any"
    bind_address: str = ""
    proxy_command: str = ""
    jumps: tuple[Jump, ...] = ()

    @property
    def known_hosts_name(self) -> str:
        """The name under which OpenSSH files the host's key.

        Example:
            >>> SshSettings("a", "10.0.0.7", port=2222).known_hosts_name
            '[10.0.0.7]:2222'
        """
        if self.host_key_alias:
            return self.host_key_alias.lower()
        name = self.hostname.lower()
        return name if self.port == 22 else f"[{name}]:{self.port}"


def parse_ssh_settings(host: str, text: str) -> SshSettings:
    """The settings that ``ssh -G -- HOST`` printed.

    Args:
        host: The name as typed, which the output does not repeat in all versions.

    Raises:
        UsageError: A port, timeout or jump host in the user's ssh configuration is not usable.

    Example:
        >>> parse_ssh_settings("s1", "hostname 10.0.0.7\\nport 2222\\nuser ada\\n").port
        2222
    """
    single, repeated = _read_lines(text)

    def words(key: str) -> tuple[str, ...] | None:
        if key not in single:
            return None
        return tuple(word for word in split_words(single[key]) if word != "none")

    plain = SshSettings(host, host)
    timeout = single.get("connecttimeout", "none")
    jump = single.get("proxyjump", "none")
    command = single.get("proxycommand", "none")
    return SshSettings(
        host=host,
        hostname=single.get("hostname", host.rpartition("@")[2]).strip("[]"),
        port=_parse_number("Port", single.get("port", "22"), host, 65535),
        user=single.get("user", ""),
        host_key_alias=single.get("hostkeyalias", ""),
        identity_files=tuple(repeated.get("identityfile", ())),
        identities_only=single.get("identitiesonly", "no") in ("yes", "true"),
        identity_agent=single.get("identityagent", plain.identity_agent),
        user_known_hosts=_else(words("userknownhostsfile"), plain.user_known_hosts),
        global_known_hosts=_else(words("globalknownhostsfile"), plain.global_known_hosts),
        hashes_known_hosts=single.get("hashknownhosts", "no") in ("yes", "true"),
        accepts_new_keys=single.get("stricthostkeychecking", "ask")
        in ("accept-new", "no", "off", "false"),
        connect_timeout_s=(
            None if timeout == "none" else _parse_number("ConnectTimeout", timeout, host, 10**6)
        ),
        address_family=single.get("addressfamily", "any"),
        bind_address=single.get("bindaddress", ""),
        proxy_command="" if command == "none" else command,
        jumps=() if jump == "none" else parse_proxy_jump(jump, host),
    )


def _else(words: tuple[str, ...] | None, default: tuple[str, ...]) -> tuple[str, ...]:
    return default if words is None else words


def _read_lines(text: str) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The first value of each keyword, and all values of each."""
    repeated: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, _, value = line.strip().partition(" ")
        if value.strip():
            repeated.setdefault(key.lower(), []).append(value.strip())
    return {key: values[0] for key, values in repeated.items()}, repeated


def _parse_number(key: str, text: str, host: str, largest: int) -> int:
    if not re.fullmatch(r"[0-9]{1,7}", text) or not 0 < int(text) <= largest:
        raise UsageError(
            f"the ssh configuration gives {host} the {key} {text!r}",
            hint=f"Correct it; `ssh -G {host}` shows what applies.",
        )
    return int(text)


def split_words(text: str) -> list[str]:
    """Words separated by blanks, where double quotes keep blanks in a word.

    Example:
        >>> split_words('~/.ssh/known_hosts "/Volumes/my disk/hosts"')
        ['~/.ssh/known_hosts', '/Volumes/my disk/hosts']
    """
    return [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|(\S+)', text)]


_JUMP = re.compile(
    r"(?:ssh://)?(?:(?P<user>[^@\s]+)@)?(?P<host>\[[^\]\s]+\]|[^:\s]+)(?::(?P<port>\d+))?/?"
)


def parse_proxy_jump(text: str, host: str) -> tuple[Jump, ...]:
    """The hops of a ``ProxyJump``, nearest first.

    Raises:
        UsageError: A hop is not ``[user@]host[:port]``.

    Example:
        >>> parse_proxy_jump("ops@gate:2200,inner", "studio1")
        (Jump(host='gate', user='ops', port=2200), Jump(host='inner', user=None, port=None))
    """
    jumps = []
    for part in text.split(","):
        match = _JUMP.fullmatch(part.strip())
        if match is None or match["host"].startswith("-"):
            raise UsageError(
                f"the ssh configuration gives {host} the ProxyJump {text!r}",
                hint=f"Each hop is [user@]host[:port]; `ssh -G {host}` shows what applies.",
            )
        port = (
            _parse_number("ProxyJump port", match["port"], host, 65535) if match["port"] else None
        )
        jumps.append(Jump(match["host"].strip("[]"), match["user"], port))
    return tuple(jumps)


def expand_tokens(text: str, tokens: Mapping[str, str]) -> str:
    """The text with each ``%x`` replaced by the token ``x``; ``%%`` gives ``%``.

    A token that is not listed stays as it is.

    Example:
        >>> expand_tokens("nc -X 5 %h %p 100%%", {"h": "studio1", "p": "22"})
        'nc -X 5 studio1 22 100%'
    """
    return re.sub(
        "%(.)", lambda match: {"%": "%", **tokens}.get(match[1], match[0]), text, flags=re.DOTALL
    )
