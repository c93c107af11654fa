"""What the suite does more of, or in full size, where it may take longer: VIVA_THOROUGH=1; less by `--quick`."""

import os

THOROUGH = bool(os.environ.get("VIVA_THOROUGH"))
LONG = 1_000_000 if THOROUGH else 50_000 if os.environ.get("VIVA_QUICK") else 150_000
"""Characters of a reply that must be read in time that grows with its length: enough for a square to be seen."""
SECONDS = LONG / 1_000_000
"""Seconds that such a reply may take, at most, times a factor: in proportion to its length."""
