"""What to look at on each host before the start, and what was found in words for a person: pure.

The looking itself is done on the host by `agent_checks`, whose docstring has
the form of request and answer.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from distconfig.errors import LaunchError, RankFailed
from distconfig.hosts.names import is_this_machine
from distconfig.launch.plan import HostPart, LaunchPlan
from distconfig.printable import escape_controls

__all__ = [
    "Problem",
    "compare_mpiruns",
    "find_problems",
    "parse_answer",
    "plan_request",
    "refuse",
]


_LONGEST_PROBLEM = 2000


@dataclass(frozen=True)
class Problem:
    """A reason not to start.

    Args:
        host: Where; empty if it is about several hosts.
        hint: What to try.
        exit_code: What a shell would give: 126 or 127 if the program can not be started.
    """

    host: str
    what: str
    hint: str = ""
    exit_code: int = 125

    def __str__(self) -> str:
        place = f"{self.host}: " if self.host else ""
        hint = f"\n      {self.hint}" if self.hint else ""
        return escape_controls(f"{place}{self.what}{hint}"[:_LONGEST_PROBLEM])


def plan_request(
    plan: LaunchPlan, part: HostPart, *, own_cwd: str, platform: str, is_wanted: bool = True
) -> dict[str, Any]:
    """What an agent shall look at before its ranks start.

    Args:
        own_cwd: The launcher's folder, in which ranks run unless another is asked for.
        platform: The host's ``sys.platform``.
        is_wanted: Look for everything; else only for what a start has to know.
    """
    first = plan.ranks[0].host
    is_first = part.host == first and plan.ranks[0] in part.ranks
    hosts = list(dict.fromkeys(rank.host for rank in plan.ranks))
    # Local Network privacy spares what ssh started (Apple's TN3179).
    may_be_denied = platform == "darwin" and is_this_machine(part.host)
    env = dict(part.ranks[0].env)
    word = plan.command.words[0]
    return {
        "cwd": part.cwd or own_cwd,
        "cwd_is_asked": part.cwd is not None,
        "python": part.python,
        "program": [plan.command.kind, word],
        "path": env.get("PATH"),
        "binds": _places(part, "listens") if is_wanted else [],
        "reach": _places(part, "dials") if is_wanted and may_be_denied else [],
        "mpirun": plan.backend == "mpi",
        "ssh_to": [host for host in hosts if host != first]
        if plan.backend == "mpi" and is_first and is_wanted
        else [],
    }


def _places(part: HostPart, which: str) -> list[list[Any]]:
    return [
        [endpoint.host, endpoint.tcp_port]
        for rank in part.ranks
        for endpoint in getattr(rank, which)
    ]


def parse_answer(value: Any) -> dict[str, Any]:
    """The same answer, if it has the form of one.

    Raises:
        ValueError: It has not; the host can not be trusted to have looked.
    """
    match value:
        case {
            "python": str(),
            "cwd": str(),
            "program": str(),
            "mpirun": None | {"path": str(), "version": str(), "library": str()},
            "problems": [*problems],
        } if all(isinstance(problem, dict) for problem in problems):
            return dict(value)
    raise ValueError("the agent's answer to the checks has not the form of one")


def find_problems(
    part: HostPart, answer: Mapping[str, Any], *, local_script: str | None = None
) -> list[Problem]:
    """What an agent found that has to be mended first.

    Args:
        answer: From `parse_answer`.
        local_script: The script's full path here, if it exists here.
    """
    problems = [_explain(part.host, fact, local_script) for fact in answer["problems"]]
    return list(dict.fromkeys(problems))


def _explain(host: str, fact: Mapping[str, Any], local_script: str | None) -> Problem:
    match fact:
        case {"kind": "cwd", "path": path}:
            return Problem(host, f"there is no folder {path}", "Make it there, or give --cwd.")
        case {"kind": "python", "path": path}:
            return Problem(host, f"there is no Python at {path}", "Give another --python.")
        case {"kind": "script", "path": path}:
            return Problem(host, f"there is no script {path}", _copy(host, path, local_script))
        case {"kind": "unreadable", "path": path}:
            return Problem(host, f"the script {path} may not be read")
        case {"kind": "program", "word": word, "exists": True}:
            return Problem(host, f"{word} is not an executable file", exit_code=126)
        case {"kind": "program", "word": word}:
            hint = "Give its full path: over ssh, PATH is shorter than in a terminal."
            return Problem(host, f"there is no program {word}", hint, exit_code=127)
        case {"kind": "taken", "address": address, "tcp_port": tcp_port, "by": by}:
            owner = f"by {by}" if by else "by another program"
            return Problem(
                host,
                f"TCP port {tcp_port} of {address} is taken {owner}",
                "End it, or give another --starting-port.",
            )
        case {"kind": "address", "address": address}:
            return Problem(
                host,
                f"{address} is not an address of this host",
                "Set the addresses up again: distributed_config --auto-setup.",
            )
        case {"kind": "listen", "address": address, "tcp_port": tcp_port, "reason": reason}:
            return Problem(host, f"no listening on TCP port {tcp_port} of {address}: {reason}")
        case {"kind": "unreachable", "address": address, "errno": number}:
            return Problem(
                host,
                f"Python gets errno {number} for {address}: macOS does not let programs started "
                "from this terminal reach the local network (Local Network privacy)",
                "List this Mac by its host name, so that its ranks start over ssh.",
            )
        case {"kind": "ssh", "to": to, "reason": reason}:
            return Problem(
                host,
                f"mpirun would start ranks over ssh, and from here ssh {to} fails: {reason}",
                f"Make `ssh {to} true` work on {host} without a question.",
            )
        case {"kind": "mpirun", "path": "", "reason": _}:
            return Problem(
                host,
                "there is no mpirun beside Python, on PATH, or where Homebrew puts it",
                "pip install 'distributed-config[mpi]', or brew install open-mpi.",
            )
        case {"kind": "mpirun", "path": path, "reason": reason}:
            return Problem(host, f"{path} --version fails: {reason}")
    return Problem(host, f"the agent found a problem it can not explain: {dict(fact)}")


def _copy(host: str, path: str, local_script: str | None) -> str:
    """The line that puts the script there, or other advice."""
    if local_script is None or is_this_machine(host):
        return "Check its path."
    folder = path.rpartition("/")[0] or "/"
    make = shlex.join(["ssh", host, f"mkdir -p {shlex.quote(folder)}"])
    copy = shlex.join(["rsync", "-a", local_script, f"{host}:{folder}/"])
    return f"Copy it: {make} && {copy}"


def compare_mpiruns(answers: Iterable[tuple[HostPart, Mapping[str, Any]]]) -> list[Problem]:
    """What differs among the mpiruns of the hosts; mpirun needs the same one everywhere."""
    found = [(part.host, answer["mpirun"]) for part, answer in answers if answer["mpirun"]]
    problems = []
    for host, mpirun in found[1:]:
        first_host, first = found[0]
        for key in ("path", "version"):
            if mpirun[key] != first[key]:
                problems.append(
                    Problem(
                        "",
                        f"the {key} of mpirun is {first[key]!r} on {first_host} "
                        f"and {mpirun[key]!r} on {host}",
                        "Install the same Open MPI in the same place on every host.",
                    )
                )
    return problems


def refuse(problems: Sequence[Problem], plan: LaunchPlan) -> LaunchError:
    """The error that shows all problems, at least one, together."""
    count = "a problem" if len(problems) == 1 else f"{len(problems)} problems"
    what = "\n  ".join((f"nothing was started because of {count}:", *map(str, problems)))
    codes = {problem.exit_code for problem in problems}
    if 125 in codes:
        return LaunchError(what)
    host = problems[0].host
    rank = next(rank.rank for rank in plan.ranks if rank.host == host)
    return RankFailed(what, rank=rank, host=host, returncode=problems[0].exit_code)
