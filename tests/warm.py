"""The command `seqloom`, ready to go: what takes seconds to import is imported once.

A page of the documents may run twenty commands, and each would spend more time on importing torch
than on its work. `serve` imports all of it and waits; a small client, called `seqloom` and put first
on the path, hands over its arguments, folder, environment and streams, and `serve` runs the same
`main` in a process of its own, forked from the one that is ready.
"""

import contextlib
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

LATE = ["rich.console", "rich.live", "rich.table", "sacrebleu.metrics", "PIL.Image", "mido"]
CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect({address!r})
    told = dict(arguments=sys.argv[1:], folder=os.getcwd(), environment=dict(os.environ))
    socket.send_fds(line, [b"x"], [0, 1, 2])
    line.sendall(json.dumps(told).encode())
    line.shutdown(socket.SHUT_WR)
    sys.exit(int(line.recv(16) or b"70"))
"""


@contextlib.contextmanager
def ready(folder: Path):
    """A folder with the command in it, for the path; it works until the context ends."""
    address = folder / "line"
    client = folder / "bin" / "seqloom"
    client.parent.mkdir()
    client.write_text(CLIENT.format(python=sys.executable, address=str(address)))
    client.chmod(0o755)
    with subprocess.Popen([sys.executable, __file__, str(address)]) as server:
        try:
            while not address.exists() and server.poll() is None:
                time.sleep(0.05)
            yield client.parent
        finally:
            server.terminate()


def import_all() -> None:
    """The whole package, with torch and all else that it imports: each command needs some of it."""
    import seqloom

    for found in pkgutil.walk_packages(seqloom.__path__, "seqloom."):
        if not found.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # of what is not installed
                importlib.import_module(found.name)
    for name in LATE:
        importlib.import_module(name)


def serve(address: str) -> None:
    """Run what clients ask for, each in a process of its own, until the end."""
    import_all()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that are done
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address + "~")
        door.listen()
        os.rename(address + "~", address)
        while True:
            line, _ = door.accept()
            if os.fork() == 0:
                _attend(line)
            line.close()


def _attend(line: socket.socket) -> None:
    """Run one command, and tell how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(line, 1, 3)
    told = b"".join(iter(lambda: line.recv(1 << 16), b""))
    command = os.fork()
    if command == 0:
        line.close()
        _run(json.loads(told), streams)
    for stream in streams:  # whoever reads what the command writes must see its end
        os.close(stream)
    line.sendall(str(os.waitstatus_to_exitcode(os.waitpid(command, 0)[1]) & 255).encode())
    os._exit(0)


def _run(told: dict, streams: list[int]) -> None:
    from seqloom.cli.main import main

    code = 70
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(told["folder"])
        os.environ.clear()
        os.environ.update(told["environment"])
        sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 - they stay open to the end
        sys.stdout = open(1, "w", encoding="utf-8")  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", buffering=1)  # noqa: SIM115
        sys.argv = ["seqloom", *told["arguments"]]
        code = main(told["arguments"])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(code or 0)


if __name__ == "__main__":
    serve(sys.argv[1])
