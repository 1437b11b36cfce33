"""Serving on Ray Serve: many streams on many replicas, each stream with one owner. `gotta serve` starts it."""
