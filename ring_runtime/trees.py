"""Trees of dicts, lists, tuples and named tuples, with anything else as leaves; as in MLX."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["tree_flatten", "tree_map", "tree_unflatten"]

IsLeaf = Callable[[Any], bool]


def tree_map(fn: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """The tree with ``fn`` applied to every leaf.

    Args:
        fn: Gets a leaf of ``tree`` and the leaves of ``rest`` at the same place.
        tree: Its containers are rebuilt with their own types.
        rest: Trees that have at least the branches of ``tree``.
        is_leaf: Says that a container is to be taken for a leaf.

    Example:
        >>> tree_map(lambda a, b: a + b, {"w": [1, (2,)]}, {"w": [10, (20,)]})
        {'w': [11, (22,)]}
    """
    if is_leaf is not None and is_leaf(tree):
        return fn(tree, *rest)
    if isinstance(tree, dict):
        return {
            key: tree_map(fn, child, *(other[key] for other in rest), is_leaf=is_leaf)
            for key, child in tree.items()
        }
    if isinstance(tree, list | tuple):
        children = [
            tree_map(fn, child, *(other[index] for other in rest), is_leaf=is_leaf)
            for index, child in enumerate(tree)
        ]
        kind = type(tree)
        return kind(*children) if hasattr(kind, "_fields") else kind(children)
    return fn(tree, *rest)


def tree_flatten(
    tree: Any,
    prefix: str = "",
    is_leaf: IsLeaf | None = None,
    destination: list[tuple[str, Any]] | dict[str, Any] | None = None,
) -> Any:
    """The leaves with their paths, as a list of pairs or in ``destination``.

    Args:
        prefix: Put before every path; its first character is dropped, as in MLX.
        is_leaf: Says that a container is to be taken for a leaf.
        destination: A list or dict to add to.

    Example:
        >>> tree_flatten({"layers": [{"w": 1}, {"w": 2}]})
        [('layers.0.w', 1), ('layers.1.w', 2)]
    """
    found = [] if destination is None else destination
    leaf = is_leaf is not None and is_leaf(tree)
    children: Iterable[tuple[Any, Any]] | None = None
    if isinstance(tree, dict) and not leaf:
        children = tree.items()
    elif isinstance(tree, list | tuple) and not leaf:
        children = enumerate(tree)
    if children is not None:
        for key, child in children:
            tree_flatten(child, f"{prefix}.{key}", is_leaf, found)
    elif isinstance(found, dict):
        found[prefix[1:]] = tree
    else:
        found.append((prefix[1:], tree))
    return found


def tree_unflatten(tree: list[tuple[str, Any]] | dict[str, Any]) -> Any:
    """The tree with these leaves at these paths; branches whose keys are all numbers are lists.

    Example:
        >>> tree_unflatten([("layers.0.w", 1), ("layers.1.w", 2)])
        {'layers': [{'w': 1}, {'w': 2}]}
    """
    items = list(tree.items() if isinstance(tree, dict) else tree)
    if len(items) == 1 and items[0][0] == "":
        return items[0][1]
    branches: dict[str, list[tuple[str, Any]]] = {}
    for path, leaf in items:
        key, _, below = path.partition(".")
        branches.setdefault(key, []).append((below, leaf))
    children = {key: tree_unflatten(leaves) for key, leaves in branches.items()}
    numbers = {int(key): key for key in children if key.isascii() and key.isdigit()}
    if len(numbers) != len(children):
        return children
    length = max(numbers, default=-1) + 1
    return [children[numbers[index]] if index in numbers else {} for index in range(length)]
