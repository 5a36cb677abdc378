"""A job of the MPI backend as one process, mpirun on the first host: pure.

mpirun itself starts the ranks, over ssh where they are on other hosts. What it
is told is what ``mlx.launch`` tells it (``launch_mpi`` in
``mlx/_distributed_utils/launch.py`` of ml-explore/mlx 0.32), with three
differences: values of variables are in its environment and not on its command
line, options of Open MPI 5 are given to no older one, and the number of ranks
is said outright.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from distconfig.errors import UsageError
from distconfig.launch.accounts import WINDOW
from distconfig.launch.plan import LaunchPlan

__all__ = ["assemble_mpirun_order", "render_slots"]

_SLOTS_FILE = "slots"
_VERSION = re.compile(r"\(Open MPI\) (\d+)\.")


def render_slots(plan: LaunchPlan) -> str:
    """The hostfile of mpirun: each host and how many ranks it takes.

    The first is the one where mpirun runs, whatever others call it.
    """
    slots = Counter(rank.host for rank in plan.ranks)
    first = plan.ranks[0].host
    return "".join(
        f"{'localhost' if host == first else host} slots={count}\n" for host, count in slots.items()
    )


def _major_version(version: str) -> int:
    found = _VERSION.search(version)
    return int(found[1]) if found else 0


def assemble_mpirun_order(
    plan: LaunchPlan,
    answer: Mapping[str, Any],
    mpi_args: tuple[str, ...],
    *,
    is_tagged: bool,
    lost_after_s: float,
) -> dict[str, Any]:
    """The START order for the agent on the first host; mpirun takes the place of its rank.

    Args:
        answer: What that agent found, mpirun included.
        is_tagged: Have mpirun put the rank before each line.

    Raises:
        UsageError: Ranks were given different environments or folders.
    """
    if len({(rank.env, rank.python, rank.cwd) for rank in plan.ranks}) > 1:
        raise UsageError(
            "the hostfile gives hosts different settings, and mpirun has one for all",
            hint="Take python, cwd and env out of its hosts, or use the ring backend.",
        )
    mpirun = answer["mpirun"]
    folder = mpirun["path"].rpartition("/bin/")[0] + "/lib"
    library = {}
    if mpirun["library"]:
        variable = "DYLD_LIBRARY_PATH" if mpirun["library"].endswith("dylib") else "LD_LIBRARY_PATH"
        library = {variable: folder, "MLX_MPI_LIBNAME": mpirun["library"]}
    env = {**library, **dict(plan.ranks[0].env)}
    exported = [*env, *(name for name, _ in plan.default_env if name not in env)]
    is_recent = _major_version(mpirun["version"]) >= 5
    tagging = ["--tag-output"] if is_tagged else []
    argv = [
        mpirun["path"],
        *(["--output", "tag" if is_tagged else ":raw"] if is_recent else tagging),
        "--hostfile",
        {"file": _SLOTS_FILE},
        "-n",
        str(len(plan.ranks)),
        "-wdir",
        answer["cwd"],
        *(word for name in exported for word in ("-x", name)),
        *([] if "--bind-to" in mpi_args else ["--bind-to", "none"]),
        *mpi_args,
        "--",
        *plan.command.argv(answer["python"], answer["program"]),
    ]
    # Open MPI refuses root unless told twice; whoever launches as root has decided already.
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {
        "ranks": [{"rank": 0, "argv": argv, "env": {**as_root, **env}}],
        "cwd": answer["cwd"],
        "files": {_SLOTS_FILE: render_slots(plan)},
        "file_env": {},
        "default_env": dict(plan.default_env),
        "window": WINDOW,
        "lost_after_s": lost_after_s,
    }
