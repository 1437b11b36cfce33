"""How good the predictions of a stream are: accuracy per domain and class, calibration. Keeps counts, no samples."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gotta.errors import GottaError
from gotta.limits import Count, require
from gotta.types import Floats, IntArray, Truth

BINS = 15


class Online:
    """Scores predictions as they come. `domains[i]` names position i of `Truth.domain`; a domain that is visited twice
    stands there twice and counts as two.

    `num_classes` is the number of logits.

    >>> import numpy as np
    >>> from gotta.metrics import Online
    >>> from gotta.types import Truth
    >>> online = Online(num_classes=3, domains=["fog-5"])
    >>> _ = online.update(Truth(np.array([0, 2]), np.array([0, 0]), np.array([0, 1])), np.eye(3)[[0, 1]])
    >>> online.summary()["accuracy"]
    50.0
    """

    def __init__(self, num_classes: int, domains: Sequence[str]) -> None:
        require("num_classes", num_classes, Count)
        require("the number of domains", len(domains), Count)
        self.num_classes, self.domains = num_classes, tuple(domains)
        self._visits = visit_names(self.domains)
        self._seen = np.zeros((len(domains), num_classes), np.int64)  # [domain, true class]
        self._right = np.zeros_like(self._seen)
        self._predicted = np.zeros(num_classes, np.int64)
        self._bins = np.zeros((3, BINS))  # samples, correct, sum of confidences
        self._nll = self._entropy = 0.0
        self._nonfinite = 0

    def state_dict(self) -> dict[str, Any]:
        """The counts so far: plain arrays and numbers."""
        return {name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in self._counts()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from the counts of a metric with the same classes and domains."""
        if any(np.shape(state[name]) != np.shape(mine) for name, mine in self._counts()):
            raise GottaError("the saved counts have other shapes: they are of a stream with other classes or domains.")
        for name, mine in self._counts():
            setattr(self, f"_{name}", np.array(state[name]) if isinstance(mine, np.ndarray) else state[name])

    def _counts(self) -> list[tuple[str, Any]]:
        names = ("seen", "right", "predicted", "bins", "nll", "entropy", "nonfinite")
        return [(name, getattr(self, f"_{name}")) for name in names]

    def update(self, truth: Truth, logits: NDArray[np.floating[Any]]) -> dict[str, Any]:
        """Score one step and return its record."""
        self._check(truth, logits)
        finite = np.isfinite(logits).all(1)
        guess = np.where(finite, np.where(finite[:, None], logits, 0).argmax(1), -1)
        right = guess == truth.label
        np.add.at(self._seen, (truth.domain, truth.label), 1)
        np.add.at(self._right, (truth.domain[right], truth.label[right]), 1)
        self._predicted += np.bincount(guess[finite], minlength=self.num_classes)
        log_probs = log_softmax(np.asarray(logits[finite], np.float64))
        self._bins += calibration_bins(log_probs, right[finite])
        visits, counts = np.unique(truth.domain, return_counts=True)
        nll = -log_probs[np.arange(len(log_probs)), truth.label[finite]]
        entropy = entropies(log_probs)
        self._nll += float(nll.sum())
        self._entropy += float(entropy.sum())
        self._nonfinite += int((~finite).sum())
        return {
            "samples": len(right),
            "correct": int(right.sum()),
            "accuracy": _percent(right.sum(), len(right)),
            "entropy": _ratio(entropy.sum(), len(entropy)),
            "nll": _ratio(nll.sum(), len(nll)),
            "nonfinite": int((~finite).sum()),
            "domains": {self._visits[i]: int(n) for i, n in zip(visits, counts, strict=True)},
        }

    def summary(self) -> dict[str, Any]:
        """Everything so far, JSON-ready. Accuracies, errors, shares and ECE are percentages."""
        seen, right = self._seen.sum(1), self._right.sum(1)
        domains = [_domain(*row) for row in zip(self.domains, seen.tolist(), right.tolist(), strict=True)]
        accuracies = [domain["accuracy"] for domain in domains if domain["samples"]]
        accuracy = _ratio(sum(accuracies), len(accuracies))
        samples, scored = int(seen.sum()), int(self._bins[0].sum())
        return {
            "samples": samples,
            "accuracy": accuracy,
            "error": None if accuracy is None else 100.0 - accuracy,
            "overall": _percent(right.sum(), samples),
            "class_accuracy": class_accuracy(self._seen, self._right),
            "domains": domains,
            "classes": [_percent(*row) for row in zip(self._right.sum(0), self._seen.sum(0), strict=True)],
            "predicted": [_percent(count, samples) for count in self._predicted],
            "ece": calibration_error(self._bins),
            "nll": _ratio(self._nll, scored),
            "entropy": _ratio(self._entropy, scored),
            "nonfinite": self._nonfinite,
        }

    def _check(self, truth: Truth, logits: NDArray[np.floating[Any]]) -> None:
        expected = len(truth.label), self.num_classes
        if logits.shape != expected:
            raise GottaError(f"logits must be [samples, classes] = {expected}, got {logits.shape}.")
        for name, values, limit in (
            ("label", truth.label, self.num_classes),
            ("domain", truth.domain, len(self.domains)),
        ):
            if not ((values >= 0) & (values < limit)).all():
                raise GottaError(f"{name}s must lie in 0..{limit - 1}, as in the stream of the metric, got {values}.")


