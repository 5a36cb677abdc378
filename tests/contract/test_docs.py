"""Every block of code in README.md and docs/*.md does what the page says it does."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer.main

from distconfig.cli import app
from distconfig.launch.options import parse_options
from ring_runtime.hostfile import parse_address_list, parse_hostfile
from tests.conftest import ROOT
from tests.documents import DOCUMENTS, Block, all_blocks, find_blocks, find_commands
from tests.programs import run

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
# Programs of the system or of others: what they do with their words is their business.
OTHERS = {
    "cat", "dot", "git", "brew", "apt-get", "grep", "open", "cd", "mkdir", "ls", "rsync",
    "ssh", "ssh-add", "ssh-copy-id", "ssh-keygen", "launchctl", "rm", "networksetup",
    "/sbin/ifconfig", "/sbin/ping", "/sbin/route", "/usr/sbin/networksetup", "printenv",
    "/usr/sbin/system_profiler", "/usr/libexec/ApplicationFirewall/socketfilterfw", "ifconfig",
    "route", "mlx.launch",
}  # fmt: skip
USERS_OWN = {"train.py"}


def cluster(path: Path, text: str) -> bool:
    """Whether a block is a listing of files, which has no commands."""
    return path.name == "recordings.md" and text.startswith("cluster/")


SHELL = [block for block in all_blocks("sh") if not cluster(block.path, block.text)]


# Python


@pytest.mark.parametrize("block", all_blocks("python"), ids=str)
def test_python_runs_on_two_ranks(block: Block, tmp_path: Path) -> None:
    script = tmp_path / "block.py"
    script.write_text(block.text)
    ended = run(["distributed_launch", "-n", "2", str(script)])
    assert ended.returncode == 0, ended.stderr


# JSON


@pytest.mark.parametrize("block", all_blocks("json"), ids=str)
def test_json_is_read_by_its_reader(block: Block) -> None:
    value = json.loads(block.text)
    if isinstance(value, dict) and "format" in value:
        schemas = [json.loads(path.read_text()) for path in (ROOT / "docs").glob("*.schema.json")]
        assert any(jsonschema.Draft202012Validator(each).is_valid(value) for each in schemas)
    elif isinstance(value, list) and isinstance(value[0], list):
        assert [[str(endpoint) for endpoint in row] for row in parse_address_list(block.text)] == [
            list(row) for row in value
        ]
    else:
        listed = value["hosts"] if isinstance(value, dict) else value
        assert [host.ssh for host in parse_hostfile(block.text).hosts] == [
            host["ssh"] for host in listed
        ]


# Commands


def options_of(command: Any) -> dict[str, bool]:
    """The options of a command, and whether a value follows."""
    return {
        name: not parameter.is_flag
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("-")
    }


CONFIG = typer.main.get_command(app)
SUBCOMMANDS: dict[str, Any] = getattr(CONFIG, "commands", {})


def check_distributed_config(words: list[str]) -> None:
    """Refuse options that the program does not have."""
    command, name = CONFIG, "distributed_config"
    if words and words[0] in SUBCOMMANDS:
        name = words[0]
        command, words = SUBCOMMANDS[name], words[1:]
    known = {**options_of(command), "--help": False, "-h": False}
    takes_positional = any(not each.opts[0].startswith("-") for each in command.params)
    while words:
        word, *words = words
        option, has_value, _ = word.partition("=")
        if word.startswith("-"):
            assert option in known, f"{name} has no option {option}"
            if known[option] and not has_value:
                assert words, f"{option} needs a value"
                words = words[1:]
        else:
            assert takes_positional, f"{name} takes no {word}"


def check_python(words: list[str]) -> None:
    """Refuse scripts and modules that do not exist."""
    assert words, "python without a program"
    if words[0] == "-m":
        assert importlib.util.find_spec(words[1]) is not None, words
        if words[1:3] == ["tests.simulated_macs", "run"]:
            check_command(words[3:])
    elif words[0] not in USERS_OWN:
        assert (ROOT / words[0]).is_file(), words


def check_mpirun(words: list[str]) -> None:
    """Refuse parameters that the installed Open MPI does not have."""
    asked = subprocess.run(
        [str(Path(sys.executable).with_name("ompi_info")), "--all"],
        capture_output=True,
        text=True,
        check=True,
    )
    known = set(re.findall(r'parameter "(\w+)"', asked.stdout))
    while words and words[0].startswith("-"):
        option, value, *words = words
        if option == "--mca":
            assert value in known, f"Open MPI has no parameter {value}"
            words = words[1:]
        else:
            assert option == "-n", option
            assert value.isdigit()
    if words[0] == "python":
        check_python(words[1:])


def check_distributed_launch(words: list[str]) -> None:
    """Refuse options that the launcher does not have, and examples that are not there."""
    options = parse_options(words)
    if options.mpi_args:
        check_mpirun([*options.mpi_args, "train"])
    if options.command and options.command[0].endswith(".py"):
        check_python(list(options.command))


def check_command(words: list[str]) -> None:
    """Refuse a command that is not as its program wants it."""
    program = words[0].removeprefix(".venv/bin/")
    rest = words[1:]
    if program == "sudo":
        check_command(rest)
    elif program == "distributed_config":
        check_distributed_config(rest)
    elif program == "distributed_launch":
        check_distributed_launch(rest)
    elif program in ("python", "python3"):
        check_python(rest)
    elif program == "mpirun":
        check_mpirun(rest)
    elif program == "make":
        assert [word for word in rest if "=" not in word and word not in TARGETS] == []
    elif program == "pip":
        extras = re.findall(r"\[([\w,-]+)\]", " ".join(rest))
        wanted = {extra for found in extras for extra in found.split(",")}
        assert wanted <= set(PROJECT["optional-dependencies"])
    else:
        assert program in OTHERS, f"{program} is no program the pages may name"


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_commands_are_as_their_programs_want_them(block: Block) -> None:
    commands = find_commands(block)
    assert commands
    for words in commands:
        check_command(words)


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_commands_on_our_recordings_succeed(block: Block, tmp_path: Path) -> None:
    """Those that name a recording in fixtures/ are run, in a folder of their own."""
    for words in find_commands(block):
        if words[0] == "distributed_config" and any("fixtures/" in word for word in words):
            absolute = [word.replace("fixtures/", f"{ROOT}/fixtures/") for word in words]
            ended = run(absolute, cwd=tmp_path)
            assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_options_named_in_the_text_exist(path: Path) -> None:
    ours = {"--help", "--version", "-h"}
    for command in (CONFIG, *SUBCOMMANDS.values()):
        ours |= set(options_of(command))
    launch = run(["distributed_launch", "--help"]).stdout
    ours |= set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", launch))
    others = {"--mca", "--oversubscribe"}
    named = set(re.findall(r"`(--[a-z][a-z-]*)", path.read_text()))
    assert named <= ours | others


# Links


def anchors_of(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        page = path.parent / name if name else path
        if not page.exists() or (anchor and anchor not in anchors_of(page)):
            broken.append(target)
    assert broken == []


# docs/by-hand.md


def by_hand(language: str) -> list[Block]:
    path = ROOT / "docs" / "by-hand.md"
    return [block for block in find_blocks(path) if block.language == language]


def commands_for(host: str, text: str) -> list[str]:
    """The command lines of a host, each followed by its undo, that distributed_config prints."""
    section = re.search(rf"^# {host}: run these on it\n(.*?)(?:\n\n|\Z)", text, re.M | re.S)
    assert section
    return [line for line in section[1].splitlines() if not re.match(r"# \S", line)]


def typed_on(host: str) -> list[list[str]]:
    """The lines of each block of the page for one host."""
    return [
        block.text.splitlines()[1:]
        for block in by_hand("sh")
        if block.text.startswith(f"# on {host}\n") and block.text.count("# on ") == 1
    ]


@pytest.mark.parametrize("host", ["studio1", "studio2"])
def test_what_is_typed_by_hand_is_what_the_planner_prints(host: str) -> None:
    planned = run(["distributed_config", "--from", "fixtures/two_hosts_one_cable", "--dry-run"])
    assert planned.returncode == 0
    lines = commands_for(host, planned.stdout)
    undo = "#   undo: "
    setup = [line for line in lines if not line.startswith(undo)]
    undone = [line.removeprefix(undo) for line in lines if line.startswith(undo)]
    by_page, taken_back = typed_on(host)
    assert by_page == setup
    assert taken_back == undone[::-1]


def test_the_hostfile_by_hand_is_the_planners() -> None:
    planned = run(["distributed_config", "--from", "fixtures/two_hosts_one_cable"])
    assert by_hand("json")[0].text == planned.stdout.partition("# hostfile.json\n")[2]


def test_what_is_looked_at_by_hand_is_what_is_probed() -> None:
    recorded = ROOT / "fixtures" / "two_hosts_one_cable" / "01-studio1" / "probes.json"
    probed = [probe["argv"] for probe in json.loads(recorded.read_text()).values()]
    looked = find_commands(by_hand("sh")[0])
    assert len(looked) == 3
    assert [words for words in looked if words not in probed] == []


# docs/coming-from.md


def names_in_tables() -> list[tuple[str, str]]:
    """Each row of the tables of names: theirs and ours."""
    text = (ROOT / "docs" / "coming-from.md").read_text()
    return re.findall(r"^\| `([\w.]+)` \| (?:`([\w.]+)`|\(none\)) \|", text, re.MULTILINE)


@pytest.mark.parametrize(("theirs", "ours"), names_in_tables())
def test_names_in_the_tables_exist(theirs: str, ours: str) -> None:
    def find(name: str) -> Any:
        starts = {
            "mx.nn.": "mlx.nn:",
            "mx.": "mlx.core:",
            "dist.": "torch.distributed:",
            "MPI.": "mpi4py.MPI:",
            "comm.": "mpi4py.MPI:Comm.",
            "ring.": "ring_runtime:",
            "world.": "ring_runtime:Group.",
        }
        start = next(each for each in starts if name.startswith(each))
        module, _, rest = (starts[start] + name.removeprefix(start)).partition(":")
        found: Any = importlib.import_module(module)
        for part in rest.split("."):
            found = getattr(found, part)
        return found

    assert find(theirs) is not None
    assert not ours or find(ours) is not None


def test_every_collective_of_mlx_and_of_ours_is_in_a_table() -> None:
    ring_runtime = importlib.import_module("ring_runtime")
    mlx = importlib.import_module("mlx.core").distributed
    named = {name for row in names_in_tables() for name in row}
    assert {f"mx.distributed.{name}" for name in dir(mlx) if not name.startswith("_")} <= named
    text = (ROOT / "docs" / "coming-from.md").read_text()
    collectives = importlib.import_module("ring_runtime.collectives").__all__
    assert [name for name in collectives if f"`ring.{name}`" not in text] == []
    assert set(collectives) <= set(ring_runtime.__all__)
