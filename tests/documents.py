"""README.md and docs/*.md taken apart: blocks of code, and the commands in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
_SEPARATORS = {"|", "||", "&&", ";"}


@dataclass(frozen=True)
class Block:
    """A block of code.

    Args:
        language: What follows the opening fence; "sh" for an indented block.
    """

    path: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.path.name}:{self.line}"


def find_blocks(path: Path) -> Iterator[Block]:
    """Fenced blocks, and those indented by four spaces after an empty line outside lists."""
    lines = path.read_text().splitlines()
    at = 0
    while at < len(lines):
        if lines[at].startswith("```"):
            end = lines.index("```", at + 1)
            yield Block(path, at + 1, lines[at][3:], "\n".join(lines[at + 1 : end]) + "\n")
            at = end + 1
        elif lines[at].startswith("    ") and not lines[at - 1].strip():
            end = at
            while end < len(lines) and lines[end].startswith("    "):
                end += 1
            yield Block(path, at + 1, "sh", "\n".join(x[4:] for x in lines[at:end]) + "\n")
            at = end
        else:
            at += 1


def all_blocks(language: str) -> list[Block]:
    """The blocks in this language of all documents; there are some."""
    found = [each for path in DOCUMENTS for each in find_blocks(path) if each.language == language]
    assert found, language
    return found


def find_commands(block: Block) -> list[list[str]]:
    """The words of each command in a block: comments, pipes and redirections taken off."""
    commands: list[list[str]] = []
    for line in re.sub(r"\\\n\s*", " ", block.text).splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split = True
        command: list[str] = []
        is_target = False
        for word in lexer:
            if word in _SEPARATORS:
                commands.append(command)
                command = []
            elif word.startswith((">", "<")):
                is_target = True
            elif is_target:
                is_target = False
            else:
                command.append(word)
        commands.append(command)
    return [command for command in commands if command]
