"""Pages of files: a run's report, and the leaderboard."""
