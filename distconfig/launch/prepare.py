"""Agents on every host, and what they found there, before any rank starts."""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distconfig.errors import LaunchError, ProbeError
from distconfig.hosts.names import is_this_machine
from distconfig.launch import frames
from distconfig.launch.agent_link import AgentLink, link_to_local_agent
from distconfig.launch.bootstrap import PYTHONS, pack_agent, remote_command
from distconfig.launch.checks import (
    Problem,
    compare_mpiruns,
    find_problems,
    parse_answer,
    plan_request,
    refuse,
)
from distconfig.launch.local_agent import LocalAgent
from distconfig.launch.plan import HostPart, LaunchPlan

if TYPE_CHECKING:
    from distconfig.hosts.shell import Connection

__all__ = ["Connector", "Post", "prepare"]

#: From the request for an agent to its answer to the checks.
ANSWER_WITHIN_S = 90.0

#: Opens ssh connections: one to each host, or why there is none.
Connector = Callable[[tuple[str, ...]], "Mapping[str, Connection | ProbeError]"]


@dataclass
class Post:
    """An agent, the ranks it is to start, and what it said about its host."""

    part: HostPart
    link: AgentLink
    answer: dict[str, Any] | None = None
    problem: Problem | None = None

    @property
    def is_settled(self) -> bool:
        """It has answered, or never will."""
        return self.answer is not None or self.problem is not None


def prepare(
    plan: LaunchPlan,
    *,
    own_cwd: str,
    connect: Connector,
    is_checking: bool,
) -> list[Post]:
    """An agent for each part of the plan, on a host where nothing is in the way of a start.

    Args:
        own_cwd: The launcher's folder.
        connect: Called once with every host that needs ssh, if there is one.
        is_checking: Refuse to go on when something is in the way.

    Raises:
        LaunchError: Something is in the way; all of it on all hosts is shown together.
    """
    posts, problems = _start_agents(plan, connect)
    try:
        _ask_agents(plan, posts, own_cwd, is_checking)
        problems += [post.problem for post in posts if post.problem]
        if is_checking:
            problems += _judge(plan, posts, own_cwd)
        if problems:
            raise refuse(problems, plan)
    except BaseException:
        for post in posts:
            post.link.close()
        raise
    return posts


def _start_agents(plan: LaunchPlan, connect: Connector) -> tuple[list[Post], list[Problem]]:
    # Those of this machine first: they are forks, and ssh brings threads.
    here = [part for part in plan.parts if is_this_machine(part.host)]
    posts = [Post(part, link_to_local_agent(_start_here())) for part in here]
    elsewhere = [part for part in plan.parts if not is_this_machine(part.host)]
    if not elsewhere:
        return posts, []
    from distconfig.launch.ssh_link import link_over_ssh  # a local job has no use for it

    connections = connect(tuple(dict.fromkeys(part.host for part in elsewhere)))
    package = pack_agent()
    for part in elsewhere:
        connection = connections[part.host]
        if not isinstance(connection, ProbeError):
            command = remote_command(_list_pythons(part))
            posts.append(Post(part, link_over_ssh(connection, command, package)))
    refusals = [found for found in connections.values() if isinstance(found, ProbeError)]
    posts.sort(key=lambda post: post.part.ranks[0].rank)
    return posts, [Problem("", str(refusal)) for refusal in refusals]


def _start_here() -> LocalAgent:
    try:
        return LocalAgent()
    except OSError as error:
        raise LaunchError(f"no agent could be started on this machine: {error}") from error


def _list_pythons(part: HostPart) -> tuple[str, ...]:
    """Where to look for a Python on a host, best first."""
    asked = (part.python,) if part.python else ()
    return tuple(dict.fromkeys((*asked, sys.executable, *PYTHONS)))


def _ask_agents(plan: LaunchPlan, posts: list[Post], own_cwd: str, is_checking: bool) -> None:
    """Get the agents' answers, all at once; what goes wrong becomes the post's problem."""
    deadline = time.monotonic() + ANSWER_WITHIN_S
    while unsettled := [post for post in posts if not post.is_settled]:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            for post in unsettled:
                post.problem = _silent(post)
            return
        sources = {post.link.source: post for post in unsettled}
        sinks = {post.link.sink: post for post in unsettled if post.link.wants_to_send}
        readable, writable, _ = select.select(list(sources), list(sinks), [], left_s)
        for fd in writable:
            sinks[fd].link.flush()
        for fd in readable:
            _hear(plan, sources[fd], own_cwd, is_checking)


def _hear(plan: LaunchPlan, post: Post, own_cwd: str, is_checking: bool) -> None:
    try:
        received = post.link.receive(time.monotonic())
        if received is None:
            post.problem = _gone(post)
            return
        for frame in received:
            if frame.kind == frames.HELLO:
                platform = frames.decode_json(frame)["platform"]
                request = plan_request(
                    plan, post.part, own_cwd=own_cwd, platform=platform, is_wanted=is_checking
                )
                post.link.send(frames.encode_json(frames.CHECK, request))
            elif frame.kind == frames.CHECKED:
                post.answer = parse_answer(frames.decode_json(frame))
    except (ValueError, TypeError, LookupError) as error:
        post.problem = Problem(post.part.host, f"the agent there can not be understood: {error}")


def _gone(post: Post) -> Problem:
    complaint = post.link.stderr_tail().splitlines()
    reason = complaint[-1] if complaint else "it said nothing"
    hint = "Name one with --python." if "no Python" in reason else ""
    return Problem(post.part.host, f"no agent could be started: {reason}", hint)


def _silent(post: Post) -> Problem:
    what = f"the agent there did not answer within {ANSWER_WITHIN_S:.0f} s"
    return Problem(post.part.host, what, post.link.stderr_tail())


def _judge(plan: LaunchPlan, posts: list[Post], own_cwd: str) -> list[Problem]:
    local_script = None
    if plan.command.kind == "script":
        path = Path(own_cwd) / Path(plan.command.words[0]).expanduser()
        local_script = str(path) if path.is_file() else None
    answered = [(post.part, post.answer) for post in posts if post.answer is not None]
    problems = [
        problem
        for part, answer in answered
        for problem in find_problems(part, answer, local_script=local_script)
    ]
    return problems + compare_mpiruns(answered)
