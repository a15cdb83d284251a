"""Training throughput with and without 50 clients of the studio's event stream.

A run is trained in a process as the studio starts it, with a server beside it. Periods without
clients and with 50 clients of its events alternate. Tokens per second and times come from the
events of the run; the ratio is that of the medians. On a busy machine look at the CPU time of the
server, which does not depend on the load.

    python benchmarks/studio_clients.py --clients 50 --seconds 10 --turns 4
"""

import argparse
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from seqloom.training.events import read_events

RUN = "live"


class Listener(threading.Thread):
    """One who looks on: it counts the events that come."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.line = socket.create_connection(("127.0.0.1", port))
        path = f"GET /api/v1/runs/{RUN}/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
        self.line.sendall(path.encode())
        self.heard, self.started = 0, False

    def run(self) -> None:
        try:
            while piece := self.line.recv(65536):
                self.started = True
                self.heard += piece.count(b"\nevent: train")
        except OSError:
            return

    def leave(self) -> None:
        self.line.shutdown(socket.SHUT_RDWR)
        self.line.close()


def processor_seconds(pid: int) -> float:
    """What a process has used of the processor so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def prepare(root: Path) -> Path:
    """A text that lasts."""
    chance = random.Random(0)
    words = [f"{a}{b}" for a in ("ka", "lo", "mi", "tu", "re") for b in ("s", "n", "", "rt")]
    lines = (" ".join(chance.choices(words, k=12)) for _ in range(4000))
    (root / "text.txt").write_text("".join(f"{line}\n" for line in lines))
    return root / "runs"


def start(root: Path, *arguments: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "seqloom", *arguments],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def speeds(folder: Path, since: float, until: float) -> list[float]:
    """Symbols a second, as training has told them between two moments."""
    told = [event for event in read_events(folder / "events.jsonl") if event["kind"] == "train"]
    return [e["symbols_per_second"] for e in told if since < e["t"] <= until]


def per_processor_second(folder: Path, pid: int, seconds: float) -> tuple[float, float, float]:
    """Steps per processor second of training, over some time; and that time's ends."""

    def steps() -> int:
        return int(read_events(folder / "events.jsonl")[-1]["step"])

    began, before, used = time.time(), steps(), processor_seconds(pid)
    time.sleep(seconds)
    return (steps() - before) / max(1e-9, processor_seconds(pid) - used), began, time.time()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--turns", type=int, default=4)
    options = parser.parse_args()
    alone, watched, steps, server_used = [], [], {"alone": [], "watched": []}, []
    heard = 0
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        folder = prepare(root) / RUN
        studio = start(root, "studio", "--port", "0", "--no-browser", "--json")
        port = int(json.loads(studio.stdout.readline())["address"].rstrip("/").rsplit(":", 1)[1])
        training = start(
            *(root, "train", "language", "text.txt", "-m", "recurrent", "-n", RUN),
            *("--set", "training.epochs=100000", "--set", "training.max_time=2h", "-q"),
        )
        while not any(e["kind"] == "train" for e in read_events(folder / "events.jsonl")):
            time.sleep(0.5)
        time.sleep(5)
        for _ in range(options.turns):
            rate, *span = per_processor_second(folder, training.pid, options.seconds)
            steps["alone"].append(rate)
            alone += speeds(folder, *span)
            listeners = [Listener(port) for _ in range(options.clients)]
            for one in listeners:
                one.start()
            used = processor_seconds(studio.pid)
            rate, *span = per_processor_second(folder, training.pid, options.seconds)
            server_used.append((processor_seconds(studio.pid) - used) / options.seconds)
            steps["watched"].append(rate)
            watched += speeds(folder, *span)
            heard += sum(one.heard for one in listeners)
            if not all(one.started for one in listeners):
                print("not all clients were answered")
            for one in listeners:
                one.leave()
            time.sleep(1)
        training.terminate()  # a shell lets what is in the background ignore Ctrl-C
        training.wait(60)
        studio.send_signal(signal.SIGINT)
        studio.wait(30)
    show(options.clients, alone, watched, steps)
    share = 100 * statistics.median(server_used)
    print(f"\nThe server used {share:.1f} % of one processor; {heard:,} events were heard.")
    return 0


def show(
    clients: int, alone: list[float], watched: list[float], steps: dict[str, list[float]]
) -> None:
    """The table."""
    middle = {"alone": statistics.median(alone), "watched": statistics.median(watched)}
    rates = {name: statistics.median(found) for name, found in steps.items()}
    print(f"| {clients} clients | alone | watched | watched / alone |\n|---|---|---|---|")
    print(f"| symbols a second | {middle['alone']:,.0f} | {middle['watched']:,.0f} |", end="")
    print(f" {middle['watched'] / middle['alone']:.3f} |")
    print(f"| steps a processor second | {rates['alone']:.2f} | {rates['watched']:.2f} |", end="")
    print(f" {rates['watched'] / rates['alone']:.3f} |")


if __name__ == "__main__":
    sys.exit(main())
