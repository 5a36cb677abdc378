"""Testing cables: which at a time, what was measured, and what that says of each."""
