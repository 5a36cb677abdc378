"""The day after: drift, repair, and proof of every cable."""
