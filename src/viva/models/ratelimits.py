"""Rate limits in servers' headers: when to retry, and the remaining requests and tokens.

OpenAI writes `x-ratelimit-remaining-requests: 42` and `x-ratelimit-reset-requests: 6m0s`, Anthropic
`anthropic-ratelimit-output-tokens-reset:` and a time (RFC 3339), others seconds or a moment since 1970 in seconds or
milliseconds. Headers are untrusted: unreadable or out-of-bounds values are ignored.
"""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime

from viva.errors import ModelError
from viva.models.secrecy import Secrecy
from viva.types import Quota
from viva.visible import one_line

LONGEST = 64
"""Most characters of a header that is read."""
LARGEST = 1e12
DAY = 86_400.0
_UNITS = {"d": DAY, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)(d|h|ms|us|µs|ns|m|s)", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,12})?", re.ASCII)
_KINDS = ("requests", "tokens", "input-tokens", "output-tokens")
_FAMILIES = ("x-ratelimit-{part}-{what}", "anthropic-ratelimit-{what}-{part}")
_PLAIN = "x-ratelimit-{part}"


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds to wait by `retry-after-ms` or `Retry-After` (seconds or an HTTP date); None without any.

    Without these headers: the seconds until an exhausted limit is reset.
    """
    milliseconds = _get(headers, "retry-after-ms")
    value = _get(headers, "retry-after")
    try:
        seconds = float(milliseconds) / 1000 if milliseconds else float(value) if value else None
    except ValueError:
        seconds = None
    if seconds is not None:
        return max(0.0, seconds) if math.isfinite(seconds) else None
    if value:
        try:
            return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - (now or time.time()))
        except (ValueError, TypeError, OverflowError):
            return None
    return max((quota.reset for quota in quotas(headers, now) if quota.remaining < 1), default=None)


def quotas(headers: Mapping[str, str], now: float | None = None) -> tuple[Quota, ...]:
    """Return the limits stated completely: size, remainder and reset. `now`: seconds since 1970."""
    if not any("ratelimit" in name.lower() for name in headers):
        return ()
    now = now or time.time()
    quotas_by_name = {}
    for what in _KINDS:
        for family in _FAMILIES:
            quota = _quota(headers, family, what, now)
            if quota:
                quotas_by_name[what] = quota
    if "requests" not in quotas_by_name and (plain := _quota(headers, _PLAIN, "requests", now)):
        quotas_by_name["requests"] = plain
    return tuple(quotas_by_name.values())


def _quota(headers: Mapping[str, str], family: str, what: str, now: float) -> Quota | None:
    texts = [_get(headers, family.format(what=what, part=part)) for part in ("limit", "remaining", "reset")]
    if not all(texts):
        return None
    limit, remaining, reset = _amount(texts[0]), _amount(texts[1]), seconds_until(texts[2], now)
    if limit is None or remaining is None or reset is None or not limit > 0 or remaining > limit:
        return None
    return Quota(what, limit, remaining, reset)


def _get(headers: Mapping[str, str], name: str) -> str:
    """Return a header's text, ignoring case, which not every mapping does."""
    value = headers.get(name) or headers.get(name.title()) or ""
    return value.strip() if len(value) <= LONGEST else ""


def _amount(text: str) -> float | None:
    """Parse a count; None if invalid."""
    if not _NUMBER.fullmatch(text):
        return None
    return value if (value := float(text)) <= LARGEST else None


def seconds_until(text: str, now: float) -> float | None:
    """Return the seconds until a reset given as `6m0s`, `20ms`, `12.5`, a time since 1970 (s or ms), or in RFC 3339."""
    if _NUMBER.fullmatch(text):
        value = float(text)
        for unit in (1.0, 1000.0):
            if abs(value / unit - now) < DAY:
                return max(0.0, value / unit - now)
        return value if value <= DAY else None
    parts = _DURATION.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        value = sum(float(number) * _UNITS[unit] for number, unit in parts)
        return value if value <= DAY else None
    try:
        moment = datetime.fromisoformat(text)
        value = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now
    except (ValueError, OverflowError):
        return None
    return max(0.0, value) if value <= DAY else None


def of_status(
    status: int,
    message: str,
    secrecy: Secrecy,
    headers: Mapping[str, str],
    after: float | None = None,
    *,
    fatal: bool = False,
) -> ModelError:
    """Return the error for an HTTP status; `fatal`: if the API states that; `after`: the API's own time to wait."""
    if 300 <= status < 400 and (target := headers.get("Location")):
        message += f"; it redirects to {secrecy.in_error(one_line(target, 200))!r}, which is not followed"
    auth = status in (401, 403)
    fatal = fatal or auth or status == 402
    return ModelError(
        "auth" if auth else "status",
        message + (secrecy.sent if auth else ""),
        retry=not fatal and (status in (408, 409, 425, 429) or (status >= 500 and status != 501)),
        retry_after=retry_after(headers) if after is None else after,
        overload=status in (429, 503, 529),
        fatal=fatal,
        lasting=status in (404, 405) or 300 <= status < 400,
    )
