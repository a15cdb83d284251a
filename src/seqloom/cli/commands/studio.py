"""seqloom studio: the web interface and the web API, on this computer."""

import argparse
import os
import re
import secrets
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import StudioError
from ...runs.record import to_json
from ...runs.run import run_folders
from ..terminal import plural, say, show

if TYPE_CHECKING:
    from ...server.options import ServerSettings
    from ...server.state import Studio

AUTO = "auto"
MIN_TOKEN = 16  # characters, where others can try tokens: 95 bits if they are random


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "--port", type=int, default=8000, metavar="N", help="port (8000); 0 takes a free one"
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen on (127.0.0.1); others than this computer need --token",
    )
    parser.add_argument(
        "--token", default="", metavar="TEXT", help="access token; auto generates one"
    )
    parser.add_argument(
        "--allowed-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a further host name of this computer; may be repeated",
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.add_argument(
        "--runs",
        dest="runs_dir",
        type=Path,
        metavar="DIR",
        default=argparse.SUPPRESS,
        help="the same as --runs-dir",
    )


def run(args: argparse.Namespace) -> int:
    """Run the server until Ctrl-C."""
    from ...server.app import listen, serve
    from ...server.options import ServerSettings
    from ...server.security import is_loopback

    token = secrets.token_urlsafe(18) if args.token == AUTO else args.token
    if not is_loopback(args.host) and not token:
        raise StudioError(
            "S210",
            f"refusing to listen on {args.host} without a token",
            notes=["Anyone on the network could use your models and read your data."],
            help=[f"seqloom studio --host {args.host} --token auto"],
        )
    _check_token(token, is_loopback(args.host))
    run_folders(args.runs_dir)  # an error if it is a file
    with listen(args.host, args.port) as listener:
        settings = ServerSettings(
            runs=args.runs_dir,
            host=args.host,
            port=listener.getsockname()[1],
            token=token,
            hosts=tuple(args.allowed_host),
        )
        studio = serve(settings, listener, lambda ready: _welcome(settings, ready, args))
    if not args.quiet:
        _say_left(studio)
    return 0


def _welcome(settings: "ServerSettings", studio: "Studio", args: argparse.Namespace) -> None:
    """Print the address and the number of runs, and open a browser."""
    address = _address(settings)
    if args.json:
        show(to_json({"address": address, "runs_dir": str(settings.runs), "token": settings.token}))
    elif args.quiet:
        show(address)
    else:
        for line in _lines(address, settings, studio):
            show(line)
    sys.stdout.flush()
    if not args.no_browser and _has_screen():
        threading.Thread(target=_open, args=(address,), daemon=True).start()


def _lines(address: str, settings: "ServerSettings", studio: "Studio") -> list[str]:
    from ...server.security import is_loopback

    who = "this computer only" if is_loopback(settings.host) else "from anywhere, with the token"
    rows = studio.run_store.rows()
    models = sum(row["has_weights"] for row in rows)
    under_way = sum(row["state"] in ("running", "waiting") for row in rows)
    summary = f"{plural(models, 'model')}, {plural(under_way, 'training')} running."
    if not rows:
        summary = f"No runs in {settings.runs} yet: train one on the first page."
    return [f"Studio at {address}   ({who} · Ctrl-C to stop)", summary]


def _address(settings: "ServerSettings") -> str:
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::") else settings.host
    host = f"[{host}]" if ":" in host else host
    token = f"?token={settings.token}" if settings.token else ""
    return f"http://{host}:{settings.port}/{token}"


def _say_left(studio: "Studio") -> None:
    """Print the trainings that continue without the server."""
    rows = studio.run_store.rows()
    running = [row["id"] for row in rows if row["state"] in ("running", "waiting")]
    if running:
        continues = "continues" if len(running) == 1 else "continue"
        trainings = f"{plural(len(running), 'training')} {continues}: {', '.join(running)}"
        say(f"Stopped. {trainings}. Start the studio again to see them.")
    else:
        say("Stopped.")


def _check_token(token: str, is_loopback: bool) -> None:
    """Refuse a token that can be guessed, where others can reach the studio, or not be a cookie."""
    if not token:
        return
    problem = ""
    if not re.fullmatch(r"[\w.~-]+", token, re.ASCII):
        problem = "has characters other than letters, digits and . _ ~ -"
    elif not is_loopback and len(token) < MIN_TOKEN:
        problem = f"has {plural(len(token), 'character')}; at least {MIN_TOKEN} are needed"
    if problem:
        raise StudioError("S216", f"the token {problem}", help=["--token auto   generates one"])


def _has_screen() -> bool:
    """Whether a browser can be opened; without a display it would open in the terminal."""
    if sys.platform.startswith("linux"):
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return True


def _open(address: str) -> None:
    import webbrowser

    webbrowser.open(address)
