"""Hostfiles made from plans."""
