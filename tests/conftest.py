"""Settings that all tests share."""

from __future__ import annotations

import os

from hypothesis import settings

# A busy machine is no defect: how long reading takes is tested where it matters, with bounds of its own.
# The suite is to be quick; VIVA_THOROUGH=1 looks at many more examples of every property.
settings.register_profile("viva", deadline=None, max_examples=50)
settings.register_profile("thorough", deadline=None, max_examples=500)
settings.load_profile("thorough" if os.environ.get("VIVA_THOROUGH") else "viva")
