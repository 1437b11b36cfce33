"""What can be set of a service."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """Of one request."""

    bytes: int = 8 << 20
    samples: int = 64
    pixels: int = 1 << 24  # of all images, before they are fitted
    read_seconds: float = 10.0  # until the body is here
    seconds: float = 30.0  # until it is answered


@dataclass(frozen=True)
class Settings:
    """Of a service."""

    model: str  # module:function
    state: Path  # a folder that all nodes see
    replicas: int = 1
    gates: int = 1
    streams: int = 100  # at most, of one replica; the least recently used ones are saved and let go
    batch: int = 16  # requests that are predicted together
    wait: float = 0.005  # seconds that a request waits for others
    save_every: float = 5.0  # seconds of a stream that a kill may lose
    takeover: float = 10.0  # seconds without a heartbeat after which an owner on another machine counts as dead
    shadow: bool = False  # the source answers until the adapted model is promoted
    waiting: int = 200  # requests that may wait at each gate
    cpus: float = 1.0  # of a replica
    gpus: float = 0.0
    size: int | None = None  # to which images are fitted
    limits: Limits = field(default_factory=Limits)
