"""What one replica does: it owns some streams, predicts their samples, and saves their states every few seconds."""

import logging
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from itertools import chain, count
from typing import Any

import numpy as np
import torch

from gotta.core.adapted import Adapted
from gotta.core.build import adapt
from gotta.core.streams import Limits
from gotta.errors import GottaError
from gotta.experiment.sweep.leases import Lease
from gotta.models.own import build_network
from gotta.serve.meters import Meters
from gotta.serve.one_stream import OneStream, can_share
from gotta.serve.owned_streams import StreamStore, check_held, check_owner
from gotta.serve.requests import Answer, Inputs, tell
from gotta.serve.settings import Settings

LOG = logging.getLogger(__name__)


@dataclass
class Owned:
    """A stream that this replica owns, and what adapts to it."""

    lease: Lease
    model: Any  # an adapted one of its own, or OneStream
    samples: int  # seen, by all its owners
    lock: threading.Lock = field(default_factory=threading.Lock)  # of its state: steps and saves
    changed: float | None = None  # since when there is something to save
    measured: dict[str, float] = field(default_factory=dict)


class Predictor:
    """The streams of one replica. Every call may come from any thread."""

    def __init__(self, settings: Settings, store: StreamStore, meters: Meters) -> None:
        self.source = build_model(settings.model, settings.shadow)
        self.shares = can_share(self.source)
        self.source.limits = Limits(2 * settings.streams)  # Serve lets go of them, one by one
        self.store, self.meters, self.save_every = store, meters, settings.save_every
        self.owned: dict[str, Owned] = {}
        self.mode = self._read_mode()
        self.stopping = threading.Event()
        self.keeper = threading.Thread(target=self._keep_house, name="gotta-saves", daemon=True)
        self.keeper.start()

    def open(self, stream: str) -> Owned:
        """Become the owner of a stream and go on from its saved state."""
        lease = self.store.claim(stream)
        try:
            model = OneStream(self.source, stream) if self.shares else deepcopy(self.source)
            model.reset()  # of an earlier time as its owner something may be left
            samples = self.store.restore(lease, model)
        except BaseException:
            self.store.release(lease)
            raise
        self.owned[stream] = owned = Owned(lease, model, samples)
        self._follow_mode(owned)
        return owned

    def close(self, owned: Owned) -> None:
        """Save a stream, and let another replica have it."""
        self._drop(owned)
        with owned.lock:
            if not owned.lease.held:
                return
            self._save(owned)
            if self.shares:
                owned.model.reset()
            self.store.release(owned.lease)

    def forget(self, stream: str) -> Answer:
        """Remove all that is saved of a stream, which need not be held."""
        if stream in self.owned:
            self.close(self.owned[stream])
        self.store.forget(stream)
        return {"forgotten": stream}

    def close_all(self) -> None:
        self.stopping.set()
        for owned in list(self.owned.values()):
            self.close(owned)

    def predict(self, requests: Sequence[tuple[Owned, Inputs]]) -> list[Answer]:
        """Answers to requests, in their order. One that goes wrong harms no other."""
        together = defaultdict(list)
        for at, (owned, x) in enumerate(requests):
            together["" if self.shares else owned.lease.id, x.shape[1:]].append(at)
        answers: dict[int, Answer] = {}
        for rows in together.values():
            answers |= dict(zip(rows, self._predict_alike([requests[row] for row in rows]), strict=True))
        return [answers[at] for at in range(len(requests))]

    def _predict_alike(self, requests: Sequence[tuple[Owned, Inputs]]) -> list[Answer]:
        """Requests of one model and shape, in one step; where that is refused, one by one."""
        batch = torch.from_numpy(np.concatenate([x for _, x in requests]))  # a copy: what Ray gives cannot be written
        streams = {owned.lease.id: owned for owned, _ in requests}
        try:
            with ExitStack() as locks:
                for _, owned in sorted(streams.items()):  # all in one order, so that nobody waits for one another
                    locks.enter_context(owned.lock)
                    check_held(owned.lease)
                ids = name_samples(requests)
                if self.shares:
                    outcome = self.source.step(batch, stream=[owned.lease.id for owned, x in requests for _ in x])
                else:
                    named = {"ids": list(chain.from_iterable(ids))} if self.source.shadow else {}
                    outcome = requests[0][0].model.step(batch, **named)
                for owned, x in requests:
                    owned.samples += len(x)
                    owned.changed = owned.changed or time.monotonic()
        except GottaError as error:
            if len(requests) > 1:
                return [answer for request in requests for answer in self._predict_alike([request])]
            return [tell(error)]
        for stream, owned in streams.items():
            self._measure(owned, outcome.streams.get(stream, outcome.diagnostics))
        confidence, labels = outcome.prediction.probs.max(1)
        self.meters.note_labels(Counter(labels.tolist()))
        sizes = [len(x) for _, x in requests]
        return [
            {"ids": own, "labels": said.tolist(), "confidence": sure.tolist()}
            for own, said, sure in zip(ids, torch.split(labels, sizes), torch.split(confidence, sizes), strict=True)
        ]

    def _measure(self, owned: Owned, found: Mapping[str, float]) -> None:
        before = {**found, **owned.measured}  # what was counted before this replica had the stream is not counted here
        self.meters.add("gotta_undone_steps", found.get("undone", 0.0))
        self.meters.add("gotta_jumps", found.get("jumps", 0.0) - before.get("jumps", 0.0))
        self.meters.add("gotta_drops", found.get("dropped", 0.0) - before.get("dropped", 0.0), reason="background")
        owned.measured = {**owned.measured, **found}

    def do(self, call: str, owned: Owned, *given: Any) -> Answer:
        """One of the calls below, between two steps of the stream."""
        with owned.lock:
            check_owner(owned.lease)
            answer: Answer = getattr(self, call)(owned, *given)
            return answer

    def feedback(self, owned: Owned, ids: list[str], labels: list[int]) -> Answer:
        self._need_shadow()
        owned.model.feedback(ids, labels)
        owned.changed = owned.changed or time.monotonic()
        return {"counted": len(ids)}

    def snapshot(self, owned: Owned) -> Answer:
        return {"snapshot": self.store.snapshot(owned.lease, owned.model, owned.samples)}

    def rollback(self, owned: Owned, number: int) -> Answer:
        self.store.roll_back(owned.lease, owned.model, number, owned.samples)
        owned.changed = None
        return {"snapshot": number}

    def reset(self, owned: Owned) -> Answer:
        owned.model.reset()
        self.store.save(owned.lease, owned.model, owned.samples)
        return {"reset": True}

    def report(self, owned: Owned) -> Answer:
        return {
            "stream": owned.lease.id,
            "owner": owned.lease.number,
            "samples": owned.samples,
            "mode": self.mode,
            "snapshots": self.store.snapshots(owned.lease.id),
            "measured": owned.measured,
            "shadow": asdict(owned.model.report()) if self.source.shadow else None,
        }

    def set_mode(self, mode: str) -> Answer:
        """For all replicas; they follow within a second or two."""
        self._need_shadow()
        self.store.set_mode(mode)
        return {"mode": mode}

    def _need_shadow(self) -> None:
        if not self.source.shadow:
            raise GottaError("this service has no shadow to compare with. Start it with --shadow.")

    def check_health(self) -> None:
        """Raises where this replica should be replaced."""
        if not self.keeper.is_alive():
            raise RuntimeError("nobody saves the streams of this replica any more")

    def _keep_house(self) -> None:
        while not self.stopping.wait(min(1.0, self.save_every / 4)):
            try:
                self.mode = self._read_mode()
                for owned in list(self.owned.values()):
                    self._follow_mode(owned)
                self._save_due()
                self._show()
            except Exception:  # a file server that is away for a while
                LOG.exception("a replica could not look after its streams; it tries again")

    def _read_mode(self) -> str:
        """What was last asked for; until then a model with a shadow answers as its source."""
        return self.store.mode("shadow" if self.source.shadow else "live")

    def _follow_mode(self, owned: Owned) -> None:
        if self.source.shadow:
            (owned.model.promote if self.mode == "live" else owned.model.demote)()

    def _save_due(self) -> None:
        """Save what changed half the time ago, so that it is saved when the whole of it has passed."""
        for owned in list(self.owned.values()):
            if owned.changed is not None and time.monotonic() - owned.changed >= self.save_every / 2:
                with owned.lock:
                    self._save(owned)
            if owned.lease.lost:  # to a newer owner; the next request for the stream here asks for it anew
                owned.lease.held = False
                self._drop(owned)

    def _save(self, owned: Owned) -> None:
        """What has changed, inside its lock. Where a disk is full for a while it is tried again."""
        if owned.changed is not None:
            try:
                self.store.save(owned.lease, owned.model, owned.samples)
                owned.changed = None
            except GottaError as error:
                LOG.warning("%s", error)

    def _drop(self, owned: Owned) -> None:
        if self.owned.get(owned.lease.id) is owned:
            del self.owned[owned.lease.id]

    def _show(self) -> None:
        streams, now = list(self.owned.values()), time.monotonic()
        memories = [owned.model.memory for owned in streams]
        agreed = [owned.model.report().agreement for owned in streams if self.source.shadow]
        values = {
            "gotta_streams": len(streams),
            "gotta_live": float(self.mode == "live"),
            "gotta_unsaved_seconds": max((now - owned.changed for owned in streams if owned.changed), default=0.0),
            "gotta_guard_active": sum(owned.measured.get("guard_active", 0.0) for owned in streams),
            "gotta_memory_occupancy": mean([len(memory) / memory.capacity for memory in memories if memory.lasts]),
            "gotta_stickiness": mean([owned.measured.get("stickiness") for owned in streams]),
            "gotta_agreement": mean(agreed),
        }
        for name, value in values.items():
            if value is not None:
                self.meters.by_name[name].set(value)


def build_model(name: str, shadow: bool = False) -> Adapted:
    """The caller's model, `module:function`: an adapted one, or a network that is adapted with the defaults."""
    network = build_network(name)
    if not isinstance(network, Adapted):
        return adapt(network, shadow=shadow)
    if shadow and not network.shadow:
        raise GottaError(f"'{name}' gives an adapted model without a shadow. Build it with adapt(..., shadow=True).")
    return network


def name_samples(requests: Sequence[tuple[Owned, Inputs]]) -> list[list[str]]:
    """Names for the next samples of their streams, that no other sample has."""
    next_of = {owned.lease.id: count(owned.samples) for owned, _ in requests}
    return [
        [f"{owned.lease.id}/{owned.lease.number}/{next(next_of[owned.lease.id])}" for _ in x] for owned, x in requests
    ]


def mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
