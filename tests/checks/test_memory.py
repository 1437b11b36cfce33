"""The public suite passes every registered policy and catches wrong ones."""

import random
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
from checks.one_property import keep_property

from gotta.checks import memory as checks
from gotta.errors import GottaError
from gotta.memory import REJECT, Candidate, Decision, Policy, Table, policies

pytestmark = pytest.mark.thorough

COMPOSED = [(a, e, d) for a in ("all", "largest", "quota") for e, d in (("oldest", "better"), ("random", "diverse"))]


def test_all_policies_are_here() -> None:
    expected = "cbfifo cds composed cstu fifo fps fpsd herding hus kcenter lowentropy mcm none pbrs rbm"
    assert policies.names() == [*expected.split(), "reservoir"]


@pytest.mark.parametrize("name", policies.names())
def test_registered_policies_pass(name: str) -> None:
    checks.check(name, examples=4)


@pytest.mark.slow
@pytest.mark.parametrize("name", policies.names())
def test_registered_policies_pass_on_many_streams(name: str) -> None:
    checks.check(name, examples=30)


@pytest.mark.parametrize(("allocate", "evict", "admit"), COMPOSED)
def test_other_compositions_pass(allocate: str, evict: str, admit: str) -> None:
    checks.check("composed", examples=2, allocate=allocate, evict=evict, admit=admit)


@pytest.mark.parametrize("quota", ["floor", "ceil", "none"])
@pytest.mark.parametrize("name", ["cstu", "cds", "fps", "kcenter"])
def test_other_quotas_pass(name: str, quota: str) -> None:
    checks.check(name, examples=2, quota=quota)


class Fifo:
    """Right, and written without the base class."""

    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> int:
        return int(table.order[0]) if table.full else table.free()


class OffByOne(Policy):
    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> int:
        return len(table)


class NegativeSlot(Policy):
    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> int:
        return table.free() if not table.full else -2


class GlobalNumpy(Policy):
    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> int:
        return int(np.random.randint(table.capacity))  # noqa: NPY002


class GlobalPython(Policy):
    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> int:
        return random.randrange(table.capacity)


class OwnGenerator(Policy):
    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> int:
        return int(np.random.default_rng().integers(table.capacity))


class CountsOnItself(Policy):
    def __init__(self) -> None:
        self.calls = 0

    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> int:
        self.calls += 1
        return self.calls % table.capacity


class CountsOnItsClass(Policy):
    calls: ClassVar[list[int]] = []

    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> int:
        self.calls.append(1)
        return len(self.calls) // 3 % table.capacity


@dataclass(frozen=True)
class HidesStateInFrozenField(Policy):
    seen: dict[str, int] = field(default_factory=dict)

    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> int:
        self.seen["n"] = self.seen.get("n", 0) + 1
        return self.seen["n"] % table.capacity


class PeeksAtTheBatch(Policy):
    needs = ("embedding",)

    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> int:
        batch: Any = new.embedding.base
        return len(batch) % table.capacity


class ChangesTheTable(Policy):
    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> int:
        table.uncertainty[0] = 0.0
        return table.free() if not table.full else REJECT


class ChangesTheInput(Policy):
    needs = ("embedding",)

    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> int:
        new.embedding[:] = 0.0
        return table.free() if not table.full else REJECT


class PrefersClassZero(Policy):
    needs = ("label",)

    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> int:
        if not table.full:
            return table.free()
        return int(table.order[0]) if new.label == 0 else REJECT


class FailsOnEmptyClass(Policy):
    needs = ("label", "embedding")

    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> Decision:
        rows = table.members(new.label)
        distance = np.abs(table.embedding[rows] - new.embedding).sum(1)
        return Decision(int(rows[distance.argmin()]) if table.full else table.free(), "nearest")


class ReturnsNothing(Policy):
    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> int:
        return None  # type: ignore[return-value]


class UsesTheGeneratorOfAnother(Policy):
    rng: ClassVar[np.random.Generator] = np.random.default_rng(3)

    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> int:
        return int(self.rng.integers(table.capacity))


class KeepsAGenerator(Policy):
    def __init__(self) -> None:
        self.own = np.random.default_rng(0)

    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> int:
        return table.free() if not table.full else int(self.own.integers(table.capacity))


class ForgetsANeed(Policy):
    needs = ("label",)

    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> int:
        return table.free() if not table.full and new.uncertainty < 0.5 else REJECT


WRONG: dict[type, str] = {
    KeepsAGenerator: "alone",
    ForgetsANeed: "needs",
    OffByOne: "capacity",
    NegativeSlot: "capacity",
    GlobalNumpy: "randomness",
    GlobalPython: "randomness",
    OwnGenerator: "same seed",
    CountsOnItself: "alone",
    CountsOnItsClass: "same seed",
    HidesStateInFrozenField: "alone",
    PeeksAtTheBatch: "one batch",
    ChangesTheTable: "alone",
    ChangesTheInput: "",
    PrefersClassZero: "renaming",
    FailsOnEmptyClass: "",
    ReturnsNothing: "",
    UsesTheGeneratorOfAnother: "same seed",
}


def test_a_right_policy_without_the_base_class_passes() -> None:
    checks.check(Fifo, examples=4)


@pytest.mark.parametrize("policy", WRONG, ids=lambda policy: policy.__name__)
def test_wrong_policies_are_caught(policy: type, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_property(monkeypatch, checks.SUITE, WRONG[policy])
    report = checks.run(policy, examples=8)
    assert not report.passed
    assert any(WRONG[policy] in failure.property for failure in report.failures), str(report)
    assert all("Case(" in failure.message for failure in report.failures)


def test_check_raises_with_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_property(monkeypatch, checks.SUITE, "never holds more")
    with pytest.raises(AssertionError, match="FAIL  never holds more"):
        checks.check(OffByOne, examples=2)


def test_the_case_that_is_told_is_a_simple_one(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_property(monkeypatch, checks.SUITE, "never holds more")
    (told,) = checks.run(OffByOne, examples=12).failures
    assert "batches=1" in told.message
    assert "num_classes=2, kind='iid', seed=0" in told.message


def test_unknown_policy_is_the_callers_mistake() -> None:
    with pytest.raises(GottaError, match="Did you mean 'fps'"):
        checks.run("fsp")
