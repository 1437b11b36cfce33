"""Who owns a stream, and its state on disk: a lease with a fencing number, and one folder per number.

The number goes up with every new owner. An owner saves into the folder of its own number, and whoever comes next
reads the highest one. So a stale owner, which was thought dead and goes on, can overwrite nothing, whenever its save
arrives; and where it can know that it is stale, its save is refused.
"""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from gotta.errors import GottaError
from gotta.experiment.sweep.leases import Folder, Lease, Leases, numbers_in
from gotta.files import write_atomically
from gotta.json_yaml import read_json
from gotta.serve.requests import Later

STREAM = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._@:-]{0,127}")
DEFAULT = "default"  # the stream of a request that names none
MODES = ("live", "shadow")


class OwnedElsewhere(Later):
    """Another replica that lives owns the stream."""


class StaleOwner(Later):
    """The stream has a newer owner."""


class Saves(Protocol):
    """What can be saved: an adapted model, or one stream of it."""

    def save(self, path: Path, beside: Mapping[str, Any]) -> None: ...

    def load(self, path: Path) -> dict[str, Any]: ...


def check_stream(name: str) -> str:
    """A stream's name, which is also that of its folder."""
    if not STREAM.fullmatch(name):
        raise GottaError(
            f"stream {name[:140]!r} is not a name. Expected 1 to 128 letters, digits and . _ @ : -, not a dot first."
        )
    return name


class StreamStore:
    """The streams of one service, in a folder that all its replicas see."""

    def __init__(self, root: str | Path, beat: float = 1.0, limit: float = 10.0) -> None:
        self.root = Path(root)
        self.leases = Leases(self.root, beat, limit)

    def claim(self, stream: str) -> Lease:
        """Become the owner of a stream that has none, or a dead one."""
        lease = self.leases.claim(check_stream(stream))
        if lease is None:
            raise OwnedElsewhere(f"stream '{stream}' is held by another replica. Try again in a moment.")
        return lease

    def release(self, lease: Lease) -> None:
        self.leases.release(lease, "released")

    def save(self, lease: Lease, model: Saves, samples: int = 0) -> None:
        """Write the state of a stream, with its fencing number; refused where the lease has a newer owner."""
        check_owner(lease)
        model.save(self._folder(lease.id) / f"{lease.number:06}", _beside(lease, samples))
        for number in numbers_in(Folder(self._folder(lease.id)), ""):
            if number < lease.number:
                shutil.rmtree(self._folder(lease.id) / f"{number:06}", ignore_errors=True)

    def restore(self, lease: Lease, model: Saves) -> int | None:
        """Go on from what the owner before saved last. Samples that it had seen; None if nothing was saved."""
        saved = [number for number in numbers_in(Folder(self._folder(lease.id)), "") if number <= lease.number]
        return self._load(lease, model, self._folder(lease.id) / f"{saved[-1]:06}") if saved else None

    def snapshot(self, lease: Lease, model: Saves, samples: int = 0) -> int:
        """Keep the state of now under a number, to come back to."""
        check_owner(lease)
        number = max(self.snapshots(lease.id), default=0) + 1
        model.save(self._snapshots(lease.id) / f"{number:06}", _beside(lease, samples))
        return number

    def snapshots(self, stream: str) -> list[int]:
        return numbers_in(Folder(self._snapshots(stream)), "")

    def roll_back(self, lease: Lease, model: Saves, number: int, samples: int = 0) -> None:
        """Go on from a snapshot; it is saved at once, so that a kill does not bring back what was left."""
        check_owner(lease)
        if number not in (known := self.snapshots(lease.id)):
            raise GottaError(
                f"stream '{lease.id}' has no snapshot {number}. It has: {', '.join(map(str, known)) or '-'}."
            )
        self._load(lease, model, self._snapshots(lease.id) / f"{number:06}")
        self.save(lease, model, samples)

    def forget(self, stream: str) -> None:
        """Remove the saved state of a stream that no other replica holds, and its snapshots."""
        lease = self.claim(stream)
        try:
            shutil.rmtree(self.root / "streams" / lease.id, ignore_errors=True)
        finally:
            self.release(lease)

    def mode(self, default: str = "live") -> str:
        """Whether the service answers as the adapted model (live) or as its source (shadow)."""
        try:
            said = read_json(self.root / "mode.json", 1 << 10)["mode"]
        except FileNotFoundError:
            return default
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise GottaError(f"{self.root / 'mode.json'} is damaged: {error}. Promote or demote again.") from None
        return str(said) if said in MODES else default

    def set_mode(self, mode: str) -> None:
        """All replicas follow, and those that are started later."""
        write_atomically(self.root / "mode.json", json.dumps({"mode": mode}))

    def _load(self, lease: Lease, model: Saves, folder: Path) -> int:
        beside = model.load(folder)
        if beside.get("stream") != lease.id or type(beside.get("samples")) is not int:
            raise GottaError(f"{folder} is the state of stream {beside.get('stream')!r}. Expected '{lease.id}'.")
        return int(beside["samples"])

    def _folder(self, stream: str) -> Path:
        return self.root / "streams" / stream / "states"

    def _snapshots(self, stream: str) -> Path:
        return self.root / "streams" / stream / "snapshots"


def _beside(lease: Lease, samples: int) -> dict[str, Any]:
    return {"stream": lease.id, "fence": lease.number, "samples": samples}


def check_owner(lease: Lease) -> None:
    """Raises where somebody else has the stream now."""
    lease.check()
    if lease.lost or not lease.held:
        raise StaleOwner(
            f"stream '{lease.id}' has a newer owner than number {lease.number}: what this replica has of it is out of "
            "date and was not saved."
        )
