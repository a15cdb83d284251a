"""Where the studio keeps things, where it listens, and how much it takes at once."""

from dataclasses import dataclass, field
from pathlib import Path

MIB = 1 << 20
KEPT = ".studio"  # in the folder of runs: data sets, the logs of jobs, measured times


@dataclass(frozen=True)
class Limits:
    """How much one request may bring, and how long it may take."""

    json_bytes: int = MIB
    upload_bytes: int = 200 * MIB
    inputs: int = 32
    symbols: int = 16_384  # characters of one input
    looked: int = 2_000  # characters of a text that is looked into
    beam: int = 32
    generated: int = 1_024
    seconds: float = 60.0  # of work for one request
    body_seconds: float = 30.0  # until a JSON body is here
    upload_seconds: float = 900.0
    idle_seconds: float = 15.0  # between two pieces of an upload
    at_once: int = 2
    waiting: int = 32
    loaded: int = 3
    runs: int = 16  # that one request starts, or compares


@dataclass(frozen=True)
class Settings:
    """What `seqloom studio` was told."""

    runs: Path
    host: str = "127.0.0.1"
    port: int = 8000
    token: str = ""
    hosts: tuple[str, ...] = ()  # further names under which it may be called
    limits: Limits = field(default_factory=Limits)

    @property
    def kept(self) -> Path:
        """The studio's own folder."""
        return self.runs / KEPT
