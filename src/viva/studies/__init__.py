"""Studies of finished runs: a package each, data in, findings out."""
