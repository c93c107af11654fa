"""What every page shares: the guard before a server, escaping, tables, charts and colours."""
