"""Settings that all tests share."""

from __future__ import annotations

from hypothesis import settings

# A busy machine is no defect: how long reading takes is tested where it matters, with bounds of its own.
settings.register_profile("viva", deadline=None)
settings.load_profile("viva")
