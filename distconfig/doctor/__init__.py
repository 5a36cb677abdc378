"""Naming what is wrong with hosts, cables and what else runs there; nothing is ever changed."""
