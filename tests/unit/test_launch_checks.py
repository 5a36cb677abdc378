"""What hosts are asked before a start, and what they found in words."""

from __future__ import annotations

from typing import Any

import pytest

from distconfig.errors import LaunchError, RankFailed
from distconfig.launch.checks import (
    Problem,
    compare_mpiruns,
    find_problems,
    parse_answer,
    plan_request,
    refuse,
)
from distconfig.launch.options import Options
from distconfig.launch.plan import HostPart, LaunchPlan, plan_launch
from ring_runtime.hostfile import Hostfile, HostfileEntry

HOSTS = Hostfile(
    (
        HostfileEntry("localhost", ("10.231.0.2",)),
        HostfileEntry("studio2", ("10.231.0.1", "10.231.0.5"), cwd="~/w", python="/p"),
    )
)


def plan(**options: Any) -> LaunchPlan:
    return plan_launch(Options(command=("train.py",), **options), HOSTS, starting_port=5000)


def ask(job: LaunchPlan, index: int, platform: str = "linux", **options: Any) -> dict[str, Any]:
    return plan_request(job, job.parts[index], own_cwd="/home/ada", platform=platform, **options)


def test_a_request() -> None:
    assert ask(plan(env=("PATH=/x",)), 1) == {
        "cwd": "~/w",
        "cwd_is_asked": True,
        "python": "/p",
        "program": ["script", "train.py"],
        "path": "/x",
        "binds": [["10.231.0.1", 5001], ["10.231.0.5", 5002]],
        "reach": [],
        "mpirun": False,
        "ssh_to": [],
    }


def test_a_host_without_a_folder_of_its_own_gets_the_launchers() -> None:
    request = ask(plan(), 0)
    assert (request["cwd"], request["cwd_is_asked"], request["python"]) == (
        "/home/ada",
        False,
        None,
    )


def test_only_a_mac_without_ssh_is_asked_to_reach_its_neighbour() -> None:
    assert ask(plan(), 0, "darwin")["reach"] == [["10.231.0.1", 5001], ["10.231.0.5", 5002]]
    assert ask(plan(), 1, "darwin")["reach"] == []
    assert ask(plan(), 0, "linux")["reach"] == []


def test_without_checks_only_what_a_start_needs_is_asked() -> None:
    request = ask(plan(), 0, "darwin", is_wanted=False)
    assert (request["binds"], request["reach"], request["cwd"]) == ([], [], "/home/ada")


def test_mpi_asks_every_host_for_mpirun_and_the_first_for_ssh() -> None:
    job = plan(backend="mpi")
    requests = [ask(job, 0), ask(job, 1)]
    assert [request["mpirun"] for request in requests] == [True, True]
    assert [request["ssh_to"] for request in requests] == [["studio2"], []]
    assert [request["binds"] for request in requests] == [[], []]


def answer(*problems: dict[str, Any], mpirun: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "python": "/p",
        "cwd": "/w",
        "program": "train.py",
        "mpirun": mpirun,
        "problems": list(problems),
    }


