"""What any memory policy must satisfy, on random streams: `run("my_module:MyPolicy")` gives a report.

The streams are small, and of the kinds that break things.
"""

import json
import pickle
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gotta.checks.suite import Report, Result, Suite, no_global_randomness, same
from gotta.errors import GottaError
from gotta.limits import Within
from gotta.memory import Candidate, Decision, Memory, Policy, Table, policies
from gotta.memory.policy import make_policy
from gotta.registry import build_part

__all__ = ["Report", "Result", "check", "run"]


@dataclass(frozen=True)
class Case:
    """A stream and a memory to offer it to, as a few numbers."""

    batches: Annotated[int, Within(1, 6)]
    batch_size: Annotated[int, Within(1, 24)]
    capacity: Annotated[int, Within(1, 20)]
    num_classes: Annotated[int, Within(2, 12)]
    kind: Literal["iid", "bursty", "one class", "duplicates", "constant embeddings", "repeats"]
    seed: Annotated[int, Within(0, 2**16)]

    def stream(self) -> "Samples":
        return samples(self.kind, self.num_classes, self.count, self.seed)

    @property
    def count(self) -> int:
        return self.batches * self.batch_size


Samples = dict[str, NDArray[Any]]  # x[N, 2] (id and noise), label[N], uncertainty[N], embedding[N, D]


def cut(stream: Samples, start: int, stop: int) -> dict[str, Any]:
    """The arguments of `observe` for some samples, as copies."""
    return {name: values[start:stop].copy() for name, values in stream.items()}


def parts(stream: Samples, size: int) -> Iterator[dict[str, Any]]:
    return (cut(stream, start, start + size) for start in range(0, len(stream["x"]), size))


def samples(kind: str, num_classes: int, size: int, seed: int) -> Samples:
    """Predictions with softmax embeddings. Except in `duplicates`, `constant embeddings` and `repeats` nothing ties."""
    rng = np.random.default_rng([seed, len(kind)])
    target = rng.integers(num_classes, size=size)
    if kind == "bursty":
        target = np.repeat(target, rng.geometric(0.1, size=size))[:size]
    if kind in ("one class", "duplicates"):
        target[:] = target[0]
    logits = rng.normal(size=(size, num_classes))
    logits[np.arange(size), target] += rng.uniform(1, 9, size)
    if kind == "duplicates":
        logits[:] = logits[0]
    if kind == "repeats":
        for i in range(1, size):
            if rng.random() < 0.4:
                logits[i] = logits[rng.integers(i)] + rng.choice([0.0, 1e-3]) * rng.normal(size=num_classes)
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    uncertainty = -(p * np.log(p + 1e-6)).sum(1)
    embedding = np.full_like(p, 0.5) if kind == "constant embeddings" else p
    x = np.stack([np.arange(size), rng.normal(size=size)], 1)
    label, x, embedding = logits.argmax(1), x.astype(np.float32), embedding.astype(np.float32)
    return {"x": x, "label": label, "uncertainty": uncertainty, "embedding": embedding}


@dataclass(frozen=True)
class Subject:
    """The policy under test, built anew for every memory, so that nothing it might keep passes from one to the next."""

    build: Callable[[], Policy]

    def memory(self, case: Case, seed: int = 0) -> Memory:
        return Memory(self.build(), capacity=case.capacity, num_classes=case.num_classes, seed=seed)

    @property
    def lasts(self) -> bool:
        return not self.build().holds_batch


def find(policy: Any, arguments: dict[str, Any]) -> Subject:
    subject = Subject(lambda: make_policy(deepcopy(policy), arguments))
    if isinstance(policy, type):
        subject = Subject(lambda: make_policy(build_part("memory", policy, **arguments), {}))
    subject.build()  # an unknown name or wrong arguments are a mistake of the caller, not of the policy
    return subject


SUITE = Suite(policies, Case, find, examples=30)
named, run, check = SUITE.named, SUITE.run, SUITE.check


