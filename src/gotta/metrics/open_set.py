"""Does the model's confidence separate known samples from foreign ones? AUC, and the H-score with the accuracy."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import rankdata

from gotta.metrics.online import entropies, log_softmax
from gotta.types import FOREIGN, Floats, Truth

AREAS = ("auc_probability", "auc_energy", "auc_entropy")  # a sample counts as known the larger the probability, ...


class OpenSet:
    """Keeps three numbers of each sample. Everything is computed domain by domain and averaged, as accuracies are."""

    def __init__(self, domains: Sequence[str]) -> None:
        self.domains = tuple(domains)
        self._scores: list[Floats] = []  # [B, 3]
        self._truth: list[NDArray[np.int64]] = []  # [B, 3]: domain, foreign, right

    def update(
        self, truth: Truth, logits: NDArray[np.floating[Any]], raw: NDArray[np.floating[Any]] | None = None
    ) -> None:
        """Take note of a batch. `raw` are the network's own logits where a prior has made probabilities of them."""
        finite = np.isfinite(logits).all(1)
        clean = np.where(finite[:, None], logits, 0.0).astype(np.float64)
        log_probs = log_softmax(clean)
        energy = logsumexp(clean if raw is None else np.nan_to_num(raw.astype(np.float64)), axis=1)
        scores = np.stack([np.exp(log_probs.max(1)), energy, -entropies(log_probs)], 1)
        scores[~finite] = -np.inf  # nothing is less sure
        foreign = truth.label == FOREIGN
        right = finite & (clean.argmax(1) == truth.label)
        self._scores.append(scores)
        self._truth.append(np.stack([truth.domain, foreign, right], 1).astype(np.int64))

    def summary(self) -> dict[str, Any]:
        """Percentages: the AUC by each score, the H-score by probability; and how many samples were foreign."""
        scores, (domain, foreign, right) = np.concatenate(self._scores), np.concatenate(self._truth).T
        found: dict[str, list[float]] = {name: [] for name in (*AREAS, "h_score")}
        for visit in np.unique(domain):
            here, strange = domain == visit, foreign[domain == visit].astype(bool)
            if strange.all() or not strange.any():
                continue
            areas = [auc(scores[here, k], ~strange) for k in range(len(AREAS))]
            for name, area in zip(AREAS, areas, strict=True):
                found[name].append(100 * area)
            found["h_score"].append(100 * harmonic_mean(float(right[here][~strange].mean()), areas[0]))
        means = {name: float(np.mean(values)) if values else None for name, values in found.items()}
        return {"foreign": int(foreign.sum()), **means}

    def state_dict(self) -> dict[str, Any]:
        empty = np.empty((0, 3))
        return {"scores": np.concatenate([empty, *self._scores]), "truth": np.concatenate([empty, *self._truth])}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._scores, self._truth = [np.array(state["scores"])], [np.array(state["truth"]).astype(np.int64)]


def auc(score: Floats, known: NDArray[np.bool_]) -> float:
    """How often a known sample scores above a foreign one, ties counting half."""
    ranks, many, few = rankdata(score), int(known.sum()), int((~known).sum())
    return float((ranks[known].sum() - many * (many + 1) / 2) / (many * few))


def harmonic_mean(first: float, second: float) -> float:
    return 2 * first * second / (first + second) if first + second else 0.0