def class_accuracy(seen: IntArray, right: IntArray) -> float | None:
    """Percent of each class that was right, mean over the classes of a domain, then over domains: [domains, classes].

    >>> class_accuracy(np.array([[8, 2], [1, 0]]), np.array([[4, 2], [1, 0]]))
    87.5
    """
    by_domain = [(right[k][found] / seen[k][found]).mean() for k, found in enumerate(seen > 0) if found.any()]
    return _percent(sum(by_domain), len(by_domain))


def visit_names(domains: Sequence[str]) -> list[str]:
    """The names with later visits of a domain numbered: `snow-5`, `fog-5`, `snow-5 (visit 2)`."""
    visits: Counter[str] = Counter()
    names = []
    for name in domains:
        visits[name] += 1
        names.append(name if visits[name] == 1 else f"{name} (visit {visits[name]})")
    return names


def log_softmax(logits: Floats) -> Floats:
    with np.errstate(over="ignore"):  # the difference of two huge logits: -inf is the right answer
        shifted = logits - logits.max(1, keepdims=True, initial=-np.inf)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(1, keepdims=True)))


def entropies(log_probs: Floats) -> Floats:
    probs = np.exp(log_probs)
    return np.asarray(-(probs * np.where(probs > 0, log_probs, 0.0)).sum(1))


def calibration_bins(log_probs: Floats, right: NDArray[np.bool_]) -> Floats:
    """Samples, correct ones and summed confidence in each of the bins (0, 1/15], ..., (14/15, 1]: [3, BINS]."""
    confidence = np.exp(log_probs.max(1, initial=-np.inf))
    position = np.clip(np.ceil(confidence * BINS).astype(np.int64) - 1, 0, BINS - 1)
    weights = np.ones(len(right)), right.astype(np.float64), confidence
    return np.stack([np.bincount(position, weight, BINS) for weight in weights])


def calibration_error(bins: Floats) -> float | None:
    """Expected calibration error in percent: |correct - confidence| per bin, weighted by its samples."""
    samples, correct, confidence = bins
    return _percent(np.abs(correct - confidence).sum(), samples.sum())


def _domain(name: str, samples: int, right: int) -> dict[str, Any]:
    accuracy = _percent(right, samples)
    error = None if accuracy is None else 100.0 - accuracy
    return {"name": name, "samples": samples, "accuracy": accuracy, "error": error}


def _ratio(part: float | np.number[Any], whole: float | np.number[Any]) -> float | None:
    return float(part) / float(whole) if whole else None


def _percent(part: float | np.number[Any], whole: float | np.number[Any]) -> float | None:
    return 100.0 * float(part) / float(whole) if whole else None
