"""From a table of item scores to leaderboard rows, or to levels of difficulty."""

HEADING = ""
