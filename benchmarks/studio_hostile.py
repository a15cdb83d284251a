"""Fuzzing: ten thousand hostile or random requests to a running studio.

Schemathesis generates requests from /openapi.json; the rest is written here: path traversal,
encoded or not, huge and slow bodies, wrong hosts, origins and types, deep JSON, NaN, random bytes,
malformed HTTP. It counts responses by status, and fails on any 5xx, any traceback, any content of a
file outside the runs folder, and any file that was changed there.

    python benchmarks/studio_hostile.py --requests 10000
"""

import argparse
import http.client
import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

import seqloom
from seqloom.recipe import Recipe

CANARY = "canary-7f3a-never-to-be-seen"
LEFT_OUT = "/api/v1/runs/{run}/events"  # never ends; asked by hand
UP = ["../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..%252f", "..\\", "..%5c", "....//", "%c0%ae%c0%ae/"]
NAMES = ["canary.txt", "etc/passwd", "runs/counts/recipe.toml", "", ".studio", "counts/../../x"]
ODD = [
    "%00",
    "%0a",
    "%ff",
    "~",
    "climb~x",
    "a" * 3000,
    "%F0%9F%98%80",
    "con",
    "CON:",
    "${7*7}",
    "'--",
]
PLACES = ["/static/{}", "/api/v1/runs/{}", "/api/v1/models/{}", "/api/v1/datasets/{}/report"]
PLACES += ["/api/v1/runs/{}/events", "/api/v1/models/{}/card", "/api/v1/tasks/{}/models", "/{}"]
PLACES += ["/run/{}", "/data/{}", "/api/v1/help/{}", "/api/v1/datasets/{}"]
POSTED = ["/api/v1/runs", "/api/v1/recipes:check", "/api/v1/datasets", "/api/v1/compare"]
POSTED += [
    "/api/v1/compare:inputs",
    "/api/v1/models/counts:predict",
    "/api/v1/models/counts:stream",
]
POSTED += ["/api/v1/models/counts/views/next", "/api/v1/models/counts/views/surprise"]
POSTED += ["/api/v1/runs/counts:stop", "/api/v1/runs/counts:resume", "/api/v1/examples/copy"]
POSTED += ["/api/v1/models/tagger:predict", "/api/v1/models/tagger/views/influence"]
FIELDS = ["inputs", "parameters", "text", "runs", "recipes", "settings", "toml", "task", "data"]
FIELDS += ["model", "names", "prompt", "discard", "limit", "beam", "at", "layer", "temperature"]
HOSTS = ["evil.example", "127.0.0.1.evil.example", "", "a b", "[::", "localhost@evil", "x" * 500]
ORIGINS = ["http://evil.example", "null", "file://", "http://127.0.0.1:1", "http://[", "\x7f"]
TYPES = ["text/plain", "multipart/form-data", "application/xml", "", "application/json;x", "*/*"]

REPORTS = {
    "task": ["tag", "language", "translate", "forecast", "classify", "music", "algorithms", "x"],
    "format": ["auto", "csv", "columns", "ts", "wide", "jsonl", "label-first", "trees", "x"],
    "encoding": ["utf-8", "utf-16", "cp1252", "rot13", "zlib", "idna", "undefined", "%00"],
    "skip_bad": ["true", "false", "x"],
}


