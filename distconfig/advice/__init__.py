"""Which cables to move, add or lay."""
