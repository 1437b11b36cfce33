"""`gotta data`: what is on disk, downloading, making, looking."""
