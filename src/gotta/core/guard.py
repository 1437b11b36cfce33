"""The guard: notices without labels that an adapted model has become worse than its source, and shelters predictions.

One number decides: how sure a model is of what it says. The source model is taken at its word, because nothing
trains it to be sure. The adapted model is not: entropy minimisation makes it sure of anything, and batch statistics
make it sure of the wrong class where a batch shows few. So half of its word is that of a *witness*: the source's
weights under the batch statistics of mixed company, the samples in question beside some of the last 1,500. Weights that
went astray do not convince the witness, nor do labels that only the company of their batch suggested. What the source
is surer than that, less what is allowed, adds up from check to check; enough of it is an alarm. The way back is a sum
of what the source is less sure, up to a bar that doubles with each episode.
"""

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import torch
from torch import Tensor

from gotta.errors import check_known
from gotta.memory import Memory
from gotta.methods import Method
from gotta.safe_text import tell_number
from gotta.state import Reader, Stateful, count, flag, number, optional, tensor, tensors
from gotta.statistics import Batch
from gotta.types import Prediction

LOG = logging.getLogger(__name__)
ACTIONS = {  # and what is said when they are taken
    "warn": "Consider reset(), a smaller learning rate, a memory, or guard='freeze'.",
    "freeze": "The source model predicts until the adapted one is healthy again.",
    "rollback": "It goes back to its last healthy state, and the source model predicts until that does well.",
}
SEGMENT, EVERY = 4, 24  # neighbours that are kept, of so many samples
EVERY_BATCH = 8  # while the source predicts, one batch of so many is kept whole
ROWS = 32  # kept samples that make a check
COMPANY, NEWCOMERS = 32, 4  # earlier samples beside them for the witness, and how many of these each check renews
ALLOWED = 0.04  # of the certainty, in one check
AT_MOST = 0.1  # of what was lost above that counts in one check, because a run of one class is no proof
ALARM, RETURN = 0.2, 0.2  # sums of what was lost above that, and of what was won
MOST_DOUBLINGS = 4
MIXED = Batch()
KINDS = {"label": (1, torch.int64), "certainty": (1, torch.float64)}  # what is kept of samples: dimensions, type


def kept_samples(saved: Any) -> dict[str, Tensor]:
    """The samples for the next check, if there are any; raises unless they go together."""
    kept = tensors(saved)
    kinds = {name: (rows.ndim, rows.dtype) for name, rows in kept.items() if name != "x"}
    if kept and ("x" not in kept or kinds != KINDS or len({len(rows) for rows in kept.values()}) > 1):
        raise ValueError("the samples that the guard keeps are damaged")
    return kept


def snapshot(saved: Any) -> dict[str, Any]:
    """The last healthy state of method and memory."""
    if not isinstance(saved, Mapping) or saved.keys() != {"method", "memory"}:
        raise ValueError("a snapshot is of a method and a memory")
    return dict(saved)


class GuardWarning(UserWarning):
    """The adapted model looks worse than its source."""


