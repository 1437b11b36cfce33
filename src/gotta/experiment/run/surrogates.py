"""What can be known of a run without labels, for choosing its settings; on request, by three more forwards a batch."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from gotta.core.adapted import Adapted
from gotta.cost import PHASES
from gotta.types import Outcome

COUNTS = ("agrees", "consistent")


def count_surrogates(adapted: Adapted, x: Tensor, outcome: Outcome) -> dict[str, int]:
    """Of a batch that was just predicted: on how many samples the source agrees with the scored prediction, and for
    how many the model as it is now says the same of the mirrored image. The model and its account of costs stay as
    they are."""
    spent = {name: tally for name, tally in adapted.method.cost.summary().items() if name in PHASES}
    frozen = adapted.frozen
    adapted.freeze()
    try:
        now, mirrored = (adapted.step(image).prediction.label for image in (x, x.flip(-1)))
        with torch.inference_mode(False):
            source = adapted.method.source_logits(x).argmax(1)
    finally:
        if not frozen:
            adapted.unfreeze()
        adapted.method.cost.restart(spent)
    agrees = int((source == outcome.prediction.label).sum())
    return {"agrees": agrees, "consistent": int((now == mirrored).sum())}


def surrogate_summary(steps: Sequence[dict[str, Any]], samples: int) -> dict[str, float]:
    """Shares of all samples, in percent."""
    agrees, consistent = (sum(step[name] for step in steps) for name in COUNTS)
    return {"agreement": 100 * agrees / samples, "consistency": 100 * consistent / samples}