def test_an_answer() -> None:
    assert parse_answer(answer()) == answer()
    mpirun = {"path": "/m", "version": "5", "library": ""}
    assert parse_answer(answer(mpirun=mpirun))["mpirun"] == mpirun


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        answer() | {"python": 3},
        answer() | {"problems": ["x"]},
        answer() | {"problems": {}},
        answer() | {"mpirun": {"path": 3}},
    ],
)
def test_what_is_no_answer(value: Any) -> None:
    with pytest.raises(ValueError, match="form"):
        parse_answer(value)


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        (
            {"kind": "cwd", "path": "/w"},
            "studio2: there is no folder /w\n      Make it there, or give --cwd.",
        ),
        (
            {"kind": "python", "path": "/p"},
            "studio2: there is no Python at /p\n      Give another --python.",
        ),
        (
            {"kind": "script", "path": "/my w/t.py"},
            "studio2: there is no script /my w/t.py\n"
            "      Copy it: ssh studio2 'mkdir -p '\"'\"'/my w'\"'\"'' && "
            "rsync -a /home/ada/t.py 'studio2:/my w/'",
        ),
        ({"kind": "unreadable", "path": "/t.py"}, "studio2: the script /t.py may not be read"),
        (
            {"kind": "taken", "address": "10.0.0.1", "tcp_port": 5000, "by": "nc (pid 12, ada)"},
            "studio2: TCP port 5000 of 10.0.0.1 is taken by nc (pid 12, ada)\n"
            "      End it, or give another --starting-port.",
        ),
        (
            {"kind": "taken", "address": "10.0.0.1", "tcp_port": 5000, "by": ""},
            "studio2: TCP port 5000 of 10.0.0.1 is taken by another program\n"
            "      End it, or give another --starting-port.",
        ),
        (
            {"kind": "address", "address": "10.0.0.1", "tcp_port": 5000},
            "studio2: 10.0.0.1 is not an address of this host\n"
            "      Set the addresses up again: distributed_config --auto-setup.",
        ),
        (
            {
                "kind": "listen",
                "address": "10.0.0.1",
                "tcp_port": 80,
                "reason": "Permission denied",
            },
            "studio2: no listening on TCP port 80 of 10.0.0.1: Permission denied",
        ),
        (
            {"kind": "unreachable", "address": "10.0.0.1", "errno": 65},
            "studio2: Python gets errno 65 for 10.0.0.1: macOS does not let programs started "
            "from this terminal reach the local network (Local Network privacy)\n"
            "      List this Mac by its host name, so that its ranks start over ssh.",
        ),
        (
            {"kind": "mpirun", "path": "/m", "reason": "killed"},
            "studio2: /m --version fails: killed",
        ),
        (
            {"kind": "ssh", "to": "studio3", "reason": "Permission denied"},
            "studio2: mpirun would start ranks over ssh, and from here ssh studio3 fails: "
            "Permission denied\n      Make `ssh studio3 true` work on studio2 without a question.",
        ),
        (
            {"kind": "\x1b[2J"},
            "studio2: the agent found a problem it can not explain: {'kind': '\\x1b[2J'}",
        ),
    ],
)
def test_a_problem_in_words(fact: dict[str, Any], said: str) -> None:
    part = HostPart("studio2", None, None, ())
    [problem] = find_problems(part, answer(fact), local_script="/home/ada/t.py")
    assert str(problem) == said
    assert problem.exit_code == 125


def test_a_script_that_is_nowhere_is_not_to_be_copied() -> None:
    fact = {"kind": "script", "path": "/w/t.py"}
    [problem] = find_problems(HostPart("studio2", None, None, ()), answer(fact))
    assert problem.hint == "Check its path."
    part = HostPart("localhost", None, None, ())
    [problem] = find_problems(part, answer(fact), local_script="/w/t.py")
    assert problem.hint == "Check its path."


@pytest.mark.parametrize(("exists", "code"), [(True, 126), (False, 127)])
def test_a_program_that_can_not_be_started(exists: bool, code: int) -> None:
    fact = {"kind": "program", "word": "./x", "exists": exists}
    job = plan()
    problems = find_problems(job.parts[1], answer(fact))
    error = refuse(problems, job)
    assert isinstance(error, RankFailed)
    assert (error.rank, error.host, error.returncode) == (1, "studio2", code)


def test_an_address_is_complained_of_once() -> None:
    facts = [{"kind": "address", "address": "10.0.0.1", "tcp_port": port} for port in (1, 2)]
    assert len(find_problems(plan().parts[1], answer(*facts))) == 1


def test_all_problems_are_shown_together() -> None:
    problems = [
        Problem("a", "no such program", exit_code=127),
        Problem("b", "no folder", "Make it."),
    ]
    error = refuse(problems, plan())
    assert type(error) is LaunchError
    assert error.what == (
        "nothing was started because of 2 problems:\n"
        "  a: no such program\n"
        "  b: no folder\n"
        "      Make it."
    )


def test_mpiruns_have_to_be_the_same_everywhere() -> None:
    job = plan(backend="mpi")
    first = {"path": "/a/mpirun", "version": "mpirun (Open MPI) 5.0.11", "library": ""}
    second = {"path": "/b/mpirun", "version": "mpirun (Open MPI) 4.1.4", "library": ""}
    same = [(job.parts[0], answer(mpirun=first)), (job.parts[1], answer(mpirun=first))]
    assert compare_mpiruns(same) == []
    other = [(job.parts[0], answer(mpirun=first)), (job.parts[1], answer(mpirun=second))]
    assert [problem.what for problem in compare_mpiruns(other)] == [
        "the path of mpirun is '/a/mpirun' on localhost and '/b/mpirun' on studio2",
        "the version of mpirun is 'mpirun (Open MPI) 5.0.11' on localhost "
        "and 'mpirun (Open MPI) 4.1.4' on studio2",
    ]
    missing = [(job.parts[0], answer()), (job.parts[1], answer(mpirun=second))]
    assert compare_mpiruns(missing) == []


def test_a_problem_can_not_fill_the_screen() -> None:
    assert len(str(Problem("a", "x" * 100_000))) == 2000
