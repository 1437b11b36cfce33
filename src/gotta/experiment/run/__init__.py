"""One run: from a spec to numbers."""

EVERY = 60.0  # seconds between two snapshots of a run
