"""The guard: notices without labels that an adapted model has become worse than its source, and shelters predictions.

Of every 32 samples it keeps 8 neighbours. Whenever 64 are kept, it compares what the adapted model said of them with
what the source says, and what both say of the memory's rows. Two signs count (`guard_signs` computes them):

- *lost runs*: in a correlated stream neighbours share a class, and the better a model, the more often it says so. What
  the source has more of this adds up from check to check, less what is allowed; enough of it is an alarm. A large loss
  is found at once, a small one in time, and noise falls back to 0. Batch statistics fail in this way.
- *collapse*: the adapted model disagrees with the source on most rows, and either its predictions tell classes apart
  less than the source's do (entropy of the mean prediction minus mean entropy), or it predicts fewer classes than the
  source and than the running mean of all its predictions, or the source is so sure that it is hardly wrong.

The way back is the same sum with the sign turned, up to a higher bar that doubles with each episode.
"""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from gotta.core.signs import SEGMENT, Check, collapse, spread
from gotta.cost import Tally
from gotta.errors import unknown
from gotta.memory import Memory
from gotta.methods import Method
from gotta.types import Prediction

ACTIONS = ("warn", "freeze", "rollback")
EVERY = 32  # samples from the start of one segment to that of the next
ROWS = 64  # kept samples that make a check
MEMORY_ROWS = 32  # of the memory, at most, that are compared in a check
WINDOW, ENOUGH = 4, 2  # checks that are looked at together for a collapse, and the fewest
ALLOWED = 0.015  # of the run excess, in one check
ALARM, RETURN = 0.1, 0.2  # sums of what was lost above that, and of what was not
MOST_DOUBLINGS = 4


class GuardWarning(UserWarning):
    """The adapted model looks worse than its source."""


