"""What each subcommand of ``distributed_config`` does."""
