"""The local servers, for the tests of themselves."""

from servers.fixtures import idle_servers, serve

__all__ = ["idle_servers", "serve"]
