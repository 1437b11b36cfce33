"""Many cells, each claimed, run and stored once."""
