"""Tables made from the store alone. `gotta.report.tables` holds the public names."""
