"""What the models of Mac that are imagined have, and which builds of macOS there are."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BUILDS", "MODELS", "Model"]


@dataclass(frozen=True)
class Model:
    """What a model identifier stands for.

    Args:
        generation: 5, 4, or 3 for Intel, which has two receptacles per bus.
        interfaces: BSD name of each receptacle, in order of receptacles.
        wifi: BSD name of Wi-Fi; a model whose Wi-Fi is en0 has no Ethernet.
    """

    family: str
    generation: int
    interfaces: tuple[str, ...]
    wifi: str = "en1"


MODELS: dict[str, Model] = {
    "Mac15,14": Model("Mac Studio", 5, ("en2", "en3", "en4", "en5", "en6", "en7")),
    "Mac16,9": Model("Mac Studio", 5, ("en2", "en3", "en4", "en5")),
    "Mac16,11": Model("Mac mini", 5, ("en2", "en3", "en4")),
    "Mac16,10": Model("Mac mini", 4, ("en2", "en3", "en4")),
    "Mac14,3": Model("Mac mini", 4, ("en2", "en3")),
    "Macmini9,1": Model("Mac mini", 4, ("en2", "en3")),
    "Mac17,6": Model("MacBook Pro", 5, ("en1", "en6", "en2"), wifi="en0"),
    "Mac16,5": Model("MacBook Pro", 5, ("en1", "en2", "en3"), wifi="en0"),
    "Mac15,7": Model("MacBook Pro", 4, ("en1", "en2", "en3"), wifi="en0"),
    "VirtualMac2,1": Model("Apple Virtual Machine 1", 4, ()),
    "MacBookPro16,1": Model("MacBook Pro", 3, ("en1", "en2", "en3", "en4"), wifi="en0"),
}

BUILDS = {
    "27.0": "26A340",
    "26.4": "25E246",
    "15.6": "24G84",
    "13.6.7": "22G720",
    "10.14.6": "18G9323",
}
