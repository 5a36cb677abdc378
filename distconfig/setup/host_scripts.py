"""Scripts for ``/bin/sh`` that check, change and restore one host, made from values.

A script answers in lines that begin with ``@``, read by `script_answers`, with the
raw output of commands between them. Nothing is put on the host: the dead-man is
a process, found again by the first words of its own text.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from uuid import UUID

from distconfig.setup import mac_commands as mac
from distconfig.setup.setup_steps import EndGoal, SetupStep

__all__ = ["render_apply", "render_check", "render_commit", "render_undo"]

_SUDO = ("/usr/bin/sudo", "-n")

_ANSWER = """\
say() { printf '@ %s\\n' "$*"; }
snapshot() { say snapshot; /sbin/ifconfig -a; say end; }
routed() { [ "$(/sbin/route -n get "$1" 2>/dev/null | sed -n 's/^ *interface: //p')" = "$2" ]; }
run() {
  index=$1; shift
  output=$("$@" 2>&1 </dev/null); code=$?
  say step "$index" "$code"
  [ -z "$output" ] || printf '%s\\n' "$output"
  return "$code"
}
"""

_DEAD_MAN = """\
: {tag}
trap '' HUP
nap=
trap 'kill $nap; exit' TERM
sleep {seconds} & nap=$!
wait $nap
trap '' TERM
{undo}
"""

# Not a child of this shell, so that it leaves no zombie and `kill -0` tells whether it watches.
_ARM = """\
dead_man=$(/bin/sh -c {text} </dev/null >/dev/null 2>&1 3<&- & echo $!)
watched() {{ kill -0 "$dead_man" 2>/dev/null; }}
do_step() {{
  watched || {{ say unwatched "$1"; return 1; }}
  run "$@"
}}
"""

_DISARM = """\
armed() {{
  /bin/ps -axww -o pid= -o command= | while read -r pid command; do
    case $command in *{tag}*) echo "$pid";; esac
  done
}}
called_off=$(armed)
for pid in $called_off; do kill "$pid"; done
tries=0
while [ -n "$(armed)" ] && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
"""

# Where a firewall drops pings, a TCP connection that is answered proves the cable as well.
_REACH = """\
until=$(($(date +%s) + {wait_s}))
reach() {{
  while :; do
    /sbin/ping -c 1 -t 1 -S "$2" "$3" >/dev/null 2>&1 && {{ say reached "$1" ping; return; }}
    /usr/bin/nc -z -G 1 -w 1 -s "$2" "$3" 22 >/dev/null 2>&1 && {{ say reached "$1" tcp; return; }}
    watched && [ "$(date +%s)" -lt "$until" ] || return
    sleep 0.2
  done
}}
"""


def _tag(machine: UUID) -> str:
    """The words by which the dead-man of a machine is found among its processes."""
    return f"distributed_config dead-man {machine}"


def _as_root(argv: mac.Argv) -> str:
    return shlex.join((*_SUDO, "--", *argv))


def render_check(commands: Sequence[mac.Argv], interfaces: Sequence[str] = ()) -> str:
    """Ask what sudo allows, which mtu the interfaces take, and what state the host is in.

    Args:
        commands: What root would have to run; unless sudo allows all it is asked for them one
            by one, and for its rules, see `sudo_rules`.
        interfaces: Those whose mtu is to be set.
    """
    lines = [_ANSWER]
    if commands:
        lines.append(f"if {_as_root(('true',))} 2>/dev/null </dev/null; then say sudo all; else")
        lines.append("say sudo some")
        for index, argv in enumerate(commands):
            may = shlex.join((*_SUDO, "-l", "--", *argv))
            lines.append(f"run {index} {may}")
        listing = shlex.join((*_SUDO, "-l", "-l"))
        lines += ["say rules", f"{listing} 2>/dev/null </dev/null", "fi"]
    for name in interfaces:
        lines.append(f"say mtu {name}")
        lines.append(shlex.join(("/usr/sbin/networksetup", "-listvalidMTUrange", name)))
    lines.append("snapshot")
    return "\n".join(lines)


def render_apply(
    machine: UUID | None,
    steps: Sequence[SetupStep],
    undo: Sequence[mac.Argv],
    goals: Sequence[EndGoal],
    *,
    dead_man_s: int,
    wait_s: int,
) -> str:
    """Arm the dead-man, run the steps up to the first that fails, then try every goal.

    Args:
        machine: None if there is nothing to undo, and so no steps either.
        goals: The cable ends whose peer is to be reached.
        dead_man_s: Seconds until the host undoes everything by itself.
        wait_s: Seconds that the peers may take until they answer.
    """
    lines = [_ANSWER]
    assert machine is not None or not steps
    if machine is not None:
        lines.append(_DISARM.format(tag=shlex.quote(_tag(machine))))
        text = _DEAD_MAN.format(
            tag=_tag(machine), seconds=dead_man_s, undo="\n".join(map(_as_root, undo))
        )
        lines.append(_ARM.format(text=shlex.quote(text)))
    else:
        lines.append("watched() { :; }")
    lines.append("set_up() {")
    lines += [_step(index, step) for index, step in enumerate(steps)]
    lines += [":", "}", "if set_up; then say done"]
    lines.append(_REACH.format(wait_s=wait_s))
    for index, goal in enumerate(goals):
        lines.append(f"reach {index} {goal.address.ip} {goal.peer}")
        lines.append(f"routed {goal.peer} {shlex.quote(goal.interface)} && say routed {index}")
    lines += ["fi", "snapshot"]
    return "\n".join(lines)


def _step(index: int, step: SetupStep) -> str:
    """The lines that do a step; where it has a goal, only as far as that is unmet."""
    if step.unless is None:
        return f"do_step {index} {_as_root(step.argv)} || return"
    is_met = f"routed {step.unless.peer} {shlex.quote(step.unless.interface)}"
    lines = [
        f"{is_met} || do_step {index} {_as_root(argv)}"
        for argv in (step.argv, step.otherwise)
        if argv
    ]
    return "\n".join([*lines, f"{is_met} || {{ say unrouted {index}; return 1; }}"])


def render_commit(machine: UUID) -> str:
    """Call the dead-man off, then say what state the host is in."""
    return "\n".join([_ANSWER, _DISARM.format(tag=shlex.quote(_tag(machine))), "snapshot"])


def render_undo(machine: UUID | None, undo: Sequence[mac.Argv]) -> str:
    """Call the dead-man off, run every undo command whatever the others came to.

    A step of a setup that is still running when the dead-man goes is the last
    of its script; it is given a second to end.

    Args:
        machine: None for a machine that never had a dead-man.
    """
    lines = [_ANSWER]
    if machine is not None:
        lines.append(_DISARM.format(tag=shlex.quote(_tag(machine))))
        lines.append('[ -z "$called_off" ] || sleep 1')
    lines += [f"run {index} {_as_root(argv)}" for index, argv in enumerate(undo)]
    return "\n".join([*lines, "snapshot"])
