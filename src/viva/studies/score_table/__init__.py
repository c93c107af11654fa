"""From a table of item scores to leaderboard rows."""

HEADING = ""
