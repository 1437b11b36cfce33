"""What one replica does: it owns some streams, predicts their samples, and saves their states every few seconds."""

import logging
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gotta.core.adapted import Adapted
from gotta.core.build import adapt
from gotta.core.streams import Limits
from gotta.errors import GottaError
from gotta.experiment.sweep.leases import Lease
from gotta.models.own import build_network
from gotta.serve.meters import Meters
from gotta.serve.one_stream import OneStream, can_share
from gotta.serve.owned_streams import StaleOwner, StreamStore, check_owner
from gotta.serve.requests import Inputs, tell
from gotta.types import Outcome

LOG = logging.getLogger(__name__)
Answer = dict[str, Any]  # what is sent back; with "error" and "status" where something went wrong


@dataclass
class Owned:
    """A stream that this replica owns, and what adapts to it: a model of its own, or its part of one for all."""

    lease: Lease
    model: Adapted | OneStream
    samples: int  # seen, by all its owners
    lock: threading.Lock = field(default_factory=threading.Lock)  # of its state: steps and saves
    changed: float | None = None  # since when there is something to save
    measured: dict[str, float] = field(default_factory=dict)


class Predictor:
    """The streams of one replica. Every call may come from any thread."""

    def __init__(
        self,
        name: str,
        store: StreamStore,
        meters: Meters,
        save_every: float,
        shadow: bool = False,
        streams: int = 1000,
    ) -> None:
        self.source = build_model(name, shadow)
        self.shares = can_share(self.source)
        self.source.limits = Limits(2 * streams)  # Serve lets go of them, one by one
        self.store, self.meters, self.save_every = store, meters, save_every
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
            samples = self.store.restore(lease, model) or 0
        except BaseException:
            self.store.release(lease)
            raise
        self.owned[stream] = owned = Owned(lease, model, samples)
        self._follow_mode(owned)
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
            if isinstance(owned.model, OneStream):
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
        x = torch.from_numpy(np.concatenate([x for _, x in requests]))  # a copy: what Ray gives cannot be written
        streams = {owned.lease.id: owned for owned, _ in requests}
        try:
            with ExitStack() as locks:
                for _, owned in sorted(streams.items()):  # all in one order, so that nobody waits for one another
                    locks.enter_context(owned.lock)
                    check_held(owned)
                ids = [name for owned, x in requests for name in name_samples(owned, len(x))]
                try:
                    outcome = self._step(requests, x, ids)
                except GottaError:
                    for owned, part in requests:
                        owned.samples -= len(part)
                    raise
                for owned in streams.values():
                    owned.changed = owned.changed or time.monotonic()
        except GottaError as error:
            if len(requests) > 1:
                return [answer for request in requests for answer in self._predict_alike([request])]
            return [tell(error)]
        for stream, owned in streams.items():
            self._measure(owned, outcome.streams.get(stream, outcome.diagnostics))
        return self._answer(outcome, ids, [len(x) for _, x in requests])

    def _step(self, requests: Sequence[tuple[Owned, Inputs]], x: Tensor, ids: list[str]) -> Outcome:
        model = requests[0][0].model
        if isinstance(model, OneStream):
            return self.source.step(x, stream=[owned.lease.id for owned, part in requests for _ in part])
        return model.step(x) if shadow_of(model) is None else model.step(x, ids=ids)

    def _answer(self, outcome: Outcome, ids: list[str], sizes: Sequence[int]) -> list[Answer]:
        confidence, labels = outcome.prediction.probs.max(1)
        self.meters.note_labels(Counter(labels.tolist()))
        columns = {"ids": ids, "labels": labels.tolist(), "confidence": confidence.tolist()}
        ends = list(accumulate(sizes))
        return [
            {name: column[end - size : end] for name, column in columns.items()}
            for size, end in zip(sizes, ends, strict=True)
        ]

    def _measure(self, owned: Owned, found: Mapping[str, float]) -> None:
        self.meters.add("gotta_undone_steps", found.get("undone", 0.0))
        self.meters.add("gotta_jumps", found.get("jumps", 0.0) - owned.measured.get("jumps", found.get("jumps", 0.0)))
        dropped = found.get("dropped", 0.0) - owned.measured.get("dropped", 0.0)
        self.meters.add("gotta_drops", dropped, reason="background")
        owned.measured = {**owned.measured, **found}

    def feedback(self, owned: Owned, ids: list[str], labels: list[int]) -> Answer:
        with owned.lock:
            check_owner(owned.lease)
            need_shadow(owned.model).feedback(ids, labels)
            owned.changed = owned.changed or time.monotonic()
        return {"counted": len(ids)}

    def snapshot(self, owned: Owned) -> Answer:
        with owned.lock:
            return {"snapshot": self.store.snapshot(owned.lease, owned.model, owned.samples)}

    def rollback(self, owned: Owned, number: int) -> Answer:
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
            beside = shadow_of(owned.model)
            shadow = beside.report().to_dict() if beside else None
            return {
                **told,
                "snapshots": self.store.snapshots(owned.lease.id),
                "measured": owned.measured,
                "shadow": shadow,
            }

    def set_mode(self, mode: str) -> Answer:
        """For all replicas; they follow within a second or two."""
        need_shadow(self.source)
        self.store.set_mode(mode)
        return {"mode": mode}

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
        return self.store.mode("live" if shadow_of(self.source) is None else "shadow")

    def _follow_mode(self, owned: Owned) -> None:
        if shadow := shadow_of(owned.model):
            (shadow.promote if self.mode == "live" else shadow.demote)()

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
        memories = [owned.model.memory for owned in streams]
        agreed = [shadow.report().agreement for owned in streams if (shadow := shadow_of(owned.model))]
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
                self.meters.set(name, value)


def build_model(name: str, shadow: bool = False) -> Adapted:
    """The caller's model, `module:function`: an adapted one, or a network that is adapted with the defaults."""
    network = build_network(name)
    if not isinstance(network, Adapted):
        return adapt(network, shadow=shadow)
    if shadow and shadow_of(network) is None:
        raise GottaError(f"'{name}' gives an adapted model without a shadow. Build it with adapt(..., shadow=True).")
    return network


def shadow_of(model: Adapted | OneStream) -> Adapted | None:
    """The model as one that runs beside its source, if it does."""
    return model if isinstance(model, Adapted) and model.shadow is not None else None


def need_shadow(model: Adapted | OneStream) -> Adapted:
    found = shadow_of(model)
    if found is None:
        raise GottaError("this service has no shadow to compare with. Start it with --shadow.")
    return found


def name_samples(owned: Owned, count: int) -> list[str]:
    """Names for the next samples of a stream, that no other sample has."""
    first, owned.samples = owned.samples, owned.samples + count
    return [f"{owned.lease.id}/{owned.lease.number}/{number}" for number in range(first, owned.samples)]


def mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def check_held(owned: Owned) -> None:
    """Raises where the last heartbeat saw a newer owner."""
    if owned.lease.lost or not owned.lease.held:
        raise StaleOwner(f"stream '{owned.lease.id}' has moved to another replica. Try again in a moment.")
