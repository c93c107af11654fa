"""Guard of all pages: checks hosts, tokens, origins and sizes of requests, and sets security headers.

A server stores no secrets. A session is a random cookie, and the token in its forms is a hash of it: a page that was
open when the server was killed can still be posted after a restart. The cookies of a host are shared by all its ports,
so on a machine with other users set a token, and note that other servers there get the cookies.
"""

from __future__ import annotations

import hashlib
import hmac
import html
import ipaddress
import re
from collections.abc import Collection, Mapping
from urllib.parse import parse_qsl, urlencode

from msgspec import Struct
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from viva.errors import VivaError

HEADERS_LIMIT = 32_768
"""The most bytes of all request headers."""
QUERY_LIMIT = 4_096
BODY_LIMIT = 1_048_576
"""The most bytes of a posted form."""
SHORTEST_TOKEN = 16
COOKIE_SECONDS = 90 * 24 * 3600
_METHODS = {"GET", "HEAD", "POST"}
_SESSION = re.compile(r"[0-9a-f]{32}\Z")
_NAMED = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?\Z")
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; {asking}form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_RESPONSE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: under it, browsers post `Origin: null`, and the origin of a form could not be checked. URLs are
    # still sent to no other origin.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cache-Control": "no-store",
}


class Access(Struct, frozen=True, kw_only=True):
    """Access rules. `host`: the address that the server is bound to; `names`: its other host names; `token`: "" for
    none.

    `port` distinguishes the cookies of two servers on one host. `people`: personal token → name of its holder, which
    forms cannot change.
    """

    host: str = "127.0.0.1"
    port: int = 0
    token: str = ""
    names: Collection[str] = ()
    people: Mapping[str, str] = {}

    def __post_init__(self) -> None:
        if any(len(token) < SHORTEST_TOKEN for token in self.tokens):
            raise VivaError(
                f"the token is too short: give at least {SHORTEST_TOKEN} characters, or none to have one made"
            )
        if not self.tokens and not is_loopback(self.host):
            raise VivaError(
                f"whoever reaches {self.host} could read and mark: a token is needed for any host but 127.0.0.1"
            )

    def cookie(self, name: str) -> str:
        """Return the name of this server's cookie for a purpose."""
        return f"viva_{name}_{self.port}"

    @property
    def tokens(self) -> dict[str, str]:
        """Valid token → name of its holder; "" for the shared one."""
        return {**({self.token: ""} if self.token else {}), **self.people}

    def key_of(self, token: str) -> str:
        """Return the cookie's value for a token; "" for an invalid one."""
        given = token.encode("utf-8", "replace")
        known = [
            each_token
            for each_token in self.tokens
            if hmac.compare_digest(given, each_token.encode("utf-8", "replace"))
        ]
        return hmac.new(known[0].encode(), b"viva", hashlib.sha256).hexdigest() if known else ""

    def person(self, cookies: Mapping[str, str]) -> str | None:
        """Return the holder of the token in a request's cookies ("" for the shared one); None without a valid one."""
        given = cookies.get(self.cookie("key"), "").encode("utf-8", "replace")
        names = [name for token, name in self.tokens.items() if hmac.compare_digest(given, self.key_of(token).encode())]
        return names[0] if names else None

    def knows(self, host: str) -> bool:
        """Return whether a Host header names this server. A rebound DNS name is a name; an address cannot be
        rebound.
        """
        match = _NAMED.match(host)
        if not match:
            return False
        name = match["name"].strip("[]").lower()
        if name in {"localhost", "127.0.0.1", "::1", self.host.lower(), *(known.lower() for known in self.names)}:
            return True
        return not is_loopback(self.host) and _is_address(name)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach `host`."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def form_token(session: str) -> str:
    """Return the token in the forms of a session."""
    return hashlib.blake2b(session.encode(), digest_size=16, person=b"viva form").hexdigest()


def is_form_token(session: str, token: str) -> bool:
    """Return whether a form belongs to this session; in constant time."""
    return bool(session) and hmac.compare_digest(form_token(session).encode(), token.encode("utf-8", "replace"))


def session_of(cookies: dict[str, str], name: str) -> str:
    """Return the session of a request; "" if there is none."""
    cookie = cookies.get(name, "")
    return cookie if _SESSION.match(cookie) else ""