@named("never holds more than its capacity; slots are in range")
def fits(subject: Subject, case: Case) -> None:
    memory = subject.memory(case)
    for part in parts(case.stream(), case.batch_size):
        slots = memory.observe(**part)
        limit = case.capacity if subject.lasts else len(slots)
        assert slots.shape == (len(part["label"]),), f"{slots.shape} slots for {len(part['label'])} samples"
        assert ((slots >= -1) & (slots < limit)).all(), f"slots {slots.tolist()} with capacity {limit}"
        assert len(memory) == len(memory.batch()) <= limit, f"{len(memory)} rows with capacity {limit}"


@named("stored rows were really observed, with their own label, uncertainty, embedding and age")
def stored_rows_are_real(subject: Subject, case: Case) -> None:
    memory, stream = subject.memory(case), case.stream()
    where: dict[int, int] = {}
    for start in range(0, case.count, case.batch_size):
        slots = memory.observe(**cut(stream, start, start + case.batch_size))
        if not subject.lasts:
            where = {}
        where.update({int(slot): start + i for i, slot in enumerate(slots) if slot >= 0})
    batch = memory.batch()
    ids = memory.ids
    assert ids.tolist() == [where[int(slot)] for slot in memory.slots], "the slots do not lead back to the samples"
    for name, values in stream.items():
        assert np.array_equal(getattr(batch, name).numpy(), values[ids]), f"{name} of a stored row differs"
    expected = case.count - ids if subject.lasts else np.zeros(len(ids))
    assert np.array_equal(batch.age.numpy(), expected), "ages do not count the samples since storing"


@named("leaves its input as it was, and keeps and gives no reference to it")
def copies(subject: Subject, case: Case) -> None:
    memory, stream = subject.memory(case), case.stream()
    part = {name: torch.from_numpy(value) for name, value in stream.items()}
    before = {name: value.clone() for name, value in part.items()}
    memory.observe(**part)
    assert all(torch.equal(part[name], before[name]) for name in part), "observe changed its input"
    content = snapshot(memory)
    for value in part.values():
        value.zero_()
    same(content, snapshot(memory), "changing the input later changed the memory")
    batch = memory.batch()
    for name in ("x", "label", "uncertainty", "embedding", "age"):
        getattr(batch, name).fill_(-1)
    same(content, snapshot(memory), "changing a returned batch changed the memory")


@named("counts agree with labels; every decision is counted once")
def counts_agree(subject: Subject, case: Case) -> None:
    memory, stream = subject.memory(case), case.stream()
    for part in parts(stream, case.batch_size):
        memory.observe(**part)
        held = np.bincount(memory.peek().label.numpy(), minlength=case.num_classes)
        assert np.array_equal(held, memory._table.count), "count[class] differs from the labels of the rows"
    stats = memory.stats
    total = {name: stats.pop(name) for name in ("stored", "rejected", "evicted")}
    assert total["stored"] + total["rejected"] == case.count == sum(stats.values()), f"{total} and {stats}"
    if subject.lasts:
        assert total["stored"] - total["evicted"] == len(memory), f"{total} with {len(memory)} rows"


@named("same seed, same content; no global randomness")
def repeatable(subject: Subject, case: Case) -> None:
    with no_global_randomness():
        first, second = make_offer(subject, case), make_offer(subject, case)
    same(first, second, "two memories with one seed and one stream differ")


