"""Security middleware: Host check (DNS rebinding), same-origin check (CSRF), token, headers.

It is plain ASGI around the whole application, so that streams, pages, static files and unknown
paths are protected alike. The path is taken from the ASGI scope, never from a URL in the request.
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
from .limits import RequestBodyReader
from .options import ServerSettings
from .problems import error_response, internal_error, is_reported, problem_response
from .request_log import RequestLog

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
COOKIE = "seqloom_token"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
CONTENT_TYPES = ("application/json", "application/octet-stream")
UPLOAD_PATH = "/api/v1/datasets"
REQUEST_TIMEOUT = 408
PUBLIC_PATHS = ("/healthz",)  # without a token, for health checks
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


class SecurityMiddleware:
    """ASGI middleware: checks each request first, and turns exceptions into problem details."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, request_log: RequestLog) -> None:
        self.app, self.settings, self.request_log = app, settings, request_log
        self._hosts = _allowed_hosts(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = _RequestInfo(scope)
        sender, reader = _LoggedSend(send, request, self.request_log), RequestBodyReader(receive)
        try:
            redirect = self._check(request)
            if redirect is not None:
                await sender.send_redirect(*redirect)
                return
            await self.app(scope, reader, sender)
        except StudioError as refused:
            is_form = refused.status == 401 and request.accepts_html()
            page = HTMLResponse(TOKEN_PAGE.read_text(), 401) if is_form else None
            response = page or error_response(refused)
            if refused.status == 401:
                response.headers["WWW-Authenticate"] = "Bearer"
            response.headers["Connection"] = "close"
            if request.method not in SAFE_METHODS and refused.status != REQUEST_TIMEOUT:
                # Closing a socket with unread data resets it, and the response could be lost.
                await reader.drain()
            await response(scope, receive, sender)
        except Exception as error:
            problem = None if is_reported(error) else internal_error(error, request.path)
            if problem is not None and not sender.has_started:
                await problem_response(problem)(scope, receive, sender)
        finally:
            sender.log()

    def _check(self, request: "_RequestInfo") -> tuple[str, str] | None:
        """Raise if the request is refused; a redirect with a cookie, or None to pass it on."""
        if not self._is_allowed_host(request.host):
            raise StudioError(
                "S220",
                f"host {request.host[:80]!r} is not allowed",
                status=421,
                notes=["A page of another site may be behind this request (DNS rebinding)."],
                help=[
                    "open http://127.0.0.1 with its port",
                    "--allowed-host NAME   if it is a name of this computer",
                ],
            )
        redirect = self._check_token(request)
        if request.method not in SAFE_METHODS:
            _check_same_origin(request)
            _check_content_type(request)
        return redirect

    def _is_allowed_host(self, host: str) -> bool:
        name = _without_port(host)
        if name in self._hosts:
            return True
        # Beyond loopback a token is required, and an IP address cannot be rebound by DNS.
        return bool(self.settings.token) and self._is_public and _is_ip_address(name)

    @property
    def _is_public(self) -> bool:
        return not is_loopback(self.settings.host)

    def _check_token(self, request: "_RequestInfo") -> tuple[str, str] | None:
        expected = self.settings.token
        if not expected or request.path in PUBLIC_PATHS:
            return None
        in_url = request.query.get("token", "")
        if in_url and request.method == "GET" and _equal(in_url, expected):
            rest = {name: value for name, value in request.query.items() if name != "token"}
            query = f"?{urlencode(rest)}" if rest else ""
            # Exactly one slash: "//host" would redirect to another site.
            return f"/{request.quoted_path.lstrip(chr(47))}{query}", f"{COOKIE}={expected}"
        kind, _, bearer = request.header("authorization").partition(" ")
        by_header = kind.lower() == "bearer" and _equal(bearer.strip(), expected)
        if by_header or _equal(request.cookie(COOKIE), expected):
            return None
        raise StudioError(
            "S223",
            "a token is required",
            status=401,
            help=[
                "open the URL that the studio has printed",
                "programs send the header  Authorization: Bearer TOKEN",
            ],
        )


class _RequestInfo:
    """The parts of an ASGI scope that are checked."""

    def __init__(self, scope: Scope) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.quoted_path = scope.get("raw_path", b"/").decode("latin-1").partition("?")[0]
        self.scheme: str = scope.get("scheme", "http")
        self._headers: list[tuple[bytes, bytes]] = scope["headers"]
        self.id = _request_id(self.header("x-request-id"))
        query = scope.get("query_string", b"").decode("latin-1")
        self.query = dict(parse_qsl(query, keep_blank_values=True)) if "token" in query else {}

    @property
    def host(self) -> str:
        """The Host header; empty if there are several, which proxies may read differently."""
        values = [value for name, value in self._headers if name == b"host"]
        return values[0].decode("latin-1") if len(values) == 1 else ""

    def header(self, name: str) -> str:
        """The value of a header, or an empty string."""
        wanted = name.encode()
        return next((v.decode("latin-1") for key, v in self._headers if key == wanted), "")

    def accepts_html(self) -> bool:
        """Whether a browser navigates here: only then is there somebody to type a token."""
        return self.method == "GET" and "text/html" in self.header("accept")

    def cookie(self, name: str) -> str:
        """The value of a cookie, or an empty string."""
        try:
            morsel = SimpleCookie(self.header("cookie")).get(name)
        except CookieError:
            return ""
        return morsel.value if morsel else ""


class _LoggedSend:
    """An ASGI `send` that adds the security headers and logs the request."""

    def __init__(self, send: Send, request: _RequestInfo, request_log: RequestLog) -> None:
        self._send, self._request, self._request_log = send, request, request_log
        self._start, self.has_started, self.status = time.monotonic(), False, 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_started, self.status = True, message["status"]
            own = {**HEADERS, "X-Request-ID": self._request.id}
            names = {name.encode().lower() for name in own}
            kept = [pair for pair in message["headers"] if pair[0].lower() not in names]
            more = [(name.lower().encode(), value.encode()) for name, value in own.items()]
            message = {**message, "headers": [*kept, *more]}
        await self._send(message)

    async def send_redirect(self, location: str, cookie: str) -> None:
        """Redirect to the URL without the token, which stays out of history and Referer so."""
        headers = [
            (b"location", location.encode("latin-1")),
            (b"set-cookie", f"{cookie}; HttpOnly; SameSite=Strict; Path=/".encode()),
            (b"cache-control", b"no-store"),
            (b"content-length", b"0"),
        ]
        await self({"type": "http.response.start", "status": 303, "headers": headers})
        await self({"type": "http.response.body", "body": b""})

    def log(self) -> None:
        """Log the request once it is over."""
        milliseconds = 1000 * (time.monotonic() - self._start)
        self._request_log.add(self._request.method, self._request.path, self.status, milliseconds)


def is_loopback(host: str) -> bool:
    """Whether an address is a loopback address, which only this computer can reach."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _allowed_hosts(settings: ServerSettings) -> set[str]:
    names = {*LOOPBACK, *(_without_port(host) for host in settings.hosts)}
    bound = settings.host.lower()
    return names | {f"[{bound}]" if ":" in bound else bound}


def _without_port(host: str) -> str:
    return re.sub(r":\d{1,5}$", "", host.lower()) if not host.endswith("]") else host.lower()


def _is_ip_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _check_same_origin(request: _RequestInfo) -> None:
    """Refuse cross-origin requests that change something (CSRF); non-browsers send no Origin."""
    origin, site = request.header("origin"), request.header("sec-fetch-site")
    is_same = not origin or _origin(origin) == f"{request.scheme}://{request.host.lower()}"
    if not is_same or site not in ("", "same-origin", "none"):
        raise StudioError(
            "S221",
            f"cross-origin request from {origin[:80] or 'another site'!r} refused",
            status=403,
            help=["use the studio's own pages, or a program that is not a browser"],
        )


def _origin(text: str) -> str:
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _check_content_type(request: _RequestInfo) -> None:
    """Accept JSON, and bytes for uploads: HTML forms of other sites can send neither."""
    kind = request.header("content-type").partition(";")[0].strip().lower()
    length = request.header("content-length")
    is_empty = length in ("", "0") and not request.header("transfer-encoding")
    if is_empty and not kind and request.method == "DELETE":
        return
    allowed = CONTENT_TYPES if request.path == UPLOAD_PATH else CONTENT_TYPES[:1]
    if kind not in allowed:
        raise StudioError(
            "S222",
            f"unsupported content type {kind[:80] or '(none)'!r}",
            status=415,
            help=[f"send it as Content-Type: {' or '.join(allowed)}"],
        )


def _request_id(header: str) -> str:
    """The request id: the client's X-Request-ID if it is a plain one, else a random one."""
    return header if re.fullmatch(r"[\w.-]{1,64}", header, re.ASCII) else secrets.token_hex(8)


def _equal(token: str, expected: str) -> bool:
    """Constant-time comparison, so that timing reveals nothing about the token."""
    return hmac.compare_digest(token.encode(), expected.encode())
