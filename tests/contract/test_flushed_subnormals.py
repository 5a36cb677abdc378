"""16-bit floats in a thread in which torch has the processor flush subnormal numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ring_runtime.halves import narrow, widen


def test_small_float16_survive_where_subnormal_numbers_are_flushed() -> None:
    """As after ``torch.set_flush_denormal(True)``, which holds for the thread."""
    small = np.arange(1, 1024, dtype=np.uint16).view(np.float16)
    wide, back = np.empty(len(small), np.float32), np.empty(len(small), np.float16)
    if not torch.set_flush_denormal(True):
        pytest.fail("this processor can not flush subnormal numbers")
    try:
        assert not np.float32(2.0**-100) * np.float32(2.0**-40)
        widen(small, wide)
        narrow(wide.copy(), back, np.empty_like(wide))
    finally:
        torch.set_flush_denormal(False)
    assert wide.tolist() == [number * 2.0**-24 for number in range(1, 1024)]
    assert back.view(np.uint16).tolist() == list(range(1, 1024))
