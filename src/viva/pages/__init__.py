"""Pages: runs, a run, its answers, a report, a leaderboard, a review; served, or written as files."""
