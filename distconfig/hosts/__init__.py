"""Hosts by name, and scripts run on them: here or, through ``distconfig.ssh``, elsewhere."""
