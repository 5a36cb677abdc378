"""The cabling and the ring, shown: pictures, tables, JSON."""