@named("one batch equals two halves equals one sample at a time")
def batching_does_not_matter(subject: Subject, case: Case) -> None:
    if not subject.lasts:
        return
    whole = case.count
    expected = make_offer(subject, case, whole)
    for size in (1, max(1, whole // 2), case.batch_size):
        same(expected, make_offer(subject, case, size), f"batches of {size} give another content than one of {whole}")


@named("a saved state goes on identically in a new memory")
def state_goes_on(subject: Subject, case: Case) -> None:
    memory, stream = subject.memory(case), case.stream()
    offers = list(parts(stream, case.batch_size))
    for part in offers[: len(offers) // 2]:
        memory.observe(**part)
        memory.batch()
    state = memory.state_dict()
    json.dumps({name: value for name, value in state.items() if not isinstance(value, Tensor)})
    other = subject.memory(case, seed=1)
    other.load_state_dict(deepcopy(state))
    same(snapshot(memory), snapshot(other), "a loaded memory differs from the saved one")
    for part in offers[len(offers) // 2 :]:
        slots = memory.observe(**part), other.observe(**part)
        assert np.array_equal(*slots), f"after loading, slots {slots[1].tolist()} instead of {slots[0].tolist()}"
    same(snapshot(memory), snapshot(other), "a loaded memory goes on differently")


@named("reset equals new")
def reset_is_new(subject: Subject, case: Case) -> None:
    expected = make_offer(subject, case)
    memory = subject.memory(case)
    for seed in (case.seed + 1, case.seed):
        memory.reset()
        assert len(memory) == 0 == len(memory.batch())
        offer(memory, replace(case, seed=seed).stream(), case.batch_size)
    same(expected, snapshot(memory), "after reset() the same stream gives another content")


class Watched(Policy):
    """Asks the policy twice, on copies of table and generator, and compares."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.needs, self.vectors, self.keeps = policy.needs, policy.vectors, policy.keeps  # type: ignore[misc]
        self.after_read = policy.after_read  # type: ignore[method-assign]

    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> Decision | int:
        other_table, other_rng = deepcopy(table), deepcopy(rng)
        owner = getattr(self.policy.place, "__self__", self.policy)
        held = dump_policy(owner)
        first = self.policy.place(other_table, new, other_rng)
        same(columns(table), columns(other_table), "place() changed the table")
        second = self.policy.place(table, new, rng)
        assert first == second, f"place() decided {first}, and {second} when asked again"
        assert dump_policy(owner) == held, "place() keeps something on the policy"
        return second


def dump_policy(policy: Any) -> bytes | str:
    """All that a policy or its class holds, as bytes to compare (never to load), or as text where that cannot be."""
    values = [vars(kind).items() for kind in (policy, type(policy)) if hasattr(kind, "__dict__")]
    held = [{name: value for name, value in part if not (callable(value) or name[:2] == "__")} for part in values]
    try:
        return pickle.dumps(held)
    except (pickle.PicklingError, TypeError, AttributeError):
        return repr(held)


@named("place() decides by its arguments alone and changes neither table nor policy")
def pure(subject: Subject, case: Case) -> None:
    if not subject.lasts:
        return
    case = replace(case, batches=min(case.batches, 2))
    memory = Memory(Watched(subject.build()), capacity=case.capacity, num_classes=case.num_classes)
    offer(memory, case.stream(), case.batch_size)


@named("renaming the classes renames the result (policies that draw nothing, streams without ties)")
def relabelling_permutes(subject: Subject, case: Case) -> None:
    case = replace(case, kind=case.kind if case.kind in ("iid", "bursty", "one class") else "iid")
    stream = case.stream()
    memory, other = subject.memory(case), subject.memory(case)
    permutation = np.random.default_rng(case.seed).permutation(case.num_classes)
    embedding = np.empty_like(stream["embedding"])
    embedding[:, permutation] = stream["embedding"]
    before = json.dumps(memory.state_dict()["rng"], default=str)
    offer(memory, stream, case.batch_size)
    offer(other, {**stream, "label": permutation[stream["label"]], "embedding": embedding}, case.batch_size)
    if json.dumps(memory.state_dict()["rng"], default=str) == before:
        assert sorted(memory.ids) == sorted(other.ids), "with renamed classes other samples are stored"


@named("columns that it does not declare in `needs` do not matter")
def needs_are_complete(subject: Subject, case: Case) -> None:
    policy = subject.build()
    owner = type(getattr(policy.place, "__self__", policy))
    if not any("needs" in vars(kind) for kind in owner.__mro__ if kind is not Policy):
        return
    memory = subject.memory(case)
    for part in parts(case.stream(), case.batch_size):
        memory.observe(**{name: value for name, value in part.items() if name in ("x", *policy.needs)})
    expected = make_offer(subject, case)["x"].tolist()
    assert sorted(memory.peek().x.tolist()) == sorted(expected), f"needs={policy.needs}, but other columns count too"


@named("survives one class, duplicates, capacity 1, batch 1, large batches, more classes than slots")
def survives(subject: Subject, case: Case) -> None:
    changes: list[dict[str, Any]] = [{"kind": kind} for kind in ("one class", "duplicates", "constant embeddings")]
    changes += [{"capacity": 1}, {"batch_size": 1, "batches": 20}]
    changes += [{"capacity": 3, "batch_size": 40}, {"capacity": 4, "num_classes": 40}]
    for change in changes:
        fits(subject, replace(case, **change))


@named("a batch with a NaN, an infinity or a wrong label is rejected whole; the memory is untouched")
def bad_batches_bounce(subject: Subject, case: Case) -> None:
    memory, stream = subject.memory(case), case.stream()
    offer(memory, stream, case.batch_size)
    before = memory.state_dict()
    wrong = [("label", case.num_classes), ("label", -1)]
    for name, value in [*wrong, ("uncertainty", np.nan), ("embedding", np.inf), ("x", np.nan)]:
        part = cut(stream, 0, case.count)
        part[name][-1] = value
        with suppress(GottaError):
            memory.observe(**part)
            raise AssertionError(f"a batch with {name}={value} was taken")
        same(before, memory.state_dict(), f"a batch with a bad {name} changed the memory")


@named("a refresh keeps the rows and gives them their new predictions")
def refresh_keeps_rows(subject: Subject, case: Case) -> None:
    memory, stream = subject.memory(case), case.stream()
    offer(memory, stream, case.batch_size)
    ids = sorted(memory.ids.tolist())
    moved, twice = (stream["label"] + 1) % case.num_classes, 2 * stream["uncertainty"]

    def predict(x: Tensor) -> Any:
        at = x[:, 0].long().numpy()  # each sample begins with its id
        said = {"label": moved[at], "uncertainty": twice[at], "embedding": stream["embedding"][at, ::-1]}
        return SimpleNamespace(**{name: torch.from_numpy(value.copy()) for name, value in said.items()})

    memory.refresh(predict)
    assert sorted(memory.ids.tolist()) == ids, "a refresh changed which samples are stored"
    batch = memory.peek()
    assert np.array_equal(batch.label.numpy(), moved[memory.ids]), "labels are not the new ones"
    assert np.array_equal(batch.uncertainty.numpy(), twice[memory.ids]), "uncertainties are not new"
    for part in parts(stream, case.batch_size):
        memory.observe(**part)
        assert len(memory) <= max(case.capacity, case.batch_size)


def offer(memory: Memory, stream: Samples, size: int) -> None:
    for part in parts(stream, size):
        memory.observe(**part)


def make_offer(subject: Subject, case: Case, size: int | None = None) -> dict[str, Any]:
    memory = subject.memory(case)
    offer(memory, case.stream(), size or case.batch_size)
    return snapshot(memory)


def snapshot(memory: Memory) -> dict[str, Any]:
    """Everything a reader of the memory sees."""
    batch = memory.peek()
    return {name: getattr(batch, name) for name in ("x", "label", "uncertainty", "embedding", "age")}


def columns(table: Table) -> dict[str, Any]:
    names = (*table.columns, "mean", "count", "seen")
    return {**{name: repr(getattr(table, name).tolist()) for name in names}, "clock": table.clock, "size": len(table)}
