"""CLR-Bench: college-level questions whose answers come with their reasons."""