class Attack:
    """Asks one server and counts what it says."""

    def __init__(self, port: int, seed: int) -> None:
        self.port, self.chance = port, random.Random(seed)
        self.statuses: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._line: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> None:
        """One request, as raw as http.client lets it be."""
        given = {
            "Host": f"127.0.0.1:{self.port}",
            **{k.replace("_", "-"): v for k, v in headers.items()},
        }
        try:
            line = self._line or http.client.HTTPConnection("127.0.0.1", self.port, timeout=90)
            self._line = line
            line.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                line.putheader(name, value.encode("latin-1", "replace"))
            if body is not None and "Content-Length" not in given:
                line.putheader("Content-Length", str(len(body)))
            line.endheaders(body)
            answer = line.getresponse()
            if answer.headers.get_content_type() == "text/event-stream" and method == "GET":
                self.count(str(answer.status), method, path, b"")
                self.leave()
                return
            self.count(str(answer.status), method, path, answer.read())
            if answer.will_close:
                self.leave()
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.statuses[f"no answer: {type(error).__name__}"] += 1
            self.leave()

    def leave(self) -> None:
        if self._line is not None:
            self._line.close()
        self._line = None

    def count(self, status: str, method: str, path: str, body: bytes) -> None:
        self.statuses[status] += 1
        words = (b"Traceback (most", CANARY.encode(), b"root:x:")
        if status.startswith("5") or any(word in body for word in words):
            self.wrong.append(f"{status} {method} {path[:200]}: {body[:300]!r}")

    def one(self) -> None:
        """A random request."""
        kind = self.chance.choices(
            [self.traversal, self.body, self.header, self.upload, self.query], [3, 4, 2, 1, 1]
        )[0]
        kind()

    def traversal(self) -> None:
        up = self.chance.choice(UP) * self.chance.randint(0, 6)
        name = self.chance.choice([*NAMES, *ODD])
        path = self.chance.choice(PLACES).format(up + name)
        self.ask(self.chance.choice(["GET", "GET", "GET", "DELETE", "HEAD", "OPTIONS"]), path)

    def body(self) -> None:
        path = self.chance.choice(POSTED)
        made = self.chance.choice([self.junk, self.plausible, self.strange])()
        self.ask("POST", path, made, Content_Type="application/json")

    def header(self) -> None:
        method, path = self.chance.choice([("GET", "/"), ("POST", self.chance.choice(POSTED))])
        given = {"Content_Type": self.chance.choice([*TYPES, "application/json"])}
        given |= self.chance.choice(
            [
                {"Host": self.chance.choice(HOSTS)},
                {"Origin": self.chance.choice(ORIGINS)},
                {"Sec_Fetch_Site": self.chance.choice(["cross-site", "same-site", "x"])},
                {"Cookie": self.word(50), "Authorization": f"Bearer {self.word(30)}"},
                {"X_Request_ID": self.word(80), "Last_Event_ID": self.word(20)},
                {"If_None_Match": self.word(30), "Accept": self.word(30), "Range": "bytes=0-9999"},
            ]
        )
        self.ask(method, path, b"{}" if method == "POST" else None, **given)

    def upload(self) -> None:
        name = self.chance.choice([*UP, *NAMES, *ODD, "a.txt", "b.csv", "c.jsonl", "d.gz", "e.mid"])
        content = self.chance.choice([self.junk(), b"a,b\n1,2\n", b"PK\x03\x04", b"\x1f\x8b\x08"])
        path = f"/api/v1/datasets?name={name}"
        self.ask("POST", path, content, Content_Type="application/octet-stream")

    def query(self) -> None:
        if self.chance.random() < 0.3:
            path = f"/api/v1/models/counts/views/next?step={self.number()}"
            self.ask("POST", path, b'{"text": "the"}', Content_Type="application/json")
            return
        report = {name: self.chance.choice(choices) for name, choices in REPORTS.items()}
        report |= {"columns": self.quoted(12), self.quoted(5): self.quoted(9)}
        read = "&".join(f"{name}={value}" for name, value in report.items())
        heard = f"after={self.number()}&kinds={self.quoted(20)}"
        self.ask(
            "GET",
            self.chance.choice(
                [
                    f"/api/v1/runs/counts/events?{heard}",
                    f"/api/v1/datasets/{self.data}/report?{read}",
                ]
            ),
        )

    data = "0123456789ab"

    def junk(self) -> bytes:
        return self.chance.randbytes(self.chance.choice([0, 1, 10, 100, 1000, 5000]))

    def strange(self) -> bytes:
        deep = self.chance.choice([10, 70, 5000])
        return self.chance.choice(
            [
                b"[" * deep + b"]" * deep,
                b'{"a":' * deep + b"1" + b"}" * deep,
                b'{"inputs": [NaN, Infinity]}',
                b'{"inputs": ["\\ud800"], "text": "\\u0000"}',
                b'{"settings": {"training.epochs": 1e308, "model.order": -9e99}}',
                b'{"runs": ' + b"9" * 5000 + b"}",
                b'{"inputs": "' + b"a" * (1 << 20) + b'"}',
                b"null",
                b'"text"',
                b"[]",
            ]
        )

    def plausible(self) -> bytes:
        chosen = self.chance.sample(FIELDS, self.chance.randint(1, 5))
        return json.dumps({name: self.value(3) for name in chosen}).encode()

    def value(self, deep: int) -> object:
        simple = [
            lambda: self.word(20),
            lambda: self.chance.choice(["counts", "tagger", "the cat", "language", "ngram", ""]),
            lambda: self.chance.choice([0, -1, 1, 7, 10**9, -(10**15), 0.5, 1e300, True, None]),
        ]
        if deep:
            simple += [
                lambda: [self.value(deep - 1) for _ in range(self.chance.randint(0, 4))],
                lambda: {self.chance.choice(FIELDS): self.value(deep - 1) for _ in range(3)},
                lambda: {"model.order": self.value(0), "task.name": self.value(0)},
            ]
        return self.chance.choice(simple)()

    def word(self, most: int) -> str:
        letters = "aZ09 /\\.:;<>'\"{}[]%&?=#+-_~\t\u00e9\u4e2d\U0001f600\u202e"
        return "".join(self.chance.choices(letters, k=self.chance.randint(0, most)))

    def quoted(self, most: int) -> str:
        return "".join(f"%{byte:02x}" for byte in self.word(most).encode())

    def number(self) -> str:
        return self.chance.choice(["-1", "0", "1", "99", "1e9", "9" * 30, "x", "", "1.5"])


