"""The local servers and the command line, for the tests of this folder."""

from servers.fixtures import idle_servers, serve, server, viva, warm

__all__ = ["idle_servers", "serve", "server", "viva", "warm"]
