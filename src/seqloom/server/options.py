"""Settings of the server: folders, address, token, and limits on requests."""

from dataclasses import dataclass, field
from pathlib import Path

MIB = 1 << 20
STUDIO_FOLDER = ".studio"  # in the folder of runs: data sets, jobs, temporary files


@dataclass(frozen=True)
class Limits:
    """Limits on the size of one request and on the time it may take."""

    json_bytes: int = MIB
    upload_bytes: int = 200 * MIB
    inputs: int = 32
    symbols: int = 16_384  # characters of one input
    looked: int = 2_000  # characters of a text for a view
    looked_quadratic: int = 500  # where the work grows with the square of the length
    beam: int = 32
    generated: int = 1_024
    seconds: float = 60.0  # of computation for one request
    body_seconds: float = 30.0  # until a JSON body has arrived
    upload_seconds: float = 900.0
    idle_seconds: float = 15.0  # between two chunks of an upload
    at_once: int = 2  # worker threads
    waiting: int = 32  # queued calls
    loaded: int = 3  # models in the cache
    runs: int = 16  # that one request starts or compares


@dataclass(frozen=True)
class ServerSettings:
    """The options of `seqloom studio`."""

    runs: Path
    host: str = "127.0.0.1"
    port: int = 8000
    token: str = ""
    hosts: tuple[str, ...] = ()  # further allowed values of the Host header
    limits: Limits = field(default_factory=Limits)

    @property
    def studio_dir(self) -> Path:
        """The studio's own folder, inside the folder of runs."""
        return self.runs / STUDIO_FOLDER
