"""The door of the server: who may come in, and what every answer carries.

It is plain ASGI around everything, so that streams, pages, files and addresses that do not exist
are guarded alike. The path is taken from the scope, as a browser or a proxy may lie in the URL.
"""

import hmac
import ipaddress
import re
import secrets
import time
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import StudioError
from .limits import Incoming
from .options import Settings
from .problems import answer, bug, is_reported, respond
from .request_log import Notebook

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
COOKIE = "seqloom_token"
READING = ("GET", "HEAD", "OPTIONS")
KINDS = ("application/json", "application/octet-stream")
UPLOAD = "/api/v1/datasets"
SLOW = 408
OPEN = ("/healthz",)  # without a token: a machine asks this
TOKEN_PAGE = Path(__file__).parents[1] / "studio" / "token.html"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
        "object-src 'none'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """Checks every request before anything else sees it, and answers for bugs behind it."""

    def __init__(self, app: ASGIApp, settings: Settings, notebook: Notebook) -> None:
        self.app, self.settings, self.notebook = app, settings, notebook
        self._hosts = _hosts(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = _Request(scope)
        answered, incoming = _Answer(send, request, self.notebook), Incoming(receive)
        try:
            redirect = self._checked(request)
            if redirect is not None:
                await answered.send_redirect(*redirect)
                return
            await self.app(scope, incoming, answered)
        except StudioError as refused:
            asks = refused.status == 401 and request.wants_page()
            response = HTMLResponse(TOKEN_PAGE.read_text(), 401) if asks else answer(refused)
            if refused.status == 401:
                response.headers["WWW-Authenticate"] = "Bearer"
            response.headers["Connection"] = "close"
            if request.method not in READING and refused.status != SLOW:
                await incoming.drain()  # else the answer could be lost with what was not read
            await response(scope, receive, answered)
        except Exception as error:
            problem = None if is_reported(error) else bug(error, request.path)
            if problem is not None and not answered.has_begun:
                await respond(problem)(scope, receive, answered)
        finally:
            answered.note()

    def _checked(self, request: "_Request") -> tuple[str, str] | None:
        """Raise what is wrong; or where to go instead, with the cookie to set."""
        if not self._is_own(request.host):
            raise StudioError(
                "S220",
                f"this server does not go by the name {request.host[:80]!r}",
                status=421,
                notes=["A page of another site may be behind this request."],
                help=[
                    "open http://127.0.0.1 with its port",
                    "--allowed-host NAME   if it is yours",
                ],
            )
        redirect = self._token(request)
        if request.method not in READING:
            _same_origin(request)
            _kind(request)
        return redirect

    def _is_own(self, host: str) -> bool:
        name = _without_port(host)
        if name in self._hosts:
            return True
        # Beyond loopback there is a token, and a number cannot be bent to another site.
        return bool(self.settings.token) and self._is_open and _is_number(name)

    @property
    def _is_open(self) -> bool:
        return not is_loopback(self.settings.host)

    def _token(self, request: "_Request") -> tuple[str, str] | None:
        wanted = self.settings.token
        if not wanted or request.path in OPEN:
            return None
        given = request.query.get("token", "")
        if given and request.method == "GET" and _equal(given, wanted):
            rest = {name: value for name, value in request.query.items() if name != "token"}
            query = f"?{urlencode(rest)}" if rest else ""
            # One slash: two would lead to another site.
            return f"/{request.quoted.lstrip(chr(47))}{query}", f"{COOKIE}={wanted}"
        kind, _, bearer = request.header("authorization").partition(" ")
        by_header = kind.lower() == "bearer" and _equal(bearer.strip(), wanted)
        if by_header or _equal(request.cookie(COOKIE), wanted):
            return None
        raise StudioError(
            "S223",
            "this studio needs its token",
            status=401,
            help=[
                "open the address that seqloom studio has printed",
                "programs send the header  Authorization: Bearer TOKEN",
            ],
        )


class _Request:
    """What the guard looks at."""

    def __init__(self, scope: Scope) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.quoted = scope.get("raw_path", b"/").decode("latin-1").partition("?")[0]
        self.scheme: str = scope.get("scheme", "http")
        self._headers: list[tuple[bytes, bytes]] = scope["headers"]
        self.id = _id(self.header("x-request-id"))
        query = scope.get("query_string", b"").decode("latin-1")
        self.query = dict(parse_qsl(query, keep_blank_values=True)) if "token" in query else {}

    @property
    def host(self) -> str:
        """The one Host header; two of them are none."""
        found = [value for name, value in self._headers if name == b"host"]
        return found[0].decode("latin-1") if len(found) == 1 else ""

    def header(self, name: str) -> str:
        """A header, or nothing."""
        wanted = name.encode()
        return next((v.decode("latin-1") for key, v in self._headers if key == wanted), "")

    def wants_page(self) -> bool:
        """Whether a person asks, by typing an address or following a link."""
        return self.method == "GET" and "text/html" in self.header("accept")

    def cookie(self, name: str) -> str:
        """A cookie, or nothing."""
        try:
            found = SimpleCookie(self.header("cookie")).get(name)
        except CookieError:
            return ""
        return found.value if found else ""


class _Answer:
    """Sends, with the headers that every answer has, and notes what came of the request."""

    def __init__(self, send: Send, request: _Request, notebook: Notebook) -> None:
        self._send, self._request, self._notebook = send, request, notebook
        self._began, self.has_begun, self.status = time.monotonic(), False, 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun, self.status = True, message["status"]
            own = {**HEADERS, "X-Request-ID": self._request.id}
            names = {name.encode().lower() for name in own}
            kept = [pair for pair in message["headers"] if pair[0].lower() not in names]
            more = [(name.lower().encode(), value.encode()) for name, value in own.items()]
            message = {**message, "headers": [*kept, *more]}
        await self._send(message)

    async def send_redirect(self, place: str, cookie: str) -> None:
        """Go on without the token in the address, which others could read there."""
        headers = [
            (b"location", place.encode("latin-1")),
            (b"set-cookie", f"{cookie}; HttpOnly; SameSite=Strict; Path=/".encode()),
            (b"cache-control", b"no-store"),
            (b"content-length", b"0"),
        ]
        await self({"type": "http.response.start", "status": 303, "headers": headers})
        await self({"type": "http.response.body", "body": b""})

    def note(self) -> None:
        """Write down the request once it is over."""
        spent = 1000 * (time.monotonic() - self._began)
        self._notebook.note(self._request.method, self._request.path, self.status, spent)


def is_loopback(host: str) -> bool:
    """Whether only this computer can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _hosts(settings: Settings) -> set[str]:
    names = {*LOOPBACK, *(_without_port(host) for host in settings.hosts)}
    bound = settings.host.lower()
    return names | {f"[{bound}]" if ":" in bound else bound}


