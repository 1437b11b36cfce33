"""`gotta data`: downloading, making, looking."""
