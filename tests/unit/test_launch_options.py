"""The command line: what each form means, and what is refused with a reason."""

from __future__ import annotations

import pytest

from distconfig.errors import UsageError
from distconfig.launch.options import HELP, Options, parse_options


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("train.py", Options(command=("train.py",))),
        ("-n 4 train.py", Options(repeat=4, command=("train.py",))),
        ("-n4 train.py", Options(repeat=4, command=("train.py",))),
        ("--repeat-hosts=4 train.py", Options(repeat=4, command=("train.py",))),
        ("-n 2 -- python train.py", Options(repeat=2, command=("python", "train.py"))),
        ("-n 2 -m pkg.mod -n 3", Options(repeat=2, command=("-m", "pkg.mod", "-n", "3"))),
        ("-- -m pkg --verbose", Options(command=("-m", "pkg", "--verbose"))),
        (
            "python -m mlx_lm chat --model m",
            Options(command=("python", "-m", "mlx_lm", "chat", "--model", "m")),
        ),
        ("ls -- -x", Options(command=("ls", "--", "-x"))),
        (
            "--hosts a,b --backend mpi --env A=1 --env B=x=y --cwd /w --python /p/python3 "
            "--connections-per-ip 2 -p 5000 --nccl-port 6000 --tag-output --log-dir l "
            "--lost-after 2.5 --no-check --verbose x.py",
            Options(
                hosts="a,b",
                backend="mpi",
                env=("A=1", "B=x=y"),
                cwd="/w",
                python="/p/python3",
                connections_per_ip=2,
                starting_port=5000,
                nccl_port=6000,
                tag_output=True,
                log_dir="l",
                lost_after_s=2.5,
                check=False,
                verbose=True,
                command=("x.py",),
            ),
        ),
        ("--hostfile h.json x", Options(hostfile="h.json", command=("x",))),
        ("--print-python", Options(print_python=True)),
        ("--help", Options(help=True)),
        ("-h", Options(help=True)),
    ],
)
def test_a_command_line(line: str, expected: Options) -> None:
    assert parse_options(line.split()) == expected


def test_a_value_may_begin_with_a_dash_and_mpi_args_are_words() -> None:
    words = ["--mpi-arg", "--mca btl 'tcp,self'", "--mpi-arg=--oversubscribe -x 'A B'", "x"]
    assert parse_options(words).mpi_args == (
        *("--mca", "btl", "tcp,self"),
        *("--oversubscribe", "-x", "A B"),
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "there is no program to run"),
        ("-n 2", "there is no program to run"),
        ("-n 2 --", "there is no program to run"),
        ("-m", "-m names no module"),
        ("--frob x", "there is no option --frob"),
        ("-x y", "there is no option -x"),
        ("--verb x", "there is no option --verb"),
        ("-n", "-n needs a value"),
        ("-n 0 x", "-n needs a number above 0, not '0'"),
        ("-n -1 x", "-n needs a number above 0, not '-1'"),
        ("-n two x", "-n needs a number above 0, not 'two'"),
        ("-p 70000 x", "-p needs a TCP port from 1 to 65535, not '70000'"),
        ("-p 0 x", "-p needs a TCP port from 1 to 65535, not '0'"),
        ("--lost-after 0 x", "--lost-after needs a number of seconds above 0, not '0'"),
        ("--lost-after nan x", "--lost-after needs a number of seconds above 0, not 'nan'"),
        ("--env A x", "--env needs NAME=VALUE, not 'A'"),
        ("--env 1A=2 x", "--env needs NAME=VALUE, not '1A=2'"),
        (
            "--backend gloo x",
            "--backend needs one of ring, mpi, jaccl, jaccl-ring, nccl, not 'gloo'",
        ),
        ("--verbose=1 x", "--verbose takes no value"),
        ("--mpi-arg 'x y", "--mpi-arg needs words as a shell takes them (No closing quotation)"),
        ("--hosts a --hostfile b x", "--hosts and --hostfile were both given"),
    ],
)
def test_a_command_line_that_is_refused(line: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_options(line.split())
    assert said in str(caught.value)


def test_help_names_every_option_and_how_it_ends() -> None:
    text = HELP
    for name in (
        "--hosts", "--hostfile", "-n", "--backend", "--env", "--cwd", "--python", "-p",
        "--connections-per-ip", "--nccl-port", "--mpi-arg", "--tag-output", "--log-dir",
        "--lost-after", "--no-check", "--print-python", "--verbose",
    ):  # fmt: skip
        assert name in text
    assert "Options end at the first word that is not one" in text
