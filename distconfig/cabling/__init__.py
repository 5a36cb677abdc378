"""Which port is cabled to which: the topology, and how it is shown."""
