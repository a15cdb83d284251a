"""Small trained runs, a server over them, and server processes."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

import seqloom
from seqloom.recipe import Recipe
from seqloom.server.app import make_app
from seqloom.server.options import Limits, ServerSettings

from ..conftest import write_data

SMALL = {"embedding_size": 8, "hidden_size": 8}
RUNS = {
    "counts": ("language", "text.txt", "ngram", {"order": 3}),
    "attentive": ("translate", "pairs.tsv", "encoder-decoder", {**SMALL, "attention_width": 8}),
    "tagger": ("tag", "tags.conll", "recurrent", SMALL),
    "judge": ("classify", "labels.csv", "recurrent", SMALL),
    "player": ("music", "pieces.json", "recurrent", SMALL),
    "ahead": ("forecast", "series.csv", "autoregressive", {}),
    "writer": ("language", "text.txt", "recurrent", SMALL),
}
BASE = "http://127.0.0.1:8000"


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, files: Path) -> Path:
    """The folder of the runs; tests must not change what is in it."""
    folder = tmp_path_factory.mktemp("trained") / "runs"
    for name, (task, file, model, settings) in RUNS.items():
        recipe = Recipe(
            data={"train": str(files / file), "test_fraction": 0.2},
            task={"name": task},
            model={"name": model, **settings},
            training={"epochs": 2, "batch_size": 16, "learning_rate": 0.02},
        )
        seqloom.train(recipe, name=name, runs=folder)
    return folder


@pytest.fixture
def runs(tmp_path: Path, trained: Path) -> Path:
    """A copy of the runs that a test may change."""
    return Path(shutil.copytree(trained, tmp_path / "runs"))


@pytest.fixture(scope="session")
def web(trained: Path) -> Iterator[httpx.Client]:
    """The web API over the runs that stay as they are."""
    with client(trained) as found:
        yield found


@contextmanager
def client(runs: Path, limits: Limits | None = None, **more: object) -> Iterator[httpx.Client]:
    """The web API in this process."""
    from starlette.testclient import TestClient

    settings = ServerSettings(runs=runs, limits=limits or Limits(), **more)
    app, _ = make_app(settings)
    with TestClient(app, base_url=BASE, raise_server_exceptions=False) as found:
        yield found


@dataclass
class Server:
    """A studio in a process of its own."""

    process: subprocess.Popen
    address: str
    token: str = ""

    def get(self, path: str, **more: object) -> httpx.Response:
        return httpx.get(f"{self.address}{path}", timeout=30, **more)

    def post(self, path: str, body: object, **more: object) -> httpx.Response:
        return httpx.post(f"{self.address}{path}", json=body, timeout=60, **more)

    def stop(self) -> tuple[int, str]:
        """End it with Ctrl-C; its exit code, and what it had to say."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=20)
        return self.process.returncode, said


@contextmanager
def serving(runs: Path, *options: str, port: int = 0) -> Iterator[Server]:
    """A real server, until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "seqloom", "studio", "--port", str(port), "--no-browser"]
        + ["--runs", str(runs), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        line = process.stdout.readline()
        assert "Studio at http://" in line, line + process.stderr.read()
        address, _, query = line.split("Studio at ")[1].split()[0].partition("/?token=")
        yield Server(process, address.rstrip("/"), query)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server process that many tests share; each has runs of its own names in it."""
    runs = tmp_path_factory.mktemp("served") / "runs"
    with serving(runs) as found:
        found.runs = runs
        yield found


class Pretended:
    """A training that a test plays: it holds the lock of a folder and writes events when told."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._lock = folder, (folder / "lock").open("w")
        recipe = Recipe(
            data={"train": "text.txt"}, task={"name": "language"}, model={"name": "ngram"}
        )
        (folder / "recipe.toml").write_text(recipe.checked().to_toml())

    def begin(self) -> "Pretended":
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._lock.truncate(0)
        self._lock.write(str(os.getpid()))
        self._lock.flush()
        return self

    def write(self, text: str) -> None:
        with (self.folder / "events.jsonl").open("a") as file:
            file.write(text)

    def tell(self, kind: str, step: int, **values: object) -> None:
        self.write(json.dumps({"t": time.time(), "kind": kind, "step": step, **values}) + "\n")

    def vanish(self) -> None:
        """As if it were killed."""
        fcntl.flock(self._lock, fcntl.LOCK_UN)


@pytest.fixture
def pretend() -> Iterator[Callable[[Path], Pretended]]:
    made: list[Pretended] = []

    def begun(folder: Path) -> Pretended:
        made.append(Pretended(folder).begin())
        return made[-1]

    yield begun
    for one in made:
        one._lock.close()


def until(ask: Callable[[], object], seconds: float = 30.0) -> object:
    """What is asked for, as soon as there is any."""
    end = time.monotonic() + seconds
    while not (found := ask()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)
    return found
