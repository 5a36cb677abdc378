"""Collectives over a ring of TCP connections, or over MPI, for programs of one rank per host."""
