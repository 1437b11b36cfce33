"""Who owns a stream, and its state on disk: a lease with a fencing number, and one folder per number.

The number goes up with every new owner. An owner saves into the folder of its own number, and whoever comes next
reads the highest one. So a stale owner, which was thought dead and goes on, can overwrite nothing, whenever its save
arrives; and where it can know that it is stale, its save is refused.
"""

import json
import re
import shutil
from pathlib import Path

from gotta.errors import GottaError, one_error
from gotta.experiment.sweep.leases import Folder, Lease, Leases, numbers_in
from gotta.files import write_atomically
from gotta.json_yaml import read_json
from gotta.serve.one_stream import Model
from gotta.serve.requests import Refused

STREAM = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._@:-]{0,127}")
DEFAULT = "default"  # the stream of a request that names none
STATES, SNAPSHOTS = "states", "snapshots"


def check_stream(name: str) -> str:
    """A stream's name, which is also that of its folder."""
    if not STREAM.fullmatch(name):
        expected = "Expected 1 to 128 letters, digits and . _ @ : -, not a dot first."
        raise GottaError(f"stream {name[:140]!r} is not a name. {expected}")
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
            raise Refused(f"stream '{stream}' is held by another replica. Try again in a moment.", 503)
        return lease

    def release(self, lease: Lease) -> None:
        self.leases.release(lease, "released")

    def save(self, lease: Lease, model: Model, samples: int) -> None:
        """Write the state of a stream, with its fencing number; refused where the lease has a newer owner."""
        self._write(lease, model, samples, self._folder(lease.id, STATES, lease.number))
        for number in self._numbers(lease.id, STATES):
            if number < lease.number:
                shutil.rmtree(self._folder(lease.id, STATES, number), ignore_errors=True)

    def restore(self, lease: Lease, model: Model) -> int:
        """Go on from what the owner before saved last, if it did. Samples that it had seen."""
        saved = [number for number in self._numbers(lease.id, STATES) if number <= lease.number]
        return self._load(lease, model, self._folder(lease.id, STATES, saved[-1])) if saved else 0

    def snapshot(self, lease: Lease, model: Model, samples: int) -> int:
        """Keep the state of now under a number, to come back to."""
        number = max(self.snapshots(lease.id), default=0) + 1
        self._write(lease, model, samples, self._folder(lease.id, SNAPSHOTS, number))
        return number

    def snapshots(self, stream: str) -> list[int]:
        return self._numbers(stream, SNAPSHOTS)

    def roll_back(self, lease: Lease, model: Model, number: int, samples: int) -> None:
        """Go on from a snapshot; it is saved at once, so that a kill does not bring back what was left."""
        check_owner(lease)
        if number not in (known := self.snapshots(lease.id)):
            has = ", ".join(map(str, known)) or "-"
            raise GottaError(f"stream '{lease.id}' has no snapshot {number}. It has: {has}.")
        self._load(lease, model, self._folder(lease.id, SNAPSHOTS, number))
        self.save(lease, model, samples)

    def forget(self, stream: str) -> None:
        """Remove the saved state of a stream that no other replica holds, and its snapshots."""
        lease = self.claim(stream)
        try:
            shutil.rmtree(self.root / "streams" / lease.id, ignore_errors=True)
        finally:
            self.release(lease)

    def mode(self, default: str) -> str:
        """Whether the service answers as the adapted model (live) or as its source (shadow)."""
        path = self.root / "mode.json"
        if not path.exists():
            return default
        with one_error(f"promote or demote again: {path} is damaged"):
            return str(read_json(path, 1 << 10)["mode"])

    def set_mode(self, mode: str) -> None:
        """All replicas follow, and those that are started later."""
        write_atomically(self.root / "mode.json", json.dumps({"mode": mode}))

    def _write(self, lease: Lease, model: Model, samples: int, folder: Path) -> None:
        check_owner(lease)
        model.save(folder, {"stream": lease.id, "fence": lease.number, "samples": samples})

    def _load(self, lease: Lease, model: Model, folder: Path) -> int:
        beside = model.load(folder)
        if beside.get("stream") != lease.id or type(beside.get("samples")) is not int:
            raise GottaError(f"{folder} is the state of stream {beside.get('stream')!r}. Expected '{lease.id}'.")
        return int(beside["samples"])

    def _numbers(self, stream: str, kind: str) -> list[int]:
        return numbers_in(Folder(self.root), f"streams/{stream}/{kind}")

    def _folder(self, stream: str, kind: str, number: int) -> Path:
        return self.root / "streams" / stream / kind / f"{number:06}"


def check_owner(lease: Lease) -> None:
    """Raises where somebody else has the stream now."""
    lease.check()
    check_held(lease)


def check_held(lease: Lease) -> None:
    """Raises where somebody else had the stream when this was looked at last: now, or at the last heartbeat."""
    if lease.lost or not lease.held:
        told = f"stream '{lease.id}' has a newer owner than number {lease.number}: what this replica has of it is out"
        raise Refused(f"{told} of date and was not saved. Try again in a moment.", 503)
