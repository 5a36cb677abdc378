"""Text from outside, made safe to show to a person."""

from __future__ import annotations

__all__ = ["escape_controls"]


def escape_controls(text: str) -> str:
    """The text with control, format and bidirectional characters written as escapes.

    Line feeds and tabs stay. What a host prints may carry terminal escapes;
    shown raw they could rewrite the screen.

    Example:
        >>> escape_controls("Dock\\x1b[2J \\u202eevil")
        'Dock\\\\x1b[2J \\\\u202eevil'
    """
    return "".join(
        char if char.isprintable() or char in "\n\t" else repr(char)[1:-1] for char in text
    )
