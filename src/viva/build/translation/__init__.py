"""Sets like CS-Bench: reading and writing its files, checking and making translations."""
