"""What any prior must satisfy, on random streams of logits: `run("my_module:MyPrior")` gives a report."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from gotta.checks.suite import Suite, no_global_randomness, same, take_part
from gotta.limits import Within
from gotta.priors import Prior, priors
from gotta.types import Prediction

__all__ = ["check", "run"]


@dataclass(frozen=True)
class Case:
    """A stream of logits in which a class stays for a while, cut into batches."""

    batches: Annotated[int, Within(2, 6)]
    batch_size: Annotated[int, Within(1, 12)]
    classes: Annotated[int, Within(2, 12)]
    run_length: Annotated[int, Within(1, 30)]
    seed: Annotated[int, Within(0, 2**16)]

    def stream(self) -> list[Tensor]:
        rng = np.random.default_rng(self.seed)
        count = self.batches * self.batch_size
        label = rng.integers(self.classes, size=1 + count // self.run_length).repeat(self.run_length)[:count]
        logits = rng.normal(size=(count, self.classes)) + 2 * np.eye(self.classes)[label]
        return list(torch.split(torch.from_numpy(logits).float(), self.batch_size))


Make = Callable[[], Prior]  # the prior under test, anew for every stream


def find(prior: Any, arguments: dict[str, Any]) -> Make:
    found = take_part(priors, prior, arguments)
    return lambda: deepcopy(found) if isinstance(found, Prior) else found(**arguments)


SUITE = Suite(priors, Case, find, examples=15)
named, run, check = SUITE.named, SUITE.run, SUITE.check


def follow(prior: Prior, stream: list[Tensor]) -> list[Tensor]:
    return [prior.follow(Prediction(logits)).logits for logits in stream]


@named("answers with finite logits [B, C] of the type they came in, and leaves the given ones as they were")
def gives_logits(make: Make, case: Case) -> None:
    prior = make()
    for logits in case.stream():
        before = logits.clone()
        found = prior.follow(Prediction(logits)).logits
        assert found.shape == logits.shape, f"logits of shape {list(found.shape)}, expected {list(logits.shape)}"
        assert found.dtype == logits.dtype, f"logits of {found.dtype}, expected {logits.dtype}"
        assert bool(torch.isfinite(found).all()), "logits that are not finite"
        assert torch.equal(logits, before), "the given logits were changed"


@named("is causal: what comes later does not change an answer")
def is_causal(make: Make, case: Case) -> None:
    stream = case.stream()
    other = [*stream[:-1], stream[-1].flip(1)]
    first, second = follow(make(), stream), follow(make(), other)
    assert all(map(torch.equal, first[:-1], second[:-1])), "a later batch changed an earlier answer"


@named("only `follow` moves it: looking changes nothing, and asked again of the last samples it answers the same")
def looking_changes_nothing(make: Make, case: Case) -> None:
    prior = make()
    for logits in case.stream():
        prior.look(Prediction(logits.flip(1)))
        state = deepcopy(prior.state_dict())
        ahead = prior.look(Prediction(logits)).logits
        same(state, prior.state_dict(), "look() moved")
        given = prior.follow(Prediction(logits)).logits
        assert torch.equal(ahead, given), "look() answers otherwise than follow()"
        assert torch.equal(given, prior.look(Prediction(logits), again=True).logits), "asked again it answers otherwise"


@named("restarts alike between two batches and at the first sample of one")
def restarts(make: Make, case: Case) -> None:
    *stream, last = case.stream()
    told, marked = make(), make()
    follow(told, stream), follow(marked, stream)
    told.boundary()
    first = marked.follow(Prediction(last), np.arange(len(last)) == 0).logits
    assert torch.allclose(follow(told, [last])[0], first), "they answer otherwise"


@named("a saved state is tensors and plain values, stays as it was, and goes on identically in a new prior")
def state_goes_on(make: Make, case: Case) -> None:
    stream, one, two = case.stream(), make(), make()
    half = len(stream) // 2
    follow(one, stream[:half])
    saved = one.state_dict()
    kept = deepcopy(saved)
    two.load_state_dict(saved)
    assert all(map(torch.equal, follow(one, stream[half:]), follow(two, stream[half:]))), "it goes on otherwise"
    same(saved, kept, "after it was saved, there changed")


@named("the same stream gives the same answers, after a reset too; no global randomness")
def repeatable(make: Make, case: Case) -> None:
    prior = make()
    with no_global_randomness():
        first, second = follow(prior, case.stream()), follow(make(), case.stream())
    prior.reset()
    assert all(map(torch.equal, first, second)), "two priors and one stream differ"
    assert all(map(torch.equal, first, follow(prior, case.stream()))), "after reset() it answers otherwise"
