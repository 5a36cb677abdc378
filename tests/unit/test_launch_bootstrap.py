"""What travels to a host: complete, for Python 3.8, and needing nothing but its library."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from distconfig.launch.bootstrap import pack_agent, remote_command


def unpack(package: bytes) -> dict[str, str]:
    """The modules in a package, read by the rule in the bootstrap's docstring."""
    modules = {}
    while True:
        name, length = package[:32].split()
        package = package[32:]
        if name == b"end":
            assert package == b""
            return modules
        modules[name.decode()] = package[: int(length)].decode()
        package = package[int(length) :]


MODULES = unpack(pack_agent())


def test_the_agent_comes_last_and_what_it_needs_before() -> None:
    assert list(MODULES)[-1] == "agent"
    seen: set[str] = set()
    for name, text in MODULES.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("distconfig"):
                needed = (node.module or "").removeprefix("distconfig.launch").lstrip(".")
                assert {needed} <= seen if needed else {alias.name for alias in node.names} <= seen
        seen.add(name)


@pytest.mark.parametrize("name", MODULES)
def test_the_text_is_that_of_the_module(name: str) -> None:
    folder = Path(sys.modules[pack_agent.__module__].__file__ or "").parent
    assert MODULES[name] == (folder / f"{name}.py").read_text("utf-8")


@pytest.mark.parametrize("name", MODULES)
def test_a_module_reads_as_python_3_8(name: str) -> None:
    tree = ast.parse(MODULES[name], feature_version=(3, 8))
    assert "annotations" in {
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for alias in node.names
    }


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_the_standard_library_only(name: str) -> None:
    imported = set()
    for node in ast.walk(ast.parse(MODULES[name])):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
    assert imported - {"distconfig"} <= sys.stdlib_module_names


def test_a_remote_command_is_words_with_the_interpreters_last() -> None:
    command = remote_command(("~/v/bin/python", "python3"))
    assert command[:2] == ("/bin/sh", "-c")
    assert command[-2:] == ("~/v/bin/python", "python3")
