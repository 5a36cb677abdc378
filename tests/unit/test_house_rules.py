"""The rules of the house, enforced on the syntax trees of both packages."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("distconfig", "ring_runtime")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

# Modules, and folders of modules, that touch the world; every other one is pure.
AT_THE_RIM = {
    "distconfig": {
        "agent", "agent_checks", "agent_files", "agent_link", "agent_mpi", "agent_ranks",
        "anonymise", "apply", "cable_load", "cli", "commands", "configure", "deadline",
        "dial", "fan_out", "free_ports", "graphviz", "host_round", "job", "journal",
        "local", "local_agent", "operator_network", "prepare", "printer", "probe",
        "recording", "run_script", "screen", "shell", "signals", "sources", "ssh",
        "ssh_link", "stdin", "supervise", "teardown", "verify",
    },
    "ring_runtime": {
        "bench", "connection", "handshake", "mpi", "patience", "reception", "rendezvous", "ring",
        "sockets",
    },
}  # fmt: skip
WORLD = {"socket", "subprocess", "threading", "paramiko", "typer", "time", "random", "select"}


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_a_module_is_pure_unless_it_is_at_the_rim(path: Path) -> None:
    package, *rest = path.relative_to(ROOT).with_suffix("").parts
    if AT_THE_RIM[package] & set(rest):
        return
    touching = sorted({name.split(".")[0] for name in imported(tree_of(path))} & WORLD)
    assert touching == []


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_the_packages_meet_in_the_hostfile_only(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    names = {name for name in imported(tree_of(path)) if name.split(".")[0] in PACKAGES}
    foreign = {name for name in names if name.split(".")[0] != package}
    allowed = {"ring_runtime.hostfile", "ring_runtime.errors"} if package == "distconfig" else set()
    assert foreign <= allowed


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_nothing_catches_everything(path: Path) -> None:
    allowed = 1 if path.name == "cli.py" else 0
    broad = [
        node.lineno
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) == "Exception")
    ]
    assert len(broad) <= allowed


@pytest.mark.parametrize("path", TESTS, ids=dotted)
def test_no_test_sleeps(path: Path) -> None:
    calls = [
        node.lineno
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"time.sleep", "sleep"}
    ]
    assert calls == []


def public(path: Path) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """Public classes, functions and methods, by name; protocols' bodies included."""
    for node in tree_of(path).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name, node
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, node
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
                    yield f"{node.name}.{inner.name}", inner


def parameters(node: ast.FunctionDef | ast.ClassDef) -> set[str]:
    """Names an Args section may use: parameters, or the fields of a class."""
    if isinstance(node, ast.ClassDef):
        fields = {
            inner.target.id
            for inner in node.body
            if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name)
        }
        made = [each for each in node.body if getattr(each, "name", "") == "__init__"]
        return fields.union(
            *(parameters(each) for each in made if isinstance(each, ast.FunctionDef))
        )
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return {each.arg for each in [*named, arguments.vararg, arguments.kwarg] if each}


def described(docstring: str) -> set[str]:
    """The names an Args section describes."""
    section = re.search(r"^Args:\n((?:[ ]{4}.*\n?|\n)+)", docstring, re.MULTILINE)
    if not section:
        return set()
    return {
        name.lstrip("*")
        for line in re.findall(r"^ {4}(\S[^:\n]*):", section.group(1), re.MULTILINE)
        for name in re.split(r",\s*", line)
    }


def faults_of(name: str, node: ast.FunctionDef | ast.ClassDef) -> Iterator[str]:
    docstring = ast.get_docstring(node)
    if not docstring:
        yield f"{name} has no docstring"
        return
    first = docstring.split("\n")[0]
    if not first.endswith((".", "?", "!")) or (
        not first[0].isupper() and first[0] not in "`0123456789"
    ):
        yield f"{name}: the first line is not a sentence: {first!r}"
    unknown = described(docstring) - parameters(node)
    if unknown:
        yield f"{name}: Args names {sorted(unknown)}, which are not parameters"


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_public_objects_are_documented(path: Path) -> None:
    faults = [fault for name, node in public(path) for fault in faults_of(name, node)]
    assert ast.get_docstring(tree_of(path)), "the module has no docstring"
    assert faults == []


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_all_names_what_is_there(path: Path) -> None:
    if path.name in ("__init__.py", "__main__.py"):
        return
    names = [
        ast.literal_eval(node.value)
        for node in tree_of(path).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    assert len(names) == 1, "__all__ is missing"
    module = importlib.import_module(dotted(path))
    assert [name for name in names[0] if not hasattr(module, name)] == []


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_examples_in_docstrings_run(path: Path) -> None:
    if path.name == "__main__.py":
        return
    failed, _ = doctest.testmod(importlib.import_module(dotted(path)))
    assert failed == 0


def leaves(module: str) -> set[str]:
    """Error classes of a module that no other one inherits from."""
    names = vars(importlib.import_module(module))
    kinds = {each for each in names.values() if isinstance(each, type)}
    errors = {each for each in kinds if issubclass(each, Exception) and each.__module__ == module}
    return {
        each.__name__ for each in errors if not any(each in other.__bases__ for other in errors)
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_every_kind_of_error_is_raised_somewhere(package: str) -> None:
    called = {
        ast.unparse(node.func).split(".")[-1]
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and path.name != "errors.py"
    }
    assert leaves(f"{package}.errors") - called == set()
