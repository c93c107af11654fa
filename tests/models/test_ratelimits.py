"""Rate limits in headers: read if possible, else ignored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row, tables_beside
from viva.models.ratelimits import quotas, retry_after, seconds_until
from viva.types import Quota

NOW = 1_750_000_000.0
RESETS = dict(tables_beside(__file__)["resets"])


@each_row(*RESETS.items())
def test_when_a_limit_is_reset(text: str, seconds: float | None) -> None:
    assert seconds_until(text, NOW) == (None if seconds is None else pytest.approx(seconds))


def test_limits_are_read_as_openai_anthropic_and_others_write_them() -> None:
    openai = {"limit-requests": "500", "remaining-requests": "499", "reset-requests": "120ms"}
    openai |= {"limit-tokens": "30000", "remaining-tokens": "29000", "reset-tokens": "2s"}
    assert quotas({f"x-ratelimit-{name}": value for name, value in openai.items()}, NOW) == (
        Quota("requests", 500.0, 499.0, 0.12),
        Quota("tokens", 30000.0, 29000.0, 2.0),
    )
    anthropic = {"limit": "4000", "remaining": "0", "reset": "2025-06-15T15:06:50Z"}
    headers = {f"anthropic-ratelimit-output-tokens-{part}": value for part, value in anthropic.items()}
    assert quotas(headers, NOW) == (Quota("output-tokens", 4000.0, 0.0, 10.0),)
    assert retry_after(headers, NOW) == 10.0
    assert retry_after({**headers, "Retry-After": "3"}, NOW) == 3.0
    plain = {"X-Ratelimit-Limit": "60", "X-Ratelimit-Remaining": "7", "X-Ratelimit-Reset": "1750000030"}
    assert quotas(plain, NOW) == (Quota("requests", 60.0, 7.0, 30.0),)
    assert quotas({"x-ratelimit-limit": "60", "x-ratelimit-remaining": "61", "x-ratelimit-reset": "3"}, NOW) == ()


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=80))
def test_no_header_is_an_error_or_out_of_bounds(limit: str, remaining: str, reset: str) -> None:
    names = ("x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens")
    for quota in quotas(dict(zip(names, (limit, remaining, reset), strict=True)), NOW):
        assert 0 <= quota.remaining <= quota.limit <= 1e12
        assert 0 <= quota.reset <= 86_400
