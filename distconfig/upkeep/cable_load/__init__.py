"""Loading cables: a sender and a receiver that run on the hosts, and what drives them from here."""
