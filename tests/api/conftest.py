"""The local servers, for the tests of this folder."""

from servers.fixtures import idle_servers, serve

__all__ = ["idle_servers", "serve"]
