"""What a prior is: it is given the logits of samples in the order in which they came, and answers with others.

It is causal: a sample's answer depends on that sample and those before it. What it knows is its *belief*, which is
exchanged as a whole and never changed in place: `follow` moves it, `look` only asks.
"""

import inspect
import logging
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gotta.registry import Registry
from gotta.state import Reader, Stateful, number, optional, read_each, set_values, values_of
from gotta.types import Prediction

LOG = logging.getLogger(__name__)
Floats = NDArray[np.float64]
Starts = NDArray[np.bool_]


def named_values(saved: Any) -> dict[str, Any]:
    """Arrays and numbers by name."""
    return {name: value.cpu().numpy() if isinstance(value, Tensor) else value for name, value in dict(saved).items()}


class Foreseen(NamedTuple):
    """What a prior will say of samples, computed together with those of other streams. Valid if all of them count."""

    raw: Tensor  # the logits of the network
    judged: Tensor  # those to use
    belief: Any  # after them


class Prior(Stateful):
    """The base of all priors. A new one says with `begin` what it believes at first, and with `judge` what follows.

    A belief is a NamedTuple of arrays and numbers. Arguments of the constructor are hyper-parameters. A model is built
    with a copy, so that one object may serve several models.

    >>> from typing import NamedTuple
    >>> import torch
    >>> from gotta.priors import Prior
    >>> class Seen(NamedTuple):
    ...     samples: int = 0
    >>> class Counting(Prior):
    ...     def begin(self, classes):
    ...         return Seen()
    ...     def judge(self, logits, belief, starts):
    ...         return logits, Seen(belief.samples + len(logits))
    >>> Counting().judge(torch.zeros(5, 3), Seen(2), None)[1]
    Seen(samples=7)
    """

    belief: Any = None  # until the number of classes is known
    before: Any = None  # as it was before the last batch
    counts: Starts | None = None  # which samples of the last batch count; all where None
    foreseen: Foreseen | None = None  # of the next samples
    state: ClassVar[Mapping[str, Reader]] = {"belief": optional(named_values), "before": optional(named_values)}

    def begin(self, classes: int) -> Any:
        """The belief before anything was seen."""
        raise NotImplementedError

    def judge(self, logits: Tensor, belief: Any, starts: Starts) -> tuple[Tensor, Any]:
        """The logits to use for samples in order, [B, C] in float64, and the belief after them.

        `starts` says of each sample whether it has nothing to do with the one before. The input is left as it is.
        """
        raise NotImplementedError

    def restart(self, belief: Any) -> Any:
        """The belief before a sample that has nothing to do with the last one."""
        return belief

    @property
    def stickiness(self) -> float | None:
        """How often a class is thought to stay, where the prior has an opinion."""
        return None

    @property
    def is_used(self) -> bool:
        """Whether predictions become others by it."""
        return True

    def follow(self, raw: Prediction, starts: Starts | None = None, counts: Tensor | None = None) -> Prediction:
        """The prediction of the next samples, which move the belief. `starts`: which of them begin something new.

        Samples that do not count move nothing, and their prediction is the network's own. `counts`: which do.
        """
        foreseen, self.foreseen = self.foreseen, None
        self.counts = None if counts is None else counts.cpu().numpy()
        if foreseen is not None and foreseen.raw is raw.logits and counts is None and starts is None:
            prediction, after = Prediction(foreseen.judged, raw.features, raw.embed, raw), foreseen.belief
        else:
            prediction, after = self._answer(raw, self.belief, starts, self.counts)
        self.before, self.belief = self.belief, after
        return prediction

    def foresee(self, streams: Sequence["Prior"], parts: Sequence[Tensor]) -> Sequence[Foreseen | None]:
        """What each of these priors of the same kind, one for each stream, will say of its samples. Nothing moves.

        None where it cannot be computed for all streams at once.
        """
        return [None] * len(parts)

    def look(self, raw: Prediction, starts: Starts | None = None, again: bool = False) -> Prediction:
        """The same, and nothing moves. `again`: of the samples that moved it last."""
        counts = self.counts if again else None
        return self._answer(raw, self.before if again else self.belief, starts, counts)[0]

    def boundary(self) -> None:
        """The next sample has nothing to do with the last one."""
        if self.belief is not None:
            LOG.debug("%s: a boundary", self.name)
            self.belief = self.restart(self.belief)

    def skip(self, starts: Starts | None) -> None:
        """Samples have passed that are not followed; a boundary among them counts."""
        if starts is not None and starts.any():
            self.boundary()

    def reset(self) -> None:
        """As new."""
        self.belief = self.before = None

    def state_dict(self) -> dict[str, Any]:
        return {name: belief and _to_plain(belief) for name, belief in values_of(self).items()}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        beliefs = {name: found and self.believe(found) for name, found in read_each(self.state, saved).items()}
        set_values(self, beliefs)

    def believe(self, values: Mapping[str, Any]) -> Any:
        """The belief with these arrays and numbers. Raises where it has none of that kind."""
        usual = self.begin(1)
        belief = type(usual)(**values)
        for name, value in usual._asdict().items():
            found = getattr(belief, name)
            if not isinstance(value, np.ndarray):
                number(found)
            elif not isinstance(found, np.ndarray) or found.dtype != value.dtype or not np.isfinite(found).all():
                raise ValueError(f"{name} of the prior is damaged")
        return belief

    def check(self, classes: int) -> None:
        """Raises unless what is believed is of so many classes."""
        for belief in (self.belief, self.before):
            for name, usual in self.begin(classes)._asdict().items() if belief is not None else ():
                if np.shape(getattr(belief, name)) != np.shape(usual):
                    raise ValueError(f"{name} of the prior is not of {classes} classes")

    def describe(self) -> list[str]:
        """What it thinks of the stream, in words."""
        s = "" if self.stickiness is None else f", stickiness s={self.stickiness:.2f}"
        return [f"prior={self.name}: predictions use the order of samples{s}"]

    def _answer(
        self, raw: Prediction, belief: Any, starts: Starts | None, counts: Starts | None
    ) -> tuple[Prediction, Any]:
        logits = raw.logits.detach().double().cpu()
        starts = np.zeros(len(logits), bool) if starts is None else starts
        belief = self.begin(logits.shape[1]) if belief is None else belief
        if counts is None or counts.all() or len(counts) != len(logits):
            judged, belief = self.judge(logits, belief, starts)
        else:
            judged = logits.clone()
            if counts.any():
                kept = np.flatnonzero(counts)
                # A clip that begins with a sample that does not count begins with the next one that does.
                begun = np.logical_or.reduceat(np.append(starts[: kept[-1] + 1], False), np.append(0, kept[:-1] + 1))
                judged[kept], belief = self.judge(logits[kept], belief, begun[: len(kept)])
            if starts[np.flatnonzero(counts)[-1] + 1 if counts.any() else 0 :].any():
                belief = self.restart(belief)
        return Prediction(judged.log_softmax(1).to(raw.logits), raw.features, raw.embed, raw), belief


def _to_plain(belief: Any) -> dict[str, Any]:
    values = belief._asdict().items()
    return {name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value for name, value in values}


priors: Registry[type[Prior]] = Registry(
    "prior", "gotta.priors", lambda cls: issubclass(cls, Prior), "a subclass of gotta.priors.Prior"
)


def make_prior(prior: str | Prior, order_in_batch: str = "time") -> Prior:
    """The prior of this name, or a copy of the given one.

    `prior` is a name or an object; `order_in_batch` is for those that are asked by name and take it.

    >>> from gotta.priors import make_prior
    >>> make_prior("patient", order_in_batch="none").order_in_batch
    'none'
    """
    if isinstance(prior, Prior):
        return deepcopy(prior)
    takes_order = "order_in_batch" in inspect.signature(priors.get(prior)).parameters
    made: Prior = priors.build(prior, **({"order_in_batch": order_in_batch} if takes_order else {}))
    return made
