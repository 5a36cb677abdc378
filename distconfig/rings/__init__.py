"""Rings and meshes in a topology: the best one, or why there is none."""
