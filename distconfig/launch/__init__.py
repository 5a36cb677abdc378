"""From a hostfile to running ranks: `distributed_launch`."""
