"""Hostfiles for RDMA pass the reader and every check of the installed ``mlx.launch``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
from mlx._distributed_utils import launch
from mlx._distributed_utils.common import Hostfile as MlxHostfile

from tests.unit.test_cli import FIXTURES


@pytest.mark.parametrize(
    ("scenario", "backend", "rdma"),
    [
        (
            "mesh_of_four",
            "jaccl",
            [
                [None, "rdma_en2", "rdma_en3", "rdma_en4"],
                ["rdma_en2", None, "rdma_en3", "rdma_en4"],
                ["rdma_en2", "rdma_en3", None, "rdma_en4"],
                ["rdma_en2", "rdma_en3", "rdma_en4", None],
            ],
        ),
        (
            "four_studios",
            "jaccl-ring",
            [
                [None, "rdma_en3", None, "rdma_en5"],
                ["rdma_en5", None, "rdma_en2", None],
                [None, "rdma_en4", None, "rdma_en3"],
                ["rdma_en4", None, "rdma_en2", None],
            ],
        ),
        (
            "pair_with_two_cables",
            "jaccl",
            [[None, ["rdma_en3", "rdma_en6"]], [["rdma_en5", "rdma_en2"], None]],
        ),
    ],
)
def test_mlx_takes_the_devices(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scenario: str, backend: str, rdma
) -> None:
    path = tmp_path / "hostfile.json"
    assert run("--from", FIXTURES / scenario, "--backend", backend, "-o", path).code == 0
    hostfile = MlxHostfile.from_file(path)
    assert (hostfile.backend, [host.rdma for host in hostfile.hosts]) == (backend, rdma)

    started = []
    monkeypatch.setattr(launch, "_launch_with_io", lambda *words: started.append(words))
    args = argparse.Namespace(
        backend=backend, starting_port=32323, env=[], verbose=False, cwd=None, python=None
    )
    launch.launch_jaccl(argparse.ArgumentParser(), hostfile.hosts, args, ["true"])
    ((_, calls, _),) = started
    told = [(rank, json.loads(files["MLX_IBV_DEVICES"])) for (rank, _, _, _, files, *_), _ in calls]
    assert told == [(rank, rdma) for rank in range(len(rdma))]
