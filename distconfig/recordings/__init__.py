"""Asking hosts, and what they printed: made, kept, replayed, anonymised."""
