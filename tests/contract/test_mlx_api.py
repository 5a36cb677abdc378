"""Our functions take the arguments of the installed mlx, in its order and with its defaults."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import mlx.core as mx
import mlx.nn
import mlx.utils
import pytest

import ring_runtime as ring

Parameter = tuple[str, str, Any]

SHARED = [
    "all_gather",
    "all_max",
    "all_min",
    "all_sum",
    "init",
    "is_available",
    "recv",
    "recv_like",
    "send",
    "sum_scatter",
]


def in_docstring(doc: str) -> list[Parameter]:
    """The parameters of a compiled function, from the first line of its docstring."""
    match = re.match(r"\w+\((?P<inside>.*)\) ->", doc.strip())
    assert match, doc
    inside = re.sub(r"\[[^\[\]]*\]", "", re.sub(r"\[[^\[\]]*\]", "", match["inside"]))
    inside = re.sub(r"\[[^\[\]]*\]", "", inside)
    found: list[Parameter] = []
    kind = "positional"
    for piece in inside.split(", "):
        if piece == "*":
            kind = "keyword"
            continue
        name, _, default = piece.partition(" = ")
        value = eval(default) if default else inspect.Parameter.empty  # noqa: S307
        name = name.partition(":")[0]
        if name != "self":
            found.append((name, kind, value))
    return found


def of_ours(function: Callable[..., Any]) -> list[Parameter]:
    return [
        (
            parameter.name,
            "keyword" if parameter.kind is inspect.Parameter.KEYWORD_ONLY else "positional",
            parameter.default,
        )
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "self"
    ]


def assert_extends(ours: list[Parameter], theirs: list[Parameter]) -> None:
    """All of theirs, in order; what we add is a keyword with a default."""
    theirs = [parameter for parameter in theirs if parameter[0] != "all_gather_factory"]
    names = {name for name, _, _ in theirs}
    assert [parameter for parameter in ours if parameter[0] in names] == theirs
    for name, kind, default in ours:
        if name not in names:
            assert (kind, default) == ("keyword", None), name


@pytest.mark.parametrize("name", SHARED)
def test_a_function_of_mx_distributed(name: str) -> None:
    assert_extends(
        of_ours(getattr(ring, name)), in_docstring(getattr(mx.distributed, name).__doc__)
    )


@pytest.mark.parametrize("name", ["rank", "size", "split"])
def test_a_method_of_a_group(name: str) -> None:
    theirs = in_docstring(getattr(mx.distributed.Group, name).__doc__)
    assert_extends(of_ours(getattr(ring.Group, name)), theirs)


def test_every_function_of_mx_distributed_is_there() -> None:
    theirs = {name for name in dir(mx.distributed) if not name.startswith("_")}
    assert theirs == {*SHARED, "Group"}
    assert theirs <= set(ring.__all__)


def test_average_gradients() -> None:
    assert_extends(of_ours(ring.average_gradients), of_ours(mlx.nn.average_gradients))


@pytest.mark.parametrize("name", ["tree_map", "tree_flatten", "tree_unflatten"])
def test_a_function_of_mlx_utils(name: str) -> None:
    assert_extends(of_ours(getattr(ring, name)), of_ours(getattr(mlx.utils, name)))


def test_groups_of_one_agree() -> None:
    theirs, ours = mx.distributed.init(), ring.init()
    assert (ours.rank(), ours.size()) == (theirs.rank(), theirs.size())
    for name in ("any", "ring", "nonsense"):
        assert ring.is_available(name) == mx.distributed.is_available(name)
