"""Fakes of the commands a probe round runs: shell scripts at the paths the real ones have."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from distconfig.probes import PROBES

UNAME = "Darwin 27.0.0 arm64\n"


def fake_commands(
    outputs: Mapping[str, str], *, before: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Files for a host whose commands print what is given, by the name of the probe.

    Each call adds a line to ``/shared/calls``: the shell that ran it and its words.
    A probe that is not given has no command, or one that does not know its words.

    Args:
        before: Shell commands that a probe's command runs first.
    """
    files: dict[str, str] = {}
    branches: dict[str, str] = {}
    for probe in PROBES:
        if probe.name not in outputs:
            continue
        program, *words = probe.argv
        if program == "/bin/cat":
            files[words[0]] = outputs[probe.name]
            continue
        files[f"/fake/{probe.name}"] = outputs[probe.name]
        first = (before or {}).get(probe.name, ":")
        branches[program] = branches.get(program, "") + (
            f"{shlex.quote(' '.join(words))}) {first}; exec cat /fake/{probe.name} ;;\n"
        )
    for program, cases in branches.items():
        files[program] = (
            f'#!/bin/sh\necho "$PPID {program} $*" >>/shared/calls\n'
            f'case "$*" in\n{cases}esac\necho "usage: {program}" >&2\nexit 64\n'
        )
    return files
