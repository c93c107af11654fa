"""What every served page shares: the guard before it, and the server."""
