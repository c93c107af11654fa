"""The command line as a process, the local servers, and the published sets, for the tests of this folder."""

from benchmarks.published import published
from servers.fixtures import idle_servers, serve, server, viva, warm

__all__ = ["idle_servers", "published", "serve", "server", "viva", "warm"]
