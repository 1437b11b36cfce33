"""What a run is: its spec, short forms, and what is wrong with it."""
