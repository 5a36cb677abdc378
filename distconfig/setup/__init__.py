"""Addresses, the commands that set them, and running, verifying and undoing those."""
