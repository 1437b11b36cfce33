"""Shadow: the source answers, the adapted model runs beside it, and what it would have been worth is measured."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from gotta.core.inputs import check_logits, not_stored
from gotta.core.streams import Key, check_key, list_values
from gotta.errors import GottaError
from gotta.methods import Method
from gotta.state import Reader, Stateful, count, flag, number, read_each, tensor
from gotta.types import Outcome, Prediction

WAITING = 10_000  # samples whose labels may still come
Noting = Callable[[Prediction], None]  # what the adapted model says of a batch


class Known(NamedTuple):
    """What was counted so far. Differences are 1 where only the adapted model was right, -1 where only the source."""

    said: Tensor  # how often each class was said, by the source and by the adapted model [2, C]
    waiting: dict[Key, tuple[int, int]]  # the labels that both gave samples without a true one
    samples: int = 0
    agreed: int = 0
    refused: int = 0  # steps that only the source could make
    certainty_source: float = 0.0  # sums over samples
    certainty_adapted: float = 0.0
    labelled: int = 0
    right_source: int = 0
    right_adapted: int = 0
    spread: float = 0.0  # of the differences, around their mean so far

    @classmethod
    def read(cls, saved: Any) -> "Known":
        ids, labels = [check_key(one, "sample") for one in saved["ids"]], tensor(saved["labels"]).tolist()
        if len(labels) != len(ids) or any(len(pair) != 2 for pair in labels):
            raise ValueError("ids and labels of a shadow do not go together")
        waiting = {one: (int(source), int(adapted)) for one, (source, adapted) in zip(ids, labels, strict=True)}
        said = tensor(saved["said"])
        if said.ndim != 2 or len(said) != 2 or said.dtype != torch.int64:
            raise ValueError(f"what was said is of {said.dtype} and shape {list(said.shape)}")
        kinds = {name: number if isinstance(usual, float) else count for name, usual in cls._field_defaults.items()}
        return cls(said, waiting, **read_each(kinds, saved["tally"]))

    def to_plain(self) -> dict[str, Any]:
        labels = torch.tensor(list(self.waiting.values()), dtype=torch.int64).reshape(-1, 2)
        tally = {name: getattr(self, name) for name in self._field_defaults}
        return {"tally": tally, "said": self.said, "ids": list(self.waiting), "labels": labels}

    def with_label(self, source: bool, adapted: bool) -> "Known":
        mean = (self.right_adapted - self.right_source) / max(1, self.labelled)
        return self._replace(
            labelled=self.labelled + 1,
            right_source=self.right_source + source,
            right_adapted=self.right_adapted + adapted,
            spread=self.spread + (adapted - source - mean) ** 2,
        )


@dataclass(frozen=True)
class ShadowReport:
    """How the adapted model does beside its source. What needs labels is None until there are some."""

    live: bool  # whether the adapted model answers
    samples: int
    agreement: float | None  # share of samples with the same label from both
    certainty_source: float | None  # mean probability of the label given
    certainty_adapted: float | None
    classes_source: float | None  # how many classes are said, each counted by how often; a collapse shows here
    classes_adapted: float | None
    refused: int  # steps that only the source could make
    labelled: int
    waiting: int  # samples whose labels may still come
    accuracy_source: float | None
    accuracy_adapted: float | None
    gain: float | None  # accuracy of the adapted model minus that of the source
    gain_low: float | None  # a 95 % interval that holds at every moment at once
    gain_high: float | None

    def __str__(self) -> str:
        lines = [f"{'the adapted model' if self.live else 'the source'} answers; {self.samples:,} samples"]
        if self.samples:
            lines += [
                f"agreement {self.agreement:.1%}",
                f"certainty: source {self.certainty_source:.3f}, adapted {self.certainty_adapted:.3f}",
                f"classes in use: source {self.classes_source:.1f}, adapted {self.classes_adapted:.1f}",
            ]
        if self.refused:
            lines.append(f"{self.refused:,} steps only the source could make")
        if self.labelled:
            lines += [
                f"accuracy of {self.labelled:,} labelled: source {self.accuracy_source:.1%}, adapted "
                f"{self.accuracy_adapted:.1%}",
                f"gain {self.gain:+.1%}, 95 % interval {self.gain_low:+.1%} to {self.gain_high:+.1%} at any time",
            ]
        return "\n".join(lines)


class Shadow(Stateful):
    """Runs the source beside an adapted model. `live` says that the adapted model answers."""

    state: ClassVar[Mapping[str, Reader]] = {"live": flag, "known": Known.read}

    def __init__(self, source: Method) -> None:
        self.source, self.live = source, False
        self.reset()

    def reset(self) -> None:
        """Nothing was seen. Who answers stays."""
        self.known = Known(torch.zeros(2, 0, dtype=torch.int64), {})

    def state_dict(self) -> dict[str, Any]:
        return {"live": self.live, "known": self.known.to_plain()}

    def check(self, classes: int | None) -> None:
        """Raises where it is known how many classes there are, and others were counted."""
        if classes is not None and self.known.said.shape[1] not in (0, classes):
            raise ValueError("its shadow has counted other classes")

    def step(self, x: Tensor, ids: Any, adapt: Callable[[Noting], Outcome], answer: Callable[..., Any]) -> Outcome:
        """A step of the adapted model and what the source says. Where the first fails, the source still answers.

        `adapt` makes the step, whole or not at all with the noting of what it says; `answer` makes of a prediction
        what the network would give.
        """
        names = self.read_ids(ids, len(x))
        with self.source.cost.phase("predict"):
            said = self.source.predict(x)
        check_logits(said.logits, len(x), None)
        try:
            outcome = adapt(lambda adapted: self._note(names, said, adapted))
        except GottaError:
            if self.live:
                raise
            self.known = self.known._replace(refused=self.known.refused + 1)
            return Outcome(said, not_stored(len(x)), 0, self.source.cost.take(), output=answer(said, self.source))
        if self.live:
            return replace(outcome, ids=names, beside=said)
        return replace(outcome, prediction=said, output=answer(said, self.source), ids=names, beside=outcome.prediction)

    def read_ids(self, ids: Any, samples: int) -> list[Key]:
        """One for each sample; without any, they are numbered from 0."""
        if ids is None:
            return list(range(self.known.samples, self.known.samples + samples))
        found = [check_key(one, "sample") for one in list_values(ids)]
        if len(found) != samples or len({*found}) != samples or not self.known.waiting.keys().isdisjoint(found):
            raise GottaError(f"ids must name each of the {samples} samples, and no other that waits (got {ids!r:.40}).")
        return found

    def _note(self, ids: Sequence[Key], source: Prediction, adapted: Prediction) -> None:
        certainty, label = torch.stack([said.probs.detach().double() for said in (source, adapted)]).cpu().max(2)
        known, classes = self.known, source.logits.shape[1]
        counted = torch.stack([torch.bincount(row, minlength=classes) for row in label])
        sure_source, sure_adapted = certainty.sum(1).tolist()
        # The step may still go back to what was known.
        waiting = {**known.waiting, **dict(zip(ids, zip(*label.tolist(), strict=True), strict=True))}
        for oldest in list(islice(waiting, max(0, len(waiting) - WAITING))):
            del waiting[oldest]
        self.known = known._replace(
            said=known.said + counted if known.said.shape[1] else counted,
            waiting=waiting,
            samples=known.samples + len(ids),
            agreed=known.agreed + int((label[0] == label[1]).sum()),
            certainty_source=known.certainty_source + sure_source,
            certainty_adapted=known.certainty_adapted + sure_adapted,
        )

    def feed_back(self, ids: Any, labels: Any) -> None:
        """Count the true labels of samples, all or none."""
        known, classes = self.known, self.known.said.shape[1]
        names, truths = [check_key(one, "sample") for one in list_values(ids)], list_values(labels)
        if len(names) != len(truths):
            raise GottaError(f"{len(names)} ids and {len(truths)} labels do not go together. Give a label for each id.")
        wrong = [label for label in truths if type(label) is not int or not 0 <= label < max(1, classes)]
        if wrong:
            raise GottaError(f"a label must be a whole number from 0 to {classes - 1} (got {wrong[0]!r:.40}).")
        unknown = [one for one in names if one not in known.waiting]
        if unknown or len({*names}) != len(names):
            raise GottaError(
                f"no sample waits for a label under id {(unknown or names)[0]!r:.60}: it was never seen, has its label "
                f"already, or is not among the last {WAITING:,}. None of these labels was counted."
            )
        for one, truth in zip(names, truths, strict=True):
            source, adapted = known.waiting[one]
            known = known.with_label(source == truth, adapted == truth)
        labelled = {*names}
        self.known = known._replace(waiting={one: it for one, it in known.waiting.items() if one not in labelled})

    def report(self) -> ShadowReport:
        from gotta.metrics.confidence_sequence import bound_mean  # most models have no shadow

        known, n, m = self.known, self.known.samples, self.known.labelled
        won = known.right_adapted - known.right_source
        means = [part / n if n else None for part in (known.agreed, known.certainty_source, known.certainty_adapted)]
        accuracies = [part / m if m else None for part in (known.right_source, known.right_adapted, won)]
        interval = bound_mean(m, won, known.spread) if m else (None, None)
        counts = known.refused, m, len(known.waiting)
        fields: list[Any] = [self.live, n, *means, *map(_classes_in_use, known.said), *counts, *accuracies, *interval]
        return ShadowReport(*fields)


def _classes_in_use(counts: Tensor) -> float | None:
    """exp of the entropy of how often each class was said."""
    if not counts.sum():
        return None
    shares = counts.double() / counts.sum()
    return float(torch.special.entr(shares).sum().exp())
