"""docs/facts.md names tests, fixtures and modules that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FACTS = (ROOT / "docs" / "facts.md").read_text(encoding="utf-8")
KEEPERS = sorted(set(re.findall(r"`((?:tests|fixtures|distconfig|docs)/[^`\s]+)`", FACTS)))
ROWS = [line for line in FACTS.splitlines() if re.match(r"\| F\d+ ", line)]


def test_there_are_facts_and_each_has_a_number_of_its_own() -> None:
    numbers = [int(line.split()[1][1:]) for line in ROWS]
    assert len(numbers) > 40
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split()[1])
def test_a_fact_has_a_source_and_a_keeper(row: str) -> None:
    _, fact, source, keeper = row.strip("| ").split(" | ")
    assert fact
    assert source
    assert re.search(r"`(tests|fixtures|distconfig|docs)/", keeper)


@pytest.mark.parametrize("keeper", KEEPERS)
def test_what_keeps_a_fact_exists(keeper: str) -> None:
    path, _, test = keeper.partition("::")
    assert (ROOT / path).exists()
    if test:
        assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8")
