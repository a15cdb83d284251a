"""seqloom studio: the pages and the web API, on this computer."""

import argparse
import os
import secrets
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import StudioError
from ...runs.record import to_json
from ..terminal import say, several, show

if TYPE_CHECKING:
    from ...server.options import Settings
    from ...server.state import Studio

AUTO = "auto"


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "--port", type=int, default=8000, metavar="N", help="8000 if left out; 0 takes a free one"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="beyond this computer: needs --token"
    )
    parser.add_argument(
        "--token", default="", metavar="TEXT", help="who knows it may come in; auto makes one"
    )
    parser.add_argument(
        "--allowed-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a further name of this computer; may be repeated",
    )
    parser.add_argument("--no-browser", action="store_true", help="open no page")
    parser.add_argument(
        "--runs",
        dest="runs_dir",
        type=Path,
        metavar="DIR",
        default=argparse.SUPPRESS,
        help="the same as --runs-dir",
    )


def run(given: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    from ...server.app import listen, serve
    from ...server.options import Settings
    from ...server.security import is_loopback

    token = secrets.token_urlsafe(18) if given.token == AUTO else given.token
    if not is_loopback(given.host) and not token:
        raise StudioError(
            "S210",
            f"refusing to listen on {given.host} without a token",
            notes=["Anyone on the network could use your models and read your data."],
            help=[f"seqloom studio --host {given.host} --token auto"],
        )
    with listen(given.host, given.port) as listener:
        settings = Settings(
            runs=given.runs_dir,
            host=given.host,
            port=listener.getsockname()[1],
            token=token,
            hosts=tuple(given.allowed_host),
        )
        studio = serve(settings, listener, lambda ready: _welcome(settings, ready, given))
    if not given.quiet:
        _say_left(studio)
    return 0


def _welcome(settings: "Settings", studio: "Studio", given: argparse.Namespace) -> None:
    """Say where it is and what was found, and open a page."""
    address = _address(settings)
    if given.json:
        show(to_json({"address": address, "runs_dir": str(settings.runs), "token": settings.token}))
    elif given.quiet:
        show(address)
    else:
        for line in _lines(address, settings, studio):
            show(line)
    sys.stdout.flush()
    if not given.no_browser and _has_screen():
        threading.Thread(target=_open, args=(address,), daemon=True).start()


def _lines(address: str, settings: "Settings", studio: "Studio") -> list[str]:
    from ...server.security import is_loopback

    who = "this computer only" if is_loopback(settings.host) else "with its token, from anywhere"
    rows = studio.shelf.rows()
    models = sum(row["has_weights"] for row in rows)
    under_way = sum(row["state"] in ("running", "waiting") for row in rows)
    found = f"{several(models, 'model')}, {several(under_way, 'training')} running."
    if not rows:
        found = f"No runs in {settings.runs} yet: the first page helps to train one."
    return [f"Studio at {address}   ({who} · Ctrl-C to stop)", found]


def _address(settings: "Settings") -> str:
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::") else settings.host
    host = f"[{host}]" if ":" in host else host
    token = f"?token={settings.token}" if settings.token else ""
    return f"http://{host}:{settings.port}/{token}"


def _say_left(studio: "Studio") -> None:
    """What goes on without the server."""
    rows = studio.shelf.rows()
    running = [row["id"] for row in rows if row["state"] in ("running", "waiting")]
    if running:
        are = "goes" if len(running) == 1 else "go"
        told = f"{several(len(running), 'training')} {are} on: {', '.join(running)}"
        say(f"Stopped. {told}. Start the studio again to see them.")
    else:
        say("Stopped.")


def _has_screen() -> bool:
    """Whether a page can be opened; without a screen a browser would take over the terminal."""
    if sys.platform.startswith("linux"):
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return True


def _open(address: str) -> None:
    import webbrowser

    webbrowser.open(address)
