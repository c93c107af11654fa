"""The sandbox: programs that models wrote, run so that they cannot leave, and judged so that they cannot lie."""

from viva.sandbox.isolation import NoIsolationError
from viva.sandbox.sandbox import Sandbox

__all__ = ["NoIsolationError", "Sandbox"]
