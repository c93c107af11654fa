"""The command line: where all of it meets."""