class Guard:
    """Watches an adapted model beside its source. `sheltering` says that the source predicts for the time being."""

    def __init__(self, action: str, source: Method) -> None:
        if action not in ACTIONS:
            raise unknown("guard", action, ACTIONS)
        self.action, self.source = action, source
        self.reset()

    def reset(self) -> None:
        self.sheltering = self.unhealthy = False
        self.episodes = self.looks = 0
        self.running = torch.zeros(0, dtype=torch.float64)  # sum of all predictions, [C]
        self.snapshot: dict[str, Any] | None = None
        self._restart()

    def _restart(self) -> None:
        self.checks: list[Check] = []
        self.samples, self.evidence = 0, 0.0
        self._x: Tensor | None = None
        self._own: Tensor | None = None
        self._source: Tensor | None = None

    @property
    def spent(self) -> Tally:
        """What the guard has cost so far."""
        return Tally(**self.source.cost.summary()["guard"])

    def watch(self, method: Method, memory: Memory, x: Tensor, prediction: Prediction) -> dict[str, float]:
        """Take note of a step, check if it is time, and act on what is found. What was measured, by name."""
        with self._looking(method):
            probs = prediction.probs.detach().double().cpu()
            chosen = self._chosen(len(x))
            self._x, self._own = joined(self._x, x[chosen.to(x.device)]), joined(self._own, probs[chosen])
            total = probs.sum(0)
            self.running = total if not len(self.running) else self.running + total
            shift = (probs.mean(0) - self.running / self.running.sum()).abs().sum() / 2
            told = {"guard_entropy": spread(probs), "guard_shift": float(shift)}
        while self._due():
            with self._looking(method):
                self._check(method, memory)
            told |= self._verdict(method, memory)
        return told | {"guard_unhealthy": float(self.unhealthy), "guard_active": 0.0}

    def predict(self, method: Method, memory: Memory, x: Tensor) -> tuple[Prediction, dict[str, float]]:
        """The source's prediction, and a look at whether the adapted model would do again."""
        with self.source.cost.phase("predict"):
            prediction = self.source.predict(x)
        chosen, told = self._chosen(len(x)), {}
        if chosen.any():
            with self._looking(method):
                self._own = joined(self._own, method.predict(x).probs.double().cpu()[chosen])
                self._source = joined(self._source, prediction.probs.double().cpu()[chosen])
        while self._due():
            own, source = self._taken("_own"), self._taken("_source")
            self._add(Check.of(own, source, own, source))
            told = self._verdict(method, memory)
        return prediction, told | {"guard_unhealthy": float(self.unhealthy), "guard_active": 1.0}

    def trip(self, method: Method, memory: Memory, reason: str) -> None:
        """Begin an episode: warn, and if so asked let the source predict."""
        self.unhealthy = True
        self.episodes += 1
        self.evidence = 0.0
        if self.action != "warn":
            self.sheltering = True
            self._restart()
        if self.action == "rollback":
            self._roll_back(method, memory)
        # Last, because the caller may have made warnings errors.
        text = f"the adapted model looks worse than its source: {reason}. {WAY_OUT[self.action]}"
        warnings.warn(text, GuardWarning, stacklevel=2)

    def state_dict(self) -> dict[str, Any]:
        hidden = {"x": self._x, "own": self._own, "source": self._source}
        checks = [check.as_tensors() for check in self.checks]
        return {**{name: getattr(self, name) for name in STATE}, "checks": checks, "kept": hidden}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        for name in STATE:
            setattr(self, name, state[name])
        self.checks = [Check.from_tensors(check) for check in state["checks"]]
        self._x, self._own, self._source = (state["kept"][name] for name in ("x", "own", "source"))

    def __repr__(self) -> str:
        now = "the source predicts" if self.sheltering else "unhealthy" if self.unhealthy else "healthy"
        return (
            f"guard={self.action}: {now}, {self.episodes} episodes, {self.looks} checks, {self.spent.forwards} forwards"
        )

    def _chosen(self, count: int) -> Tensor:
        """Which of the next samples are kept: segments of neighbours, at a distance, whatever the batches: [count]."""
        places = torch.arange(self.samples, self.samples + count)
        self.samples += count
        return places % EVERY < SEGMENT

    def _due(self) -> bool:
        return self._own is not None and len(self._own) >= ROWS

    def _taken(self, name: str) -> Tensor:
        """The rows of a check, which are then no longer kept."""
        rows: Tensor = getattr(self, name)
        setattr(self, name, rows[ROWS:])
        return rows[:ROWS]

    def _roll_back(self, method: Method, memory: Memory) -> None:
        if self.snapshot is None:
            method.reset()
            memory.reset()
        else:
            method.load_state_dict(self.snapshot["method"])
            memory.load_state_dict(self.snapshot["memory"])

    def _check(self, method: Method, memory: Memory) -> None:
        """Compare on what was kept of the stream and on the memory, with one forward of the source."""
        x, own = self._taken("_x"), self._taken("_own")
        if not memory.lasts or len(memory) < 2:
            found = self.source.predict(x).probs.double().cpu()
            self._add(Check.of(own, found, own, found))
            return
        rows = memory.peek().x
        rows = rows[:: -(-len(rows) // MEMORY_ROWS)]  # evenly, because they are sorted by class
        own_rows = method.predict(rows).probs.double().cpu()
        found = self.source.predict(torch.cat([x, rows.to(x)])).probs.double().cpu()
        self._add(Check.of(own, found[: len(x)], own_rows, found[len(x) :]))

    def _add(self, check: Check) -> None:
        self.checks = [*self.checks, check][-WINDOW:]
        self.looks += 1

    def _verdict(self, method: Method, memory: Memory) -> dict[str, float]:
        lost = self.checks[-1].runs_lost
        collapsed = collapse(self.checks, self.running / self.running.sum()) if len(self.checks) >= ENOUGH else ""
        more = ALLOWED - lost if self.unhealthy else lost - ALLOWED
        self.evidence = evidence = max(0.0, self.evidence + more)
        told = {"guard_agreement": self.checks[-1].agreement, "guard_runs_lost": lost, "guard_evidence": evidence}
        if not self.unhealthy:
            if collapsed or evidence > ALARM:
                self.trip(method, memory, collapsed or "it loses runs of classes that the source finds")
            elif self.action == "rollback" and evidence == 0:
                self.snapshot = {"method": method.state_dict(), "memory": memory.state_dict()}
        elif not collapsed and evidence > RETURN * 2 ** min(self.episodes - 1, MOST_DOUBLINGS):
            self.sheltering = self.unhealthy = False
            self._restart()
        return told

    @contextmanager
    def _looking(self, method: Method) -> Iterator[None]:
        """Whatever is done inside is the guard's cost and changes nothing."""
        with method.only_predicting(), self.source.cost.phase("guard"), torch.no_grad():
            yield


STATE = ("sheltering", "unhealthy", "episodes", "looks", "running", "samples", "evidence", "snapshot")
WAY_OUT = {
    "warn": "Consider reset(), a smaller learning rate, a memory, or guard='freeze'.",
    "freeze": "The source model predicts until the adapted one is healthy again.",
    "rollback": "It goes back to its last healthy state, and the source model predicts until that does well.",
}


def joined(kept: Tensor | None, new: Tensor) -> Tensor:
    """Rows in stream order, where the new ones are."""
    return new if kept is None else torch.cat([kept.to(new), new])
