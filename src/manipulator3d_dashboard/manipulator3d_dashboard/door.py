# SPDX-License-Identifier: Apache-2.0
"""Who may come in: decides on every request to the page before viser sees it."""

import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

SHORTEST_TOKEN = 16
_LOOPBACK_NAMES = ("localhost",)


@dataclass(frozen=True)
class Refusal:
    """A request that is turned away: HTTP status and the reason in a sentence."""

    status: int
    reason: str


@dataclass(frozen=True)
class Welcome:
    """A request that showed the token in its address: it gets a cookie and is sent to `location`."""

    cookie: str
    location: str


class Door:
    """Checks Host, Origin and token of each request.

    A page of this computer alone answers only to this computer's names, so that no web site can reach it through a
    name of its own that points here. A page with a token asks for it once and then knows the browser by a cookie. Who
    shows the spectators' token comes in as well, but may only watch.

    Args:
        host: address the page is served on.
        port: port the page is served on; names the cookie, since cookies do not tell ports apart.
        token: secret, empty for none.
        spectator_token: secret of those who only watch, empty for none.

    Raises:
        ValueError: the address can be reached by other computers and there is no token, or a token is of no use.
    """

    def __init__(self, host: str, port: int, token: str = "", spectator_token: str = "") -> None:
        self._token = token
        self._spectator_token = spectator_token
        self._cookie_name = f"manipulator3d_{port}"
        self._local_only = is_loopback(host)
        self._names = {*_LOOPBACK_NAMES, host.lower()}
        if not self._local_only and not token:
            raise ValueError(
                f"parameter host: {host or 'every address'} can be reached by other computers, and no token is set; "
                "set parameter token, or leave host at 127.0.0.1"
            )
        for name, secret in (("token", token), ("spectator_token", spectator_token)):
            _check_secret(name, secret)
        if spectator_token and not token:
            raise ValueError(
                "parameter spectator_token: without a token everybody may steer; set parameter token as well"
            )
        if token and spectator_token == token:
            raise ValueError("parameter spectator_token: it is the same as token; set another")

    def judge(self, path: str, headers: Mapping[str, str]) -> Refusal | Welcome | None:
        """Decide on a request; None lets it pass.

        Args:
            path: target of the request with its query.
            headers: by lower-case name.
        """
        host = headers.get("host", "")
        if self._local_only and not self._is_own_name(host):
            return Refusal(403, f"Host {host or '(none)'} is not this computer; open the page as http://127.0.0.1")
        origin = headers.get("origin")
        is_websocket = headers.get("upgrade", "").lower() == "websocket"
        if origin is None and is_websocket:
            return Refusal(403, "Origin is missing; open the page in a browser")
        if origin is not None and not _is_same_site(origin, host):
            return Refusal(403, f"Origin {origin} is not this page; open http://{host} itself")
        if not self._token:
            return None
        parts = urlsplit(path)
        given = "" if is_websocket else parse_qs(parts.query).get("token", [""])[0]
        if given and self._knows(given):
            # before the cookie, so that a spectator's browser can become an operator's and the other way round
            cookie = f"{self._cookie_name}={given}; Path=/; HttpOnly; SameSite=Lax"
            return Welcome(cookie, "/?darkMode" if "darkMode" in parts.query else "/")
        if self._knows(_cookie(headers.get("cookie", ""), self._cookie_name)):
            return None
        return Refusal(401, "the token is missing or wrong; open http://HOST:PORT/?token=TOKEN")

    def may_steer(self, headers: Mapping[str, str]) -> bool:
        """Whether a request that was let in comes from someone who may do more than watch."""
        if not self._token:
            return True
        return _same(_cookie(headers.get("cookie", ""), self._cookie_name), self._token)

    def _knows(self, given: str) -> bool:
        return _same(given, self._token) or (bool(self._spectator_token) and _same(given, self._spectator_token))

    def _is_own_name(self, host: str) -> bool:
        name = _host_name(host)
        return name in self._names or is_loopback(name)


def _check_secret(name: str, secret: str) -> None:
    if not secret:
        return
    if len(secret) < SHORTEST_TOKEN:
        raise ValueError(
            f"parameter {name}: {len(secret)} characters are too few; at least {SHORTEST_TOKEN}, for instance from "
            "python3 -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    if not (secret.isascii() and secret.replace("-", "").replace("_", "").isalnum()):
        raise ValueError(f"parameter {name}: only letters, digits, - and _ are allowed; it stands in an address")


def _same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode(), secret.encode())


def page_headers(host: str) -> dict[str, str]:
    """Headers of every answer: the page may load from and talk to its own address alone, in no other site's frame."""
    own = f"'self' ws://{host} wss://{host} data: blob:"
    return {
        "Content-Security-Policy": (
            f"default-src 'self' data: blob:; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; "
            f"style-src 'self' 'unsafe-inline'; connect-src {own}; worker-src 'self' blob: data:; "
            "frame-ancestors 'none'; form-action 'none'; base-uri 'none'"
        ),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",
    }


def is_loopback(host: str) -> bool:
    """Whether an address or name is this computer's own and cannot be reached from another one."""
    if host.lower() in _LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_same_site(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return bool(host) and parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _cookie(header: str, name: str) -> str:
    for part in header.split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            return value
    return ""
