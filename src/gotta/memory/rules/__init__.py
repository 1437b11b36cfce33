"""Pure functions that policies share by calling."""
