"""Hostfiles we write are read by the installed MLX with the meaning we gave them."""

from pathlib import Path

import pytest
from mlx._distributed_utils.common import Host
from mlx._distributed_utils.common import Hostfile as MlxHostfile

from ring_runtime.hostfile import Hostfile, HostfileEntry, render_hostfile

PAIR = (HostfileEntry("studio1", ("10.231.0.1",)), HostfileEntry("ben@studio2", ("10.231.0.2",)))


@pytest.mark.parametrize(
    ("hostfile", "expected"),
    [
        (
            Hostfile(PAIR),
            MlxHostfile(
                [
                    Host(0, "studio1", ["10.231.0.1"], []),
                    Host(1, "ben@studio2", ["10.231.0.2"], []),
                ]
            ),
        ),
        (
            Hostfile(PAIR, envs=("A=1",)),
            MlxHostfile(
                [
                    Host(0, "studio1", ["10.231.0.1"], []),
                    Host(1, "ben@studio2", ["10.231.0.2"], []),
                ],
                "ring",
                ["A=1"],
            ),
        ),
        (
            Hostfile(
                (
                    HostfileEntry("a", ("192.0.2.1",), (None, ("rdma_en2", "rdma_en3"))),
                    HostfileEntry("b", ("192.0.2.2",), ("rdma_en4", None)),
                ),
                "jaccl-ring",
            ),
            MlxHostfile(
                [
                    Host(0, "a", ["192.0.2.1"], [None, ["rdma_en2", "rdma_en3"]]),
                    Host(1, "b", ["192.0.2.2"], ["rdma_en4", None]),
                ],
                "jaccl-ring",
            ),
        ),
    ],
    ids=["list", "env", "rdma"],
)
def test_mlx_reads_what_we_write(tmp_path: Path, hostfile: Hostfile, expected: MlxHostfile) -> None:
    path = tmp_path / "hostfile.json"
    path.write_text(render_hostfile(hostfile))
    assert MlxHostfile.from_file(path) == expected
