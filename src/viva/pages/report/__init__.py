"""A run's report as one HTML file that needs no network, for up to 100,000 items."""
