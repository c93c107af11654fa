"""A run's report as one HTML file that opens without a network, also with 100,000 items in it."""
