"""Tests against simulated Macs: marked ``netns``, and only for root on Linux."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder, and skip it where there are no namespaces to be had."""
    is_possible = sys.platform == "linux" and os.geteuid() == 0
    reason = pytest.mark.skip(reason="simulated Macs need root on Linux: namespaces and mounts")
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.netns)
            if not is_possible:
                item.add_marker(reason)
