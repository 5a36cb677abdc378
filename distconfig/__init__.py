"""Everything done from the operator's machine: probing, planning, setup, launching."""

__version__ = "0.1.0"
