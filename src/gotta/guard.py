"""The guard: notices without labels that an adapted model has become worse than its source, and shelters predictions.

Every few adaptations it compares the adapted model with the source model on the latest samples in stream order and on
what the memory holds. Two signs count, each averaged over several checks so that a run of one class is no alarm:

- *collapse*: the adapted model disagrees with the source on most rows, and either its predictions tell classes apart
  less than the source's do (entropy of the mean prediction minus mean entropy), or fewer classes are predicted than the
  running mean of all predictions has, or the source tells classes apart so well that it is hardly wrong.
- *lost runs*: in a correlated stream neighbours share a class, and a model that works says so. The share of equally
  predicted neighbours above chance is an unlabelled measure of accuracy; where the source has clearly more of it, the
  adapted model is worse. Batch statistics fail in this way. In an i.i.d. stream both are near 0.
"""

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from gotta.cost import Tally
from gotta.errors import unknown
from gotta.memory import Memory
from gotta.methods import Method
from gotta.types import Prediction

ACTIONS = ("warn", "freeze", "rollback")
EVERY = 4  # adaptations between two checks, at least
SPACING = 192  # samples between two checks, at least
ROWS = 64  # of the latest samples, looked at in a check
WINDOW, ENOUGH = 4, 3  # checks that a verdict averages, and the fewest it needs
RETURN_WINDOW, RETURN_ENOUGH = 8, 6  # to return from the source, which errs less: more evidence
RUNS_LOST, RUNS_KEPT = 0.06, 0.02  # share of neighbours; on i.i.d. images the average of three varies by about 0.01
AGREEMENT = 0.5
LESS_INFORMED, FEWER_CLASSES, WELL_INFORMED = 0.2, 0.3, 0.85  # of the logarithm of the number of classes
LONGEST_WAIT = 16  # times SPACING


