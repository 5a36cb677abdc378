"""Why a connection could not be made or broke, in plain words beside the number.

The same call fails with errno 60, 61 or 65 for several unrelated reasons on
macOS; what they are and what to do is known from public threads, among them
ml-explore/mlx issue 3755 and Apple's technical note TN3179 on Local Network privacy.
"""

from __future__ import annotations

import errno

__all__ = ["explain_connect", "explain_loss", "name_errno"]

_MACOS = {
    13: "EACCES",
    22: "EINVAL",
    32: "EPIPE",
    48: "EADDRINUSE",
    49: "EADDRNOTAVAIL",
    50: "ENETDOWN",
    51: "ENETUNREACH",
    54: "ECONNRESET",
    60: "ETIMEDOUT",
    61: "ECONNREFUSED",
    64: "EHOSTDOWN",
    65: "EHOSTUNREACH",
}

_LOCAL_NETWORK = (
    "macOS withholds the Local Network permission from this program (those started by a terminal "
    "other than Terminal.app, by an editor or by a launch agent need it; ping and Apple's own "
    "tools do not): start it from Terminal.app or through `ssh localhost`, or switch it on in "
    "System Settings > Privacy & Security > Local Network"
)

_CONNECT = {
    "EHOSTUNREACH": (
        "no route to host: the cable is out, or the address went away with a reboot or when "
        "the cable was plugged in again (then set the ring up again)"
    ),
    "EHOSTDOWN": "host is down: the cable is out or the host sleeps",
    "ENETUNREACH": "no route to that network: this machine has no address on that cable",
    "ETIMEDOUT": (
        "nobody answered in time: the host sleeps, a firewall drops the packets, or they leave by "
        "another interface than the cable's (see `route -n get ADDRESS`)"
    ),
    "ECONNREFUSED": (
        "connection refused: the host is up and nothing listens on that TCP port, so that rank "
        "has not started yet, has failed, or was told another address"
    ),
    "EADDRNOTAVAIL": (
        "not an address of this machine: the rank or the hostfile belongs to another host, or the "
        "address went away with a reboot (then set the ring up again)"
    ),
    "EADDRINUSE": (
        "TCP port in use: another process has the same rank number, or a previous job has not ended"
    ),
    "EACCES": "not permitted: TCP ports below 1024 are reserved for root",
    "ECONNRESET": "closed at once: something other than a rank listens on that TCP port",
    "EINVAL": (
        "not usable as it is: a link-local IPv6 address needs %interface, and after a reboot an "
        "interface may have no IPv4 address for minutes"
    ),
}

_LOSS = {
    "ECONNRESET": "connection reset: its process was killed or its host restarted",
    "EPIPE": "closed at the other end: its process has ended",
    "ETIMEDOUT": "no sign of life for seven seconds: the cable was pulled or the host is down",
    "EHOSTUNREACH": "no route to host any more: the cable was pulled or its address is gone",
    "EHOSTDOWN": "host is down: the cable was pulled or the host sleeps",
    "ENETUNREACH": "no route to that network any more: the address of the cable is gone",
    "ENETDOWN": "the interface of the cable went down",
}


def name_errno(number: int, *, platform: str) -> str:
    """The symbol of an errno of that platform, or "".

    Args:
        platform: ``sys.platform``; numbers of macOS are known everywhere.

    Example:
        >>> name_errno(65, platform="darwin")
        'EHOSTUNREACH'
    """
    return _MACOS.get(number, "") if platform == "darwin" else errno.errorcode.get(number, "")


def explain_connect(number: int, *, platform: str) -> str:
    """Why connecting to an address or listening on it failed, and what to do.

    Example:
        >>> explain_connect(51, platform="darwin")
        'errno 51, no route to that network: this machine has no address on that cable'
    """
    name = name_errno(number, platform=platform)
    text = f"errno {number}, {_CONNECT.get(name, name or 'unknown')}"
    if platform == "darwin" and name in ("EHOSTUNREACH", "ETIMEDOUT"):
        text += f"; or {_LOCAL_NETWORK}"
    return text


def explain_loss(number: int, *, platform: str) -> str:
    """Why an established connection failed.

    Example:
        >>> explain_loss(32, platform="darwin")
        'errno 32, closed at the other end: its process has ended'
    """
    name = name_errno(number, platform=platform)
    return f"errno {number}, {_LOSS.get(name, name or 'unknown')}"
