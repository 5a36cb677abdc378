"""What mpirun is told: words, hostfile and environment."""

from __future__ import annotations

from typing import Any

import pytest

from distconfig.errors import UsageError
from distconfig.launch.mpi import assemble_mpirun_order, render_slots
from distconfig.launch.options import Options
from distconfig.launch.plan import LaunchPlan, plan_launch
from ring_runtime.hostfile import Hostfile, HostfileEntry

HOSTS = Hostfile((HostfileEntry("a"), HostfileEntry("ada@b"), HostfileEntry("a")), envs=("A=1 2",))


def plan(hostfile: Hostfile = HOSTS, **options: Any) -> LaunchPlan:
    asked = Options(backend="mpi", command=("train.py", "-x"), **options)
    return plan_launch(asked, hostfile, starting_port=1, terminal_size=(80, 24))


def answer(version: str = "mpirun (Open MPI) 5.0.11", library: str = "") -> dict[str, Any]:
    mpirun = {"path": "/opt/m/bin/mpirun", "version": version, "library": library}
    return {"python": "/p", "cwd": "/w", "program": "train.py", "mpirun": mpirun, "problems": []}


def test_slots_follow_the_hosts_and_the_first_is_where_mpirun_runs() -> None:
    assert render_slots(plan()) == "localhost slots=2\nada@b slots=1\n"


def test_an_order() -> None:
    order = assemble_mpirun_order(
        plan(), answer(), ("--mca", "btl", "tcp,self"), is_tagged=False, lost_after_s=60.0
    )
    assert order == {
        "ranks": [
            {
                "rank": 0,
                "argv": [
                    *("/opt/m/bin/mpirun", "--output", ":raw", "--hostfile", {"file": "slots"}),
                    *("-n", "3", "-wdir", "/w", "-x", "A", "-x", "PYTHONUNBUFFERED"),
                    *("-x", "COLUMNS", "-x", "LINES", "--bind-to", "none"),
                    *("--mca", "btl", "tcp,self", "--", "/p", "train.py", "-x"),
                ],
                "env": {
                    "OMPI_ALLOW_RUN_AS_ROOT": "1",
                    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                    "A": "1 2",
                },
            }
        ],
        "cwd": "/w",
        "files": {"slots": "localhost slots=2\nada@b slots=1\n"},
        "file_env": {},
        "default_env": {"PYTHONUNBUFFERED": "1", "COLUMNS": "80", "LINES": "24"},
        "window": 262144,
        "lost_after_s": 60.0,
    }


def words(*mpi_args: str, is_tagged: bool = False, **found: str) -> list[str]:
    order = assemble_mpirun_order(
        plan(), answer(**found), mpi_args, is_tagged=is_tagged, lost_after_s=1.0
    )
    return [str(word) for word in order["ranks"][0]["argv"]]


@pytest.mark.parametrize(
    ("version", "is_tagged", "begin"),
    [
        ("mpirun (Open MPI) 5.0.11", True, ["--output", "tag"]),
        ("mpirun (Open MPI) 4.1.4", False, ["--hostfile"]),
        ("mpirun (Open MPI) 4.1.4", True, ["--tag-output", "--hostfile"]),
        ("Intel(R) MPI Library", False, ["--hostfile"]),
    ],
)
def test_options_of_open_mpi_5_are_given_to_no_older_one(
    version: str, is_tagged: bool, begin: list[str]
) -> None:
    assert words(version=version, is_tagged=is_tagged)[1:][: len(begin)] == begin


@pytest.mark.parametrize(
    ("library", "variable"),
    [("libmpi.so.40", "LD_LIBRARY_PATH"), ("libmpi.dylib", "DYLD_LIBRARY_PATH")],
)
def test_mlx_is_told_where_the_library_is(library: str, variable: str) -> None:
    order = assemble_mpirun_order(
        plan(), answer(library=library), (), is_tagged=False, lost_after_s=1.0
    )
    [spec] = order["ranks"]
    assert (spec["env"][variable], spec["env"]["MLX_MPI_LIBNAME"]) == ("/opt/m/lib", library)
    line = " ".join(str(word) for word in spec["argv"])
    assert f"-x {variable} -x MLX_MPI_LIBNAME -x A" in line


def test_a_binding_of_the_users_own_wins() -> None:
    assert words("--bind-to", "core").count("--bind-to") == 1


def test_ranks_are_told_who_they_are_by_mpirun_alone() -> None:
    assert [rank.env for rank in plan().ranks] == [(("A", "1 2"),)] * 3


def test_different_settings_for_different_hosts_are_refused() -> None:
    hosts = Hostfile((HostfileEntry("a"), HostfileEntry("b", env=("B=1",))))
    with pytest.raises(UsageError, match="different settings"):
        assemble_mpirun_order(plan(hosts), answer(), (), is_tagged=False, lost_after_s=1.0)