def _without_port(host: str) -> str:
    return re.sub(r":\d{1,5}$", "", host.lower()) if not host.endswith("]") else host.lower()


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _same_origin(request: _Request) -> None:
    """What changes something must come from our own pages, or from no page at all."""
    origin, site = request.header("origin"), request.header("sec-fetch-site")
    right = not origin or _origin(origin) == f"{request.scheme}://{request.host.lower()}"
    if not right or site not in ("", "same-origin", "none"):
        raise StudioError(
            "S221",
            f"a page of {origin[:80] or 'another site'!r} may not ask for this",
            status=403,
            help=["use the studio's own pages, or a program that is no browser"],
        )


def _origin(text: str) -> str:
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _kind(request: _Request) -> None:
    """A body is JSON, or the bytes of an upload: forms of other sites can send neither."""
    kind = request.header("content-type").partition(";")[0].strip().lower()
    length = request.header("content-length")
    is_empty = length in ("", "0") and not request.header("transfer-encoding")
    if is_empty and not kind and request.method == "DELETE":
        return
    allowed = KINDS if request.path == UPLOAD else KINDS[:1]
    if kind not in allowed:
        raise StudioError(
            "S222",
            f"a body of {kind[:80] or 'no type'!r} is not taken here",
            status=415,
            help=[f"send it as Content-Type: {' or '.join(allowed)}"],
        )


def _id(given: str) -> str:
    """The id of a request: the caller's, where it is a plain one."""
    return given if re.fullmatch(r"[\w.-]{1,64}", given, re.ASCII) else secrets.token_hex(8)


def _equal(given: str, wanted: str) -> bool:
    """Compared in a time that tells nothing."""
    return hmac.compare_digest(given.encode(), wanted.encode())
