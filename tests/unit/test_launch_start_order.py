"""The order for an agent: words, environment and files, with the secret of a ring."""

from __future__ import annotations

from distconfig.launch.options import Options
from distconfig.launch.plan import list_entries, plan_launch
from distconfig.launch.start_order import assemble_order

ANSWER = {"python": "/v/bin/python", "cwd": "/w", "program": "train.py", "mpirun": None}


def test_an_order() -> None:
    options = Options(repeat=2, command=("train.py", "-x"))
    job = plan_launch(options, list_entries(options, None), starting_port=5000)
    order = assemble_order(job, job.parts[0], ANSWER, secret="5ec", lost_after_s=60.0)
    assert order == {
        "ranks": [
            {
                "rank": rank,
                "argv": ["/v/bin/python", "train.py", "-x"],
                "env": {"MLX_RANK": str(rank), "MLX_WORLD_SIZE": "2", "RING_SECRET": "5ec"},
            }
            for rank in (0, 1)
        ],
        "cwd": "/w",
        "files": {"hostfile.json": '[["127.0.0.1:5000"],["127.0.0.1:5001"]]'},
        "file_env": {"MLX_HOSTFILE": "hostfile.json"},
        "default_env": {"PYTHONUNBUFFERED": "1"},
        "window": 262144,
        "lost_after_s": 60.0,
    }


def test_only_a_ring_has_a_secret() -> None:
    options = Options(repeat=2, backend="nccl", command=("x",))
    job = plan_launch(options, list_entries(options, None), starting_port=5000)
    order = assemble_order(job, job.parts[0], ANSWER, secret="5ec", lost_after_s=60.0)
    assert "5ec" not in str(order)
