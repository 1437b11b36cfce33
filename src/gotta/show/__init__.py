"""Pictures of data sets and streams for people to look at."""
