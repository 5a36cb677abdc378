"""Options and a hostfile give a job: who runs what, where, with which environment."""

from __future__ import annotations

import pytest

from distconfig.errors import UsageError
from distconfig.launch.options import Options
from distconfig.launch.plan import (
    Command,
    HostPart,
    LaunchPlan,
    RankPlan,
    list_entries,
    parse_command,
    plan_launch,
)
from ring_runtime.hostfile import Endpoint, Hostfile, HostfileEntry

PAIR = Hostfile(
    (HostfileEntry("studio1", ("10.231.0.2",)), HostfileEntry("ada@studio2", ("10.231.0.1",)))
)


def plan(options: Options, hostfile: Hostfile | None = None, port: int = 5000) -> LaunchPlan:
    return plan_launch(options, list_entries(options, hostfile), starting_port=port)


def test_a_ring_over_two_hosts() -> None:
    assert plan(Options(command=("train.py", "-x")), PAIR) == LaunchPlan(
        backend="ring",
        command=Command("script", ("train.py", "-x")),
        ranks=(
            RankPlan(
                rank=0,
                host="studio1",
                env=(("MLX_RANK", "0"), ("MLX_WORLD_SIZE", "2")),
                listens=(Endpoint("10.231.0.2", 5000),),
                dials=(Endpoint("10.231.0.1", 5001),),
            ),
            RankPlan(
                rank=1,
                host="ada@studio2",
                env=(("MLX_RANK", "1"), ("MLX_WORLD_SIZE", "2")),
                listens=(Endpoint("10.231.0.1", 5001),),
                dials=(Endpoint("10.231.0.2", 5000),),
            ),
        ),
        files=(("hostfile.json", '[["10.231.0.2:5000"],["10.231.0.1:5001"]]'),),
        file_env=(("MLX_HOSTFILE", "hostfile.json"),),
        default_env=(("PYTHONUNBUFFERED", "1"),),
    )


def test_four_ranks_on_this_machine_are_one_part() -> None:
    job = plan(Options(repeat=4, command=("x",)))
    assert job.is_local
    [part] = job.parts
    assert (part.host, [rank.rank for rank in part.ranks]) == ("127.0.0.1", [0, 1, 2, 3])
    assert job.files == (
        (
            "hostfile.json",
            '[["127.0.0.1:5000"],["127.0.0.1:5001"],["127.0.0.1:5002"],["127.0.0.1:5003"]]',
        ),
    )
    assert [rank.dials for rank in job.ranks] == [(), (), (), ()]


def test_hosts_of_a_hostfile_are_repeated_side_by_side() -> None:
    job = plan(Options(repeat=2, command=("x",)), PAIR)
    assert [rank.host for rank in job.ranks] == ["studio1", "studio1", "ada@studio2", "ada@studio2"]
    assert job.parts[1] == HostPart("ada@studio2", None, None, job.ranks[2:])
    # Rank 1 alone has its right neighbour elsewhere, and rank 3.
    assert [len(rank.dials) for rank in job.ranks] == [0, 1, 0, 1]


def test_a_rank_alone_gets_a_blank_file_and_needs_no_address() -> None:
    job = plan(Options(hosts="studio1", command=("x",)))
    assert job.files == (("hostfile.json", ""),)
    assert job.ranks == (
        RankPlan(rank=0, host="studio1", env=(("MLX_RANK", "0"), ("MLX_WORLD_SIZE", "1"))),
    )


def test_ranks_that_are_all_on_one_host_meet_there() -> None:
    job = plan(Options(hosts="studio1", repeat=2, command=("x",)))
    assert job.files == (("hostfile.json", '[["127.0.0.1:5000"],["127.0.0.1:5001"]]'),)
    assert [rank.host for rank in job.ranks] == ["studio1", "studio1"]


