"""One run: from a spec to numbers."""
