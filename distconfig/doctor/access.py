"""Checks on getting in: ssh, its keys, who may log in, sudo, and a Python to run."""

from __future__ import annotations

from collections.abc import Iterator

from distconfig.doctor.evidence import Evidence
from distconfig.doctor.findings import Finding, Kind, Severity
from distconfig.errors import AuthenticationFailed, CommandFailed, ProbeError, ReportError
from distconfig.printable import escape_controls

__all__ = [
    "HOST_KEY",
    "HOST_SILENT",
    "HOST_UNREACHABLE",
    "LOGIN_RESTRICTED",
    "NOT_UNDERSTOOD",
    "PYTHON_DIFFERS",
    "PYTHON_MISSING",
    "SAME_MACHINE",
    "SSH_REFUSED",
    "SUDO_MISSING",
    "SUDO_PASSWORD",
    "find_failures",
    "find_login_restrictions",
    "find_python_trouble",
    "find_sudo_trouble",
    "find_twins",
]

HOST_UNREACHABLE = Kind(
    "host-unreachable",
    Severity.PROBLEM,
    "No ssh connection to the host came about.",
    "See whether it is on, awake and in this network, and whether Remote Login is on "
    "(System Settings > General > Sharing).",
)
HOST_SILENT = Kind(
    "host-silent",
    Severity.PROBLEM,
    "The host was reached, but a command on it did not end or its login shell is unusual.",
    "Run that command there by hand.",
)
SSH_REFUSED = Kind(
    "ssh-refused",
    Severity.PROBLEM,
    "The host took none of our keys. On a Mac, Remote Login may also be limited to some users.",
    "Put your public key on it with ssh-copy-id, load it into the agent with ssh-add, and see "
    "that Remote Login allows this user.",
)
HOST_KEY = Kind(
    "ssh-host-key",
    Severity.PROBLEM,
    "A key we do not trust may belong to somebody who answers in the host's place.",
    "Compare the fingerprint with the one the host itself shows, then accept it.",
)
NOT_UNDERSTOOD = Kind(
    "not-understood",
    Severity.PROBLEM,
    "The host printed something this version can not read, so nothing is known of its ports.",
    "Report it with a recording: --save FOLDER --anonymise.",
)
SAME_MACHINE = Kind(
    "same-machine",
    Severity.PROBLEM,
    "A ring visits every machine once; two names for one machine would make it a rank twice.",
    "Leave one of the two names out.",
)
LOGIN_RESTRICTED = Kind(
    "login-restricted",
    Severity.WARNING,
    "Remote Login is limited to members of the group com.apple.access_ssh, and the user is none; "
    "other hosts, mpirun for one, can not log in there.",
    "System Settings > General > Sharing > Remote Login: allow this user or all users.",
)
SUDO_PASSWORD = Kind(
    "sudo-password",
    Severity.WARNING,
    "Setup, reapply and teardown never type a password, so they can only print their commands "
    "for this host.",
    "Paste the printed commands there, or allow them without a password in /etc/sudoers.d "
    "(docs/day-after.md has the lines).",
)
SUDO_MISSING = Kind(
    "sudo-missing",
    Severity.WARNING,
    "Without sudo no command can be run as root over ssh.",
    "Log in as root, or install sudo.",
)
PYTHON_MISSING = Kind(
    "python-missing",
    Severity.PROBLEM,
    "Jobs and throughput tests run under a Python 3.8 or newer, which is not found by ssh. "
    "Apple's own /usr/bin/python3 works only with the Command Line Tools.",
    "Install one (brew install python, or xcode-select --install), or name yours: "
    "distributed_launch --python PATH.",
)
PYTHON_DIFFERS = Kind(
    "python-differs",
    Severity.NOTE,
    "Programs that send each other pickled objects need the same Python everywhere.",
    "Give all hosts the same version, or name one with distributed_launch --python PATH.",
)


def find_failures(evidence: Evidence) -> Iterator[Finding]:
    """Why a host could not be asked or read."""
    for host, error in evidence.survey.failures.items():
        kind = HOST_UNREACHABLE
        if isinstance(error, AuthenticationFailed):
            kind = HOST_KEY if "host key" in error.what else SSH_REFUSED
        elif isinstance(error, CommandFailed):
            kind = HOST_SILENT
        elif isinstance(error, ReportError):
            kind = NOT_UNDERSTOOD
        elif not isinstance(error, ProbeError):
            continue
        shown = error.what
        if isinstance(error, ReportError) and error.where:
            shown = f"{error.what}: {error.where}"
        yield kind.at(host, f"{host}: {escape_controls(shown)}.", fix=error.hint)


def find_twins(evidence: Evidence) -> Iterator[Finding]:
    """Names that lead to one machine."""
    for host, first in evidence.twins.items():
        text = f"{first} and {host} are two names of one machine."
        yield SAME_MACHINE.at(f"{first}, {host}", text, fix=f"Leave out {host}.")


def find_login_restrictions(evidence: Evidence) -> Iterator[Finding]:
    """Users who may not log in over ssh where they are now without it."""
    for host, facts in evidence.facts.items():
        if facts.login_groups is None or facts.own_groups is None:
            continue
        group = "com.apple.access_ssh"
        if group in facts.login_groups and group not in facts.own_groups:
            yield LOGIN_RESTRICTED.at(
                host, f"{host}: Remote Login does not allow the user we are there."
            )


def find_sudo_trouble(evidence: Evidence) -> Iterator[Finding]:
    """Hosts on which no command runs as root without a password."""
    for report in evidence.macs:
        sudo = report.sudo
        if sudo is None or sudo.everything or "NOPASSWD" in sudo.listing:
            continue
        words = escape_controls(sudo.problem)
        is_missing = "No such file" in words or "not found" in words
        kind = SUDO_MISSING if is_missing else SUDO_PASSWORD
        yield kind.at(report.host, f"{report.host}: {words}.")


def find_python_trouble(evidence: Evidence) -> Iterator[Finding]:
    """Hosts without a Python, and different Pythons."""
    versions: dict[str, list[str]] = {}
    for host, facts in evidence.facts.items():
        if facts.lacks_python:
            yield PYTHON_MISSING.at(host, f"{host}: no Python 3.8 or newer is found.")
        elif facts.python is not None:
            versions.setdefault(facts.python.minor, []).append(host)
    if len(versions) > 1:
        shown = "; ".join(f"{version} on {', '.join(hosts)}" for version, hosts in versions.items())
        everyone = ", ".join(host for hosts in versions.values() for host in hosts)
        yield PYTHON_DIFFERS.at(everyone, f"The Pythons differ: {shown}.")
