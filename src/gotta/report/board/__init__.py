"""The leaderboard: runs ranked by the protocols that they are of."""
