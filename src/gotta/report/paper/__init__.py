"""The published numbers, and ours beside them."""