def set_cookie(response: Response, name: str, value: str) -> None:
    """Set a cookie that scripts cannot read and that other sites' requests do not carry."""
    response.set_cookie(name, value, max_age=COOKIE_SECONDS, path="/", httponly=True, samesite="strict")


class Guard:
    """ASGI middleware that refuses requests before they reach the pages, and sets the headers of every response."""

    def __init__(self, app: ASGIApp, access: Access, *, asking: bool = False) -> None:
        """Wrap an application; with `asking` a page's script may send requests to this server."""
        self._app = app
        self._access = access
        policy = _POLICY.format(asking="connect-src 'self'; " if asking else "")
        self._headers = {"Content-Security-Policy": policy, **_RESPONSE_HEADERS}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers[name] = value
            await send(message)

        answer = self._refusal(scope)
        await (answer or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if sum(len(name) + len(value) for name, value in scope["headers"]) > HEADERS_LIMIT:
            return _no(
                431, "The headers of this request are too large. Delete the cookies of this host, then try again."
            )
        if len(scope["query_string"]) > QUERY_LIMIT:
            return _no(414, "This address is too long.")
        if scope["method"] not in _METHODS:
            return _no(405, "There are GET, HEAD and POST here.", {"Allow": "GET, HEAD, POST"})
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._access.knows(hosts[0]):
            return _no(421, "This server has another name: use the address that Viva printed.")
        return self._stranger(scope, headers) or self._tokenless(scope, headers)

    def _stranger(self, scope: Scope, headers: Headers) -> Response | None:
        """Return a refusal of a cross-site request, or for a link from another site a page with a link; None if
        allowed.
        """
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if scope["method"] == "POST":
            foreign = site not in (None, "same-origin", "none")
            foreign = foreign or (origin is not None and origin.partition("://")[2] != headers["host"])
            return _no(403, "This form was sent by another site; nothing was saved.") if foreign else None
        if site == "cross-site":
            if headers.get("sec-fetch-mode") not in (None, "navigate") or headers.get("sec-fetch-dest") == "iframe":
                return _no(403, "This page cannot be part of another site.")
            # Links from other sites do not carry our cookies; the link on this page does.
            return self._entrance(scope)
        return None

    def _entrance(self, scope: Scope) -> Response:
        """Return a page with a link to continue, and the cookie if the URL has the right token."""
        rest, token = _without_token(scope)
        rest = html.escape(rest)
        body = (
            '<!doctype html><html lang="en"><title>Viva</title>'
            '<meta name="viewport" content="width=device-width">'
            f'<meta http-equiv="refresh" content="0;url={rest}"><p><a href="{rest}">Go on</a></p></html>'
        )
        response = HTMLResponse(body)
        if token is not None and (key := self._access.key_of(token)):
            set_cookie(response, self._access.cookie("key"), key)
        return response

    def _tokenless(self, scope: Scope, headers: Headers) -> Response | None:
        """Return a refusal without a valid token, or for a URL with it a redirect without it and the cookie; None if
        allowed.
        """
        rest, token = _without_token(scope)
        if not self._access.tokens:
            return RedirectResponse(rest, 303) if token is not None and scope["method"] != "POST" else None
        cookies = cookie_parser(headers.get("cookie", ""))
        if token is not None and scope["method"] != "POST" and (key := self._access.key_of(token)):
            answer = RedirectResponse(rest, 303)
            set_cookie(answer, self._access.cookie("key"), key)
            return answer
        if self._access.person(cookies) is not None:
            return None
        return _no(401, "This page needs its token: open the whole link that Viva printed or that you were sent.")


def _without_token(scope: Scope) -> tuple[str, str | None]:
    """Return the URL without its token, safe in a header, and the token."""
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, errors="replace")
    token = next((value for name, value in pairs if name == "token"), None)
    rest = urlencode([(name, value) for name, value in pairs if name != "token"], errors="replace")
    path = re.sub(r"[^A-Za-z0-9/._-]", "", scope["path"])
    path = "/" + path.lstrip("/")  # `//host` would be another site
    return (f"{path}?{rest}" if rest else path), token


def _no(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(sentence + "\n", status, headers=headers)