def by_schema(attack: Attack, address: str, number: int) -> None:
    """Requests that Schemathesis makes from the description, right ones and wrong ones."""
    schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
    found = [one.ok() for one in schema.get_all_operations()]
    operations = [one for one in found if one.path != LEFT_OUT]
    each = -(-number // (2 * len(operations)))
    for operation in operations:
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):

            @settings(
                max_examples=each,
                database=None,
                deadline=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def go(case: object) -> None:
                answer = case.call(timeout=90)
                path = f"{case.path} {str(case.body)[:200]}"
                attack.count(str(answer.status_code), case.method, path, answer.content)

            try:
                go()
            except Exception as error:  # a description for which nothing can be made
                attack.statuses[f"not made: {type(error).__name__}"] += 1


def broken(attack: Attack) -> None:
    """What is hardly HTTP, or never comes to an end."""
    texts = [b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\n" * 1000]
    texts += [b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"GET /" + b"a" * 100_000]
    texts += [b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n"]
    texts += [b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000 + b"\r\n\r\n"]
    for text in texts:
        with socket.create_connection(("127.0.0.1", attack.port), timeout=20) as line:
            line.sendall(text)
            line.shutdown(socket.SHUT_WR)
            try:
                said = line.recv(4000)
            except OSError:
                said = b""
            attack.count(said[9:12].decode() or "closed", "raw", repr(text[:40]), said)


def slow(attack: Attack) -> None:
    """Bodies that come a byte at a time."""

    def one(path: str, kind: str) -> None:
        with socket.create_connection(("127.0.0.1", attack.port), timeout=60) as line:
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
            line.sendall(f"{head}Content-Length: 100000\r\n\r\n".encode())
            line.settimeout(45)
            said = b""
            try:
                for _ in range(3):
                    line.sendall(b"{")
                    time.sleep(0.2)
                said = line.recv(4000)
            except OSError:
                pass
            attack.count(said[9:12].decode() or "closed", "slow", path, said)

    kinds = [("/api/v1/runs", "application/json")] * 4
    kinds += [("/api/v1/datasets?name=a.txt", "application/octet-stream")] * 4
    lines = [threading.Thread(target=one, args=pair) for pair in kinds]
    for line in lines:
        line.start()
    for line in lines:
        line.join()


def prepare(root: Path) -> Path:
    """A few small runs, with files around them that nobody may see."""
    chance = random.Random(0)
    nouns, verbs = ["cat", "dog", "bird", "fish"], ["sees", "hears", "likes"]
    made = [[chance.choice(nouns), chance.choice(verbs), chance.choice(nouns)] for _ in range(200)]
    text = "".join(f"{' '.join(words)}\n" for words in made)
    (root / "text.txt").write_text(text)
    tagged = "\n".join(f"{a}\tN\n{b}\tV\n{c}\tN\n" for a, b, c in made)
    (root / "tags.conll").write_text(tagged)
    for name, task, file, model in (
        ("counts", "language", "text.txt", "ngram"),
        ("tagger", "tag", "tags.conll", "hmm-tagger"),
    ):
        recipe = Recipe(
            data={"train": str(root / file)}, task={"name": task}, model={"name": model}
        )
        seqloom.train(recipe, name=name, runs=root / "runs")
    for place in (root, root / "beside"):
        place.mkdir(exist_ok=True)
        (place / "canary.txt").write_text(CANARY)
    return root / "runs"


def give(port: int) -> str:
    """A data set that is there; its id."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Content-Type": "application/octet-stream"}
    line.request("POST", "/api/v1/datasets?name=a.txt", b"a b\tc\nc d\te\n" * 20, headers)
    found = json.loads(line.getresponse().read())["id"]
    line.close()
    return str(found)


def outside(root: Path, runs: Path) -> dict[str, bytes]:
    """Every file that is not in the runs folder."""
    found = [path for path in root.rglob("*") if path.is_file() and runs not in path.parents]
    return {str(path): path.read_bytes() for path in found}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schema", type=float, default=0.25, help="the share of Schemathesis")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        runs = prepare(root)
        before = outside(root, runs)
        process = subprocess.Popen(
            [sys.executable, "-m", "seqloom", "studio", "--port", "0", "--no-browser", "--json"]
            + ["--runs", str(runs)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
        )
        address = json.loads(process.stdout.readline())["address"].rstrip("/")
        attack = Attack(int(address.rsplit(":", 1)[1]), options.seed)
        began = time.monotonic()
        attack.data = give(attack.port)
        by_schema(attack, address, int(options.schema * options.requests))
        print(f"Schemathesis: {sum(attack.statuses.values()):,} requests")
        waiting = threading.Thread(target=slow, args=(attack,))
        waiting.start()
        broken(attack)
        while sum(attack.statuses.values()) < options.requests:
            attack.one()
        waiting.join()
        attack.leave()
        alive = process.poll() is None
        process.send_signal(signal.SIGINT)
        process.wait(30)
        changed = outside(root, runs) != before
    total, spent = sum(attack.statuses.values()), time.monotonic() - began
    print(f"{total:,} requests in {spent:.0f} s, by status:")
    for status, count in sorted(attack.statuses.items()):
        print(f"  {status:<24} {count:>7,}")
    print(f"server alive: {alive}; files outside changed: {changed}; wrong: {len(attack.wrong)}")
    print("\n".join(attack.wrong[:20]))
    return 0 if alive and not changed and not attack.wrong else 1


if __name__ == "__main__":
    sys.exit(main())