def test_settings_later_in_this_order_win() -> None:
    hostfile = Hostfile(
        (
            HostfileEntry("a", ("10.0.0.1",), env=("B=host", "C=host", "MLX_RANK=9")),
            HostfileEntry("b", ("10.0.0.2",)),
        ),
        envs=("A=file", "B=file", "C=file"),
    )
    job = plan(Options(env=("C=option=1",), command=("x",)), hostfile)
    assert [dict(rank.env) for rank in job.ranks] == [
        {"A": "file", "B": "host", "C": "option=1", "MLX_RANK": "0", "MLX_WORLD_SIZE": "2"},
        {"A": "file", "B": "file", "C": "option=1", "MLX_RANK": "1", "MLX_WORLD_SIZE": "2"},
    ]


def test_each_host_may_have_its_own_python_and_folder() -> None:
    hostfile = Hostfile(
        (
            HostfileEntry("a", ("10.0.0.1",), python="~/v/bin/python", cwd="/w"),
            HostfileEntry("b", ("10.0.0.2",)),
            HostfileEntry("a", ("10.0.0.3",), python="~/v/bin/python", cwd="/other"),
        )
    )
    job = plan(Options(command=("x.py",)), hostfile)
    assert [(p.host, p.python, p.cwd, len(p.ranks)) for p in job.parts] == [
        ("a", "~/v/bin/python", "/w", 1),
        ("b", None, None, 1),
        ("a", "~/v/bin/python", "/other", 1),
    ]
    overridden = plan(Options(python="/p", cwd="/d", command=("x.py",)), hostfile)
    assert [(p.host, p.python, p.cwd, len(p.ranks)) for p in overridden.parts] == [
        ("a", "/p", "/d", 2),
        ("b", "/p", "/d", 1),
    ]


def test_jaccl() -> None:
    hostfile = Hostfile(
        (
            HostfileEntry("a", ("10.0.0.1",), rdma=(None, "rdma_en2")),
            HostfileEntry("b", ("10.0.0.2",), rdma=(("rdma_en3", "rdma_en4"), None)),
        ),
        backend="jaccl",
    )
    job = plan(Options(command=("x",)), hostfile)
    assert job.backend == "jaccl"
    assert job.files == (
        ("devices.json", '[[null, "rdma_en2"], [["rdma_en3", "rdma_en4"], null]]'),
    )
    assert job.file_env == (("MLX_IBV_DEVICES", "devices.json"),)
    assert job.ranks[1].env == (
        ("MLX_JACCL_COORDINATOR", "10.0.0.1:5000"),
        ("MLX_RANK", "1"),
        ("MLX_WORLD_SIZE", "2"),
    )
    assert [rank.listens for rank in job.ranks] == [(Endpoint("10.0.0.1", 5000),), ()]
    ring = plan(Options(backend="jaccl-ring", command=("x",)), hostfile)
    assert ("MLX_JACCL_RING", "1") in ring.ranks[0].env


def test_nccl_counts_the_gpus_of_a_host_and_repeats_no_hostfile() -> None:
    hostfile = Hostfile((HostfileEntry("a", ("10.0.0.1",)),) * 2 + (HostfileEntry("b"),) * 2)
    job = plan(Options(repeat=2, backend="nccl", verbose=True, command=("x",)), hostfile)
    assert [dict(rank.env) for rank in job.ranks] == [
        {
            "NCCL_HOST_IP": "10.0.0.1",
            "NCCL_PORT": "12345",
            "NCCL_DEBUG": "INFO",
            "CUDA_VISIBLE_DEVICES": device,
            "MLX_RANK": rank,
            "MLX_WORLD_SIZE": "4",
        }
        for rank, device in (("0", "0"), ("1", "1"), ("2", "0"), ("3", "1"))
    ]


def test_a_verbose_ring_says_so_to_mlx() -> None:
    job = plan(Options(verbose=True, command=("x",)), PAIR)
    assert ("MLX_RING_VERBOSE", "1") in job.ranks[0].env


def test_a_terminal_gives_its_size() -> None:
    entries = list_entries(Options(), None)
    job = plan_launch(Options(command=("x",)), entries, starting_port=1, terminal_size=(80, 24))
    assert job.default_env == (("PYTHONUNBUFFERED", "1"), ("COLUMNS", "80"), ("LINES", "24"))