class Guard(Stateful):
    """Watches an adapted model beside its source. `sheltering` says that the source predicts for the time being."""

    state: ClassVar[Mapping[str, Reader]] = {
        "sheltering": flag,
        "unhealthy": flag,
        "episodes": count,
        "looks": count,
        "samples": count,
        "batches": count,
        "evidence": number,
        "company": optional(tensor),
        "snapshot": optional(snapshot),
        "kept": kept_samples,
    }

    def __init__(self, action: str, source: Method) -> None:
        check_known("guard", action, [*ACTIONS])
        self.action, self.source = action, source
        self.reset()

    def check(self, sample: tuple[int, ...] | None, classes: int | None) -> None:
        """Raises unless the kept samples are such, with labels of so many classes."""
        rows = [part for part in (self.kept.get("x"), self.company) if part is not None]
        if sample is not None and any(tuple(part.shape[1:]) != sample for part in rows):
            raise ValueError("the guard keeps samples of another shape")
        label = self.kept.get("label", torch.zeros(0))
        if len(label) and not 0 <= int(label.min()) <= int(label.max()) < (classes or 1 << 62):
            raise ValueError("the guard keeps labels of other classes")

    def reset(self) -> None:
        self.sheltering = self.unhealthy = False
        self.episodes = self.looks = 0
        self.snapshot: dict[str, Any] | None = None
        self.company: Tensor | None = None
        self._restart()

    def _restart(self) -> None:
        self.samples, self.batches, self.evidence = 0, 0, 0.0
        self.kept: dict[str, Tensor] = {}  # x, and the adapted model's label of it and certainty

    def watch(self, method: Method, memory: Memory, x: Tensor, prediction: Prediction) -> dict[str, float]:
        """Take note of a step, check if it is time, and act on what is found. What was measured, by name."""
        places = torch.arange(self.samples, self.samples + len(x))
        self.samples += len(x)
        self._keep(x, prediction.probs, places % EVERY < SEGMENT)
        return self._check_all(method, memory, active=0.0)

    def predict(self, method: Method, memory: Memory, x: Tensor) -> tuple[Prediction, dict[str, float]]:
        """The source's prediction, and now and then a look at whether the adapted model would do again."""
        with self.source.cost.phase("predict"):
            prediction = self.source.predict(x)
        self.batches += 1
        if self.batches % EVERY_BATCH == 0:
            with self._looking(method):
                self._keep(x, method.predict(x).probs, torch.ones(len(x), dtype=torch.bool))
        return prediction, self._check_all(method, memory, active=1.0)

    def trip(self, method: Method, memory: Memory, reason: str) -> None:
        """Begin an episode: warn, and if so asked let the source predict."""
        self.unhealthy = True
        self.episodes += 1
        self.evidence = 0.0
        if self.action != "warn":
            self.sheltering = True
            self._restart()
        if self.action == "rollback" and self.snapshot is not None:
            method.load_state_dict(self.snapshot["method"])
            memory.load_state_dict(self.snapshot["memory"])
        elif self.action == "rollback":
            method.reset()
            memory.reset()
        LOG.info("an episode begins: %s", reason)
        # Last, because the caller may have made warnings errors.
        text = f"the adapted model looks worse than its source: {reason}. {ACTIONS[self.action]}"
        warnings.warn(text, GuardWarning, stacklevel=2)

    def __repr__(self) -> str:
        now = "the source predicts" if self.sheltering else "unhealthy" if self.unhealthy else "healthy"
        told = tell_number(self.episodes, "episode"), tell_number(self.looks, "check")
        return f"guard={self.action}: {now}, {', '.join(told)}"

    def _keep(self, x: Tensor, probs: Tensor, chosen: Tensor) -> None:
        """Keep samples for the next check, with what the adapted model says of them."""
        certainty, label = probs.detach().double().cpu().max(1)
        new = {"x": x[chosen.to(x.device)], "label": label[chosen], "certainty": certainty[chosen]}
        self.kept = {name: join_rows(self.kept.get(name), rows) for name, rows in new.items()}

    def _check_all(self, method: Method, memory: Memory, active: float) -> dict[str, float]:
        told: dict[str, float] = {}
        while len(self.kept.get("x", ())) >= ROWS:
            with self._looking(method):
                lost = self._look()
            told = self._judge(lost, method, memory)
        return told | {"guard_unhealthy": float(self.unhealthy), "guard_active": active}

    def _look(self) -> float:
        """How much surer the source is than the adapted model and the witness, on average of the rows of a check."""
        rows = {name: values[:ROWS] for name, values in self.kept.items()}
        self.kept = {name: values[ROWS:] for name, values in self.kept.items()}
        self.looks += 1
        source = self.source.predict(rows["x"]).probs.double().cpu().amax(1)
        with self.source.only_predicting(MIXED):
            witness = self.source.predict(join_rows(self.company, rows["x"])).probs[-ROWS:].double().cpu()
        self.company = join_rows(self.company, rows["x"][:: ROWS // NEWCOMERS])[-COMPANY:]
        return certainty_lost(source, rows["certainty"], witness.gather(1, rows["label"][:, None])[:, 0])

    def _judge(self, lost: float, method: Method, memory: Memory) -> dict[str, float]:
        """Add to the evidence, and act where there is enough."""
        more = -lost if self.unhealthy else lost - ALLOWED
        self.evidence = evidence = max(0.0, self.evidence + min(more, AT_MOST))
        if not self.unhealthy:
            if evidence > ALARM:
                self.trip(method, memory, "the source is surer of its labels than it is of the adapted model's")
            elif self.action == "rollback" and evidence == 0:
                self.snapshot = {"method": method.state_dict(), "memory": memory.state_dict()}
        elif evidence > RETURN * 2 ** min(self.episodes - 1, MOST_DOUBLINGS):
            LOG.info("the episode is over: the adapted model predicts again")
            self.sheltering = self.unhealthy = False
            self._restart()
        return {"guard_lost": lost, "guard_evidence": evidence}

    @contextmanager
    def _looking(self, method: Method) -> Iterator[None]:
        """Whatever is done inside is the guard's cost and changes nothing."""
        with method.only_predicting(), self.source.cost.phase("guard"), torch.no_grad():
            yield


def certainty_lost(source: Tensor, adapted: Tensor, witness: Tensor) -> float:
    """What the source is surer than the adapted model and the witness are on average, each given by sample [B]."""
    witness = torch.where(witness.isfinite(), witness, adapted)
    lost = (source - (adapted + witness) / 2).nan_to_num(nan=1.0)  # all there can be
    return float(torch.where(source.isfinite(), lost, 0.0).mean())  # without the source there is nothing to compare


def join_rows(kept: Tensor | None, new: Tensor) -> Tensor:
    """Rows in stream order, where the new ones are."""
    return new if kept is None else torch.cat([kept.to(new), new])
