"""Web pages: runs, answers, reports, leaderboards and reviews; served, or written as files."""