@contextmanager
def only_predicting(method: Method, **settings: Any) -> Iterator[None]:
    """Predictions inside keep no graph and move no statistics."""
    settings = {"keep_graph": False, "follow": 0.0, **settings}
    before = {name: getattr(method, name, None) for name in settings}
    for name, value in settings.items():
        setattr(method, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(method, name, value)


def spread(shares: Tensor) -> float:
    """The entropy of class shares [C], 1 for all classes alike; of several [B, C], the mean."""
    return float(-(shares * (shares + 1e-12).log()).sum(-1).mean()) / math.log(max(2, shares.shape[-1]))


def run_excess(probs: Tensor) -> float:
    """How much more often than by chance neighbouring samples are predicted alike: [B, C] in stream order."""
    count, total = len(probs), probs.sum(0)
    chance = ((total * total).sum() - (probs * probs).sum()) / max(1, count * (count - 1))
    return float((probs[1:] * probs[:-1]).sum(1).mean() - chance) if count > 1 else 0.0


@dataclass(frozen=True)
class Check:
    """One comparison of the adapted model (`own`) with the source model."""

    runs_lost: float
    agreement: float
    own_share: Tensor  # [C]
    own_entropy: float
    source_share: Tensor  # [C]
    source_entropy: float

    @classmethod
    def of(cls, own: Tensor, source: Tensor, own_rows: Tensor, source_rows: Tensor) -> "Check":
        """From probabilities of the latest samples in stream order, and from those of the rows to compare on."""
        entropies = [spread(rows) for rows in (own_rows, source_rows)]
        agreement = float((own_rows.argmax(1) == source_rows.argmax(1)).double().mean())
        lost = run_excess(source) - run_excess(own)
        return cls(lost, agreement, own_rows.mean(0), entropies[0], source_rows.mean(0), entropies[1])


class Guard:
    """Watches an adapted model beside its source. `sheltering` says that the source predicts for the time being."""

    def __init__(self, action: str, source: Method) -> None:
        if action not in ACTIONS:
            raise unknown("guard", action, ACTIONS)
        self.action, self.source = action, source
        self.spent = Tally()
        self.reset()

    def reset(self) -> None:
        self.checks: list[Check] = []
        self.sheltering = self.unhealthy = False
        self.episodes = self.looks = 0
        self.running = torch.zeros(0, dtype=torch.float64)  # sum of all predictions, [C]
        self.snapshot: dict[str, Any] | None = None
        self._restart()

    def _restart(self) -> None:
        self.checks, self.samples, self.adaptations = [], 0, 0
        self._x: Tensor | None = None
        self._own: Tensor | None = None
        self._source: Tensor | None = None

    def watch(
        self, method: Method, memory: Memory, x: Tensor, prediction: Prediction, adaptations: int
    ) -> dict[str, float]:
        """Take note of a step, check if it is time, and act on what is found. What was measured, by name."""
        probs = prediction.probs.detach().double().cpu()
        self._x, self._own = latest(self._x, x), latest(self._own, probs)
        total = probs.sum(0)
        self.running = total if not len(self.running) else self.running + total
        share = self.running / self.running.sum()
        self.samples, self.adaptations = self.samples + len(x), self.adaptations + adaptations
        told = {
            "guard_entropy": spread(probs),
            "guard_shift": float((probs.mean(0) - share).abs().sum() / 2),
        }
        if self.samples >= SPACING and self.adaptations >= EVERY and len(self._own) >= min(ROWS, self.samples):
            self._check(method, memory)
            told |= self._verdict(method, memory)
        return told | {"guard_unhealthy": float(self.unhealthy)}

    def predict(self, method: Method, memory: Memory, x: Tensor) -> tuple[Prediction, dict[str, float]]:
        """The source's prediction, and now and then a look at whether the adapted model would do again."""
        with self._counted(method):
            prediction = self.source.predict(x)
            self.samples += len(x)
            wait = SPACING * min(LONGEST_WAIT, 2 ** (self.episodes - 1))
            if self.samples > wait - ROWS:
                self._own = latest(self._own, method.predict(x).probs.double().cpu())
                self._source = latest(self._source, prediction.probs.double().cpu())
        told = {}
        if self.samples >= wait:
            assert self._own is not None
            assert self._source is not None
            self._add(Check.of(self._own, self._source, self._own, self._source))
            told = self._verdict(method, memory)
        return prediction, told | {"guard_unhealthy": float(self.unhealthy)}

    def trip(self, method: Method, memory: Memory, reason: str) -> None:
        """Begin an episode: warn, and if so asked let the source predict."""
        self.unhealthy = True
        self.episodes += 1
        if self.action != "warn":
            self.sheltering = True
            self._restart()
        if self.action == "rollback":
            self._roll_back(method, memory)
        # Last, because the caller may have made warnings errors.
        warnings.warn(f"the adapted model looks worse than its source: {reason}. {WAY_OUT[self.action]}", stacklevel=2)

    def take_cost(self) -> dict[str, Any]:
        """What the guard has cost since the last call."""
        recent = Tally()
        for tally in self.source.cost.take().values():
            recent.add(Tally(**tally))
        self.spent.add(recent)
        return {} if recent == Tally() else asdict(recent)

    def state_dict(self) -> dict[str, Any]:
        names = ("sheltering", "unhealthy", "episodes", "looks", "running", "samples", "adaptations")
        hidden = {"x": self._x, "own": self._own, "source": self._source}
        checks = [asdict(check) for check in self.checks]
        spent = asdict(self.spent)
        plain = {name: getattr(self, name) for name in names}
        return {**plain, "checks": checks, "latest": hidden, "snapshot": self.snapshot, "spent": spent}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        for name in ("sheltering", "unhealthy", "episodes", "looks", "running", "samples", "adaptations", "snapshot"):
            setattr(self, name, state[name])
        self.checks = [Check(**check) for check in state["checks"]]
        self._x, self._own, self._source = (state["latest"][name] for name in ("x", "own", "source"))
        self.source.cost.take()
        self.spent = Tally(**state["spent"])

    def __repr__(self) -> str:
        now = "the source predicts" if self.sheltering else "unhealthy" if self.unhealthy else "healthy"
        return (
            f"guard={self.action}: {now}, {self.episodes} episodes, {self.looks} checks, {self.spent.forwards} forwards"
        )

    def _roll_back(self, method: Method, memory: Memory) -> None:
        if self.snapshot is None:
            method.reset()
            memory.reset()
        else:
            method.load_state_dict(self.snapshot["method"])
            memory.load_state_dict(self.snapshot["memory"])

    def _check(self, method: Method, memory: Memory) -> None:
        """Compare on the latest samples and on the memory, with one forward of the source."""
        assert self._x is not None
        assert self._own is not None
        device = next((p.device for p in self.source.model.parameters()), self._x.device)
        device_x = self._x.to(device)
        with self._counted(method):
            if memory.policy.holds_batch or len(memory) < 2:
                found = self.source.predict(device_x).probs.double().cpu()
                self._add(Check.of(self._own, found, self._own, found))
                return
            rows = memory.peek().x
            own = method.predict(rows).probs.double().cpu()
            found = self.source.predict(torch.cat([device_x, rows])).probs.double().cpu()
            self._add(Check.of(self._own, found[: len(self._x)], own, found[len(self._x) :]))

    def _add(self, check: Check) -> None:
        self.checks = [*self.checks, check][-(RETURN_WINDOW if self.sheltering else WINDOW) :]
        self.looks += 1
        self.samples = self.adaptations = 0

    def _verdict(self, method: Method, memory: Memory) -> dict[str, float]:
        told = {"guard_agreement": self.checks[-1].agreement, "guard_runs_lost": self.checks[-1].runs_lost}
        if len(self.checks) < (RETURN_ENOUGH if self.sheltering else ENOUGH):
            return told
        lost, collapse = self._mean("runs_lost"), self._collapse()
        if not self.unhealthy:
            if collapse or not lost < RUNS_LOST:
                self.trip(method, memory, collapse or f"it loses {100 * lost:.0f} % of the runs the source finds")
            elif self.action == "rollback":
                self.snapshot = {"method": method.state_dict(), "memory": memory.state_dict()}
        elif not collapse and lost < RUNS_KEPT:
            self.unhealthy = False
            if self.sheltering:
                self.sheltering = False
                self._restart()
        return told

    def _collapse(self) -> str:
        """Why the predictions of the window look collapsed, or nothing."""
        shares = [torch.stack([getattr(check, name) for check in self.checks]).mean(0) for name in SHARES]
        own, source = map(spread, shares)
        informed = own - self._mean("own_entropy")
        source_informed = source - self._mean("source_entropy")
        usual = spread(self.running / self.running.sum()) if len(self.running) else 0.0
        agreement = self._mean("agreement")
        if agreement >= AGREEMENT:
            return ""
        # Written so that NaN counts as collapse.
        if not informed >= source_informed - LESS_INFORMED or not own >= usual - FEWER_CLASSES:
            return f"it agrees with it on {100 * agreement:.0f} % and predicts few classes"
        if source_informed > WELL_INFORMED:
            return f"it agrees with it on {100 * agreement:.0f} % where the source is sure"
        return ""

    def _mean(self, name: str) -> float:
        return float(sum(getattr(check, name) for check in self.checks)) / len(self.checks)

    @contextmanager
    def _counted(self, method: Method) -> Iterator[None]:
        """Whatever is done inside is the guard's cost, also forwards of the adapted model."""
        with only_predicting(method, cost=self.source.cost), self.source.cost.phase("predict"), torch.no_grad():
            yield


SHARES = ("own_share", "source_share")
WAY_OUT = {
    "warn": "Consider reset(), a smaller learning rate, a memory, or guard='freeze'.",
    "freeze": "The source model predicts until the adapted one is healthy again.",
    "rollback": "It goes back to its last healthy state, and the source model predicts until that does well.",
}


def latest(kept: Tensor | None, new: Tensor) -> Tensor:
    """The last rows of a stream, in order, with these appended."""
    rows = new[-ROWS:]
    if kept is None or len(rows) == ROWS or kept.shape[1:] != rows.shape[1:] or kept.device != rows.device:
        return rows.clone()
    return torch.cat([kept, rows])[-ROWS:]
