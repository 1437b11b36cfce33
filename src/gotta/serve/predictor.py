"""What one replica does: it owns some streams, predicts their samples, and saves their states every few seconds."""

import logging
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from gotta.core.adapted import Adapted
from gotta.core.build import adapt
from gotta.core.outcome import Outcome
from gotta.errors import GottaError
from gotta.experiment.sweep.leases import Lease
from gotta.models.own import build_network
from gotta.serve.meters import Meters
from gotta.serve.owned_streams import OwnedElsewhere, StaleOwner, StreamStore, check_owner
from gotta.serve.reading import Inputs

LOG = logging.getLogger(__name__)
Answer = dict[str, Any]  # what is sent back; with "error" and "status" where something went wrong


@dataclass
class Owned:
    """A stream that this replica owns, and the model that adapts to it."""

    lease: Lease
    model: Adapted
    samples: int  # seen, by all its owners
    lock: threading.Lock = field(default_factory=threading.Lock)  # of its state: steps and saves
    changed: float | None = None  # since when there is something to save
    measured: dict[str, float] = field(default_factory=dict)


class Predictor:
    """The streams of one replica. Every call may come from any thread."""

    def __init__(
        self, name: str, store: StreamStore, meters: Meters, save_every: float = 5.0, mode: str = "live"
    ) -> None:
        self.source = build_model(name)
        self.store, self.meters, self.save_every, self.default_mode = store, meters, save_every, mode
        self.owned: dict[str, Owned] = {}
        self.mode = store.mode(mode)
        self.stopping = threading.Event()
        self.keeper = threading.Thread(target=self._keep_house, name="gotta-saves", daemon=True)
        self.keeper.start()

    def open(self, stream: str) -> Owned:
        """Become the owner of a stream and go on from its saved state."""
        lease = self.store.claim(stream)
        try:
            model = deepcopy(self.source)
            samples = self.store.restore(lease, model) or 0
        except BaseException:
            self.store.release(lease)
            raise
        self.owned[stream] = owned = Owned(lease, model, samples)
        return owned

    def close(self, owned: Owned) -> None:
        """Save a stream, and let another replica have it."""
        if self.owned.get(owned.lease.id) is owned:
            del self.owned[owned.lease.id]
        with owned.lock:
            if not owned.lease.held:
                return
            try:
                self._save(owned)
            except GottaError as error:
                LOG.warning("%s", error)
            self.store.release(owned.lease)

    def close_all(self) -> None:
        self.stopping.set()
        for owned in list(self.owned.values()):
            self.close(owned)

    def predict(self, requests: Sequence[tuple[Owned, Inputs]]) -> list[Answer]:
        """Answers to requests, in their order. One that goes wrong harms no other."""
        together = defaultdict(list)
        for at, (owned, x) in enumerate(requests):
            together[owned.lease.id, x.shape[1:]].append(at)
        answers: dict[int, Answer] = {}
        for rows in together.values():
            answers |= dict(zip(rows, self._predict_alike([requests[row] for row in rows]), strict=True))
        return [answers[at] for at in range(len(requests))]

    def _predict_alike(self, requests: Sequence[tuple[Owned, Inputs]]) -> list[Answer]:
        """Requests of one stream and shape, in one step; where that is refused, one by one."""
        owned = requests[0][0]
        x = torch.from_numpy(np.concatenate([x for _, x in requests]))  # a copy: what Ray gives cannot be written
        try:
            with owned.lock:
                check_held(owned)
                outcome = owned.model.step(x)
                owned.changed = owned.changed or time.monotonic()
                first, owned.samples = owned.samples, owned.samples + len(x)
        except GottaError as error:
            if len(requests) > 1 and not isinstance(error, StaleOwner):
                return [answer for request in requests for answer in self._predict_alike([request])]
            return [as_error(error)] * len(requests)
        return self._answers(owned, outcome, first, [len(x) for _, x in requests])

    def _answers(self, owned: Owned, outcome: Outcome, first: int, sizes: Sequence[int]) -> list[Answer]:
        self._measure(owned, outcome)
        confidence, labels = outcome.prediction.probs.max(1)
        self.meters.note_labels(Counter(labels.tolist()))
        answers, at = [], 0
        for size in sizes:
            part = slice(at, at + size)
            ids = [f"{owned.lease.id}/{owned.lease.number}/{first + row}" for row in range(part.start, part.stop)]
            answers.append({"ids": ids, "labels": labels[part].tolist(), "confidence": confidence[part].tolist()})
            at += size
        return answers

    def _measure(self, owned: Owned, outcome: Outcome) -> None:
        found = outcome.diagnostics
        self.meters.add("gotta_undone_steps", found.get("undone", 0.0))
        self.meters.add("gotta_jumps", found.get("jumps", 0.0) - owned.measured.get("jumps", found.get("jumps", 0.0)))
        owned.measured = {**owned.measured, **found}

    def snapshot(self, owned: Owned) -> Answer:
        with owned.lock:
            return {"snapshot": self.store.snapshot(owned.lease, owned.model, owned.samples)}

    def roll_back(self, owned: Owned, number: int) -> Answer:
        with owned.lock:
            self.store.roll_back(owned.lease, owned.model, number, owned.samples)
            owned.changed = None
        return {"snapshot": number}

    def reset(self, owned: Owned) -> Answer:
        with owned.lock:
            check_owner(owned.lease)
            owned.model.reset()
            self.store.save(owned.lease, owned.model, owned.samples)
        return {"reset": True}

    def report(self, owned: Owned) -> Answer:
        with owned.lock:
            told = {"stream": owned.lease.id, "owner": owned.lease.number, "samples": owned.samples, "mode": self.mode}
            return {**told, "snapshots": self.store.snapshots(owned.lease.id), "measured": owned.measured}

    def check_health(self) -> None:
        """Raises where this replica should be replaced."""
        if not self.keeper.is_alive():
            raise RuntimeError("nobody saves the streams of this replica any more")

    def _keep_house(self) -> None:
        while not self.stopping.wait(min(1.0, self.save_every / 4)):
            try:
                self.mode = self.store.mode(self.default_mode)
                self._save_due()
                self._show()
            except Exception:  # a file server that is away for a while
                LOG.exception("a replica could not look after its streams; it tries again")

    def _save_due(self) -> None:
        """Save what changed half the time ago, so that it is saved when the whole of it has passed."""
        for owned in list(self.owned.values()):
            if owned.changed is not None and time.monotonic() - owned.changed >= self.save_every / 2:
                try:
                    with owned.lock:
                        self._save(owned)
                except StaleOwner as error:
                    LOG.warning("%s", error)
                    self._drop(owned)
                except GottaError as error:  # a disk that is full for a while; it is tried again
                    LOG.warning("%s", error)

    def _save(self, owned: Owned) -> None:
        """Inside its lock."""
        if owned.changed is not None:
            self.store.save(owned.lease, owned.model, owned.samples)
            owned.changed = None

    def _drop(self, owned: Owned) -> None:
        """Let go of a stream that has a newer owner; the next request for it here asks for it anew."""
        owned.lease.held = False
        if self.owned.get(owned.lease.id) is owned:
            del self.owned[owned.lease.id]

    def _show(self) -> None:
        streams, now = list(self.owned.values()), time.monotonic()
        memories = [owned.model.memory for owned in streams if owned.model.memory.lasts]
        sticky = [owned.measured["stickiness"] for owned in streams if "stickiness" in owned.measured]
        values = {
            "gotta_streams": len(streams),
            "gotta_live": float(self.mode == "live"),
            "gotta_unsaved_seconds": max((now - owned.changed for owned in streams if owned.changed), default=0.0),
            "gotta_guard_active": sum(owned.measured.get("guard_active", 0.0) for owned in streams),
            "gotta_memory_occupancy": sum(map(len, memories)) / max(1, sum(memory.capacity for memory in memories)),
            "gotta_stickiness": sum(sticky) / max(1, len(sticky)),
        }
        for name, value in values.items():
            self.meters.set(name, value)


def build_model(name: str) -> Adapted:
    """The caller's model, `module:function`: an adapted one, or a network that is adapted with the defaults."""
    network = build_network(name)
    return network if isinstance(network, Adapted) else adapt(network)


def check_held(owned: Owned) -> None:
    """Raises where the last heartbeat saw a newer owner."""
    if owned.lease.lost or not owned.lease.held:
        raise StaleOwner(f"stream '{owned.lease.id}' has moved to another replica. Try again in a moment.")


def as_error(error: GottaError) -> Answer:
    status = 503 if isinstance(error, OwnedElsewhere | StaleOwner) else 400
    return {"error": str(error), "status": status}