def test_connections_count_up_within_an_address() -> None:
    job = plan(Options(repeat=2, connections_per_ip=2, command=("x",)))
    assert job.files[0][1] == (
        '[["127.0.0.1:5000","127.0.0.1:5001"],["127.0.0.1:5002","127.0.0.1:5003"]]'
    )


@pytest.mark.parametrize(
    ("words", "is_for_python", "kind", "argv"),
    [
        (("train.py", "-x"), False, "script", ("/p", "train.py", "-x")),
        (("./train.py",), False, "script", ("/p", "./train.py")),
        (("-m", "pkg.mod"), False, "python", ("/p", "-m", "pkg.mod")),
        (("python", "train.py"), False, "program", ("python", "train.py")),
        (("./tool", "a"), True, "python", ("/p", "./tool", "a")),
        (("-c", "pass"), True, "python", ("/p", "-c", "pass")),
    ],
)
def test_a_command(
    words: tuple[str, ...], is_for_python: bool, kind: str, argv: tuple[str, ...]
) -> None:
    command = parse_command(words, is_for_python=is_for_python)
    assert command.kind == kind
    assert command.argv("/p", words[0]) == argv


def test_mlx_meaning_of_an_explicit_python() -> None:
    assert plan(Options(python="/p", command=("tool", "a"))).command.kind == "python"


@pytest.mark.parametrize(
    ("options", "hostfile", "said"),
    [
        (Options(hosts="a,b"), None, "rank 0 on a has no address to listen on"),
        (Options(hosts="a,"), None, "a host name is empty"),
        (Options(hosts=""), None, "a host name is empty"),
        (Options(hosts="-oProxyCommand=x,b"), None, "begins with '-'"),
        (Options(hosts="a;b"), None, "'a;b' is not a host name"),
        (Options(backend="jaccl", repeat=2), None, "lists 0 RDMA devices for 2 ranks"),
        (Options(backend="nccl"), Hostfile((HostfileEntry("a"),)), "rank 0 on a has no address"),
        (
            Options(),
            Hostfile(
                (HostfileEntry("localhost", ("127.0.0.1",)), HostfileEntry("b", ("10.0.0.2",)))
            ),
            "rank 0 would listen on 127.0.0.1, which no other host can reach",
        ),
        (
            Options(backend="jaccl"),
            Hostfile(
                (
                    HostfileEntry("a", ("10.0.0.1",), rdma=("rdma_en2", "rdma_en2")),
                    HostfileEntry("b", (), rdma=("rdma_en2", None)),
                )
            ),
            "rank 0 on a lists an RDMA device towards itself",
        ),
        (
            Options(backend="jaccl-ring"),
            Hostfile(
                (
                    HostfileEntry("a", ("10.0.0.1",), rdma=(None, None)),
                    HostfileEntry("b", (), rdma=("rdma_en2", None)),
                )
            ),
            "rank 0 on a lists no RDMA device towards rank 1",
        ),
    ],
)
def test_a_job_that_can_not_be_planned(
    options: Options, hostfile: Hostfile | None, said: str
) -> None:
    with pytest.raises(UsageError) as caught:
        plan(Options(**{**vars(options), "command": ("x",)}), hostfile)
    assert said in str(caught.value)


def test_a_ring_needs_no_cable_that_a_jaccl_ring_does_not_use() -> None:
    rows = [[None if i in (j, (j + 2) % 4) else "rdma_en2" for i in range(4)] for j in range(4)]
    hostfile = Hostfile(
        tuple(HostfileEntry(f"h{i}", ("10.0.0.1",), rdma=tuple(row)) for i, row in enumerate(rows))
    )
    assert plan(Options(backend="jaccl-ring", command=("x",)), hostfile).backend == "jaccl-ring"
    with pytest.raises(UsageError, match="towards rank 2"):
        plan(Options(backend="jaccl", command=("x",)), hostfile)
