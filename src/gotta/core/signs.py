"""What the guard looks at: signs, found without labels, that an adapted model is worse than its source."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

SEGMENT = 8  # neighbouring samples that are looked at together
NO_RUNS = 0.05  # where neither model has more run excess, the stream has no runs to lose
AGREEMENT = 0.5
LESS_INFORMED, FEWER_CLASSES, WELL_INFORMED = 0.2, 0.3, 0.85  # of the logarithm of the number of classes


def spread(shares: Tensor) -> float:
    """The entropy of class shares [C], 1 for all classes alike; of several [B, C], the mean."""
    return float(-(shares * (shares + 1e-12).log()).sum(-1).mean()) / math.log(max(2, shares.shape[-1]))


def run_excess(probs: Tensor) -> float:
    """How much more often neighbours are predicted alike than samples far apart.

    The rows [B, C] are segments of neighbours, one after the other; rows of different segments are far apart. In a
    stream where neighbours share a class this is near the square of the accuracy times the share of such neighbours.
    """
    parts = probs.reshape(-1, SEGMENT, probs.shape[-1])
    count, sums = len(parts), parts.sum(1)
    if count < 2:
        return 0.0
    total, own = sums.sum(0), (sums * sums).sum()
    near = (own - (probs * probs).sum()) / (count * SEGMENT * (SEGMENT - 1))
    far = ((total * total).sum() - own) / (count * (count - 1) * SEGMENT**2)
    return float(near - far)


def runs_lost(own: Tensor, source: Tensor) -> float:
    """The run excess that the source has and the adapted model has not; 0 in a stream without runs."""
    ours, theirs = run_excess(own), run_excess(source)
    if not math.isfinite(theirs):
        return 0.0  # nothing to compare with
    if not math.isfinite(ours):
        return 1.0  # all there can be
    # Batch statistics push the predictions of a batch apart, so that an i.i.d. stream looks less alike than chance.
    return theirs - max(0.0, ours) if max(ours, theirs) > NO_RUNS else 0.0


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
        """From probabilities of segments of the stream, and from those of the rows to compare on."""
        entropies = [spread(rows) for rows in (own_rows, source_rows)]
        agreement = float((own_rows.argmax(1) == source_rows.argmax(1)).double().mean())
        lost = runs_lost(own, source)
        return cls(lost, agreement, own_rows.mean(0), entropies[0], source_rows.mean(0), entropies[1])

    def as_tensors(self) -> dict[str, Tensor]:
        """For a file: text has no NaN, tensors have."""
        return {name: torch.as_tensor(value, dtype=torch.float64) for name, value in asdict(self).items()}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> "Check":
        return cls(**{name: value if value.ndim else value.item() for name, value in tensors.items()})  # type: ignore[arg-type]


def collapse(checks: Sequence[Check], usual: Tensor) -> str:
    """Why the predictions of these checks together look collapsed, or nothing. `usual` are all predictions' shares."""
    agreement = _mean([check.agreement for check in checks])
    if agreement >= AGREEMENT:
        return ""
    own = spread(torch.stack([check.own_share for check in checks]).mean(0))
    source = spread(torch.stack([check.source_share for check in checks]).mean(0))
    informed = own - _mean([check.own_entropy for check in checks])
    source_informed = source - _mean([check.source_entropy for check in checks])
    few = own < min(source, spread(usual) - FEWER_CLASSES)
    # Written so that NaN counts as collapse.
    if few or not informed >= source_informed - LESS_INFORMED:
        return f"it agrees with it on {100 * agreement:.0f} % and predicts few classes"
    if source_informed > WELL_INFORMED:
        return f"it agrees with it on {100 * agreement:.0f} % where the source is sure"
    return ""


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
