"""Whatever it is given, an adapted model gives a valid result, or one GottaError and stays as it was, bit for bit."""

import warnings
from collections import Counter

import numpy as np
import pytest
import torch
from odd_inputs import CLASSES, KINDS, NETWORKS, odd
from whole_state import QUICK, frozen_state

import gotta
from gotta import GottaError
from gotta.core.guard import GuardWarning
from gotta.core.undo import UndoneWarning
from gotta.methods import methods
from gotta.priors import OrderWarning


def draw_model(rng):
    kind = str(rng.choice(list(NETWORKS)))
    make, shape = NETWORKS[kind]
    method, memory = str(rng.choice(gotta.list_methods())), str(rng.choice(gotta.list_memories()))
    memory = memory if methods.get(method).uses_memory else "none"
    with torch.random.fork_rng():
        torch.manual_seed(int(rng.integers(2**31)))
        net = make().eval()
    settings = {
        "pairing": str(rng.choice(["paper", "memory"])),
        "adapt_every": [None, 1, 3, 8][rng.integers(4)],
        "score": [None, "before", "after"][rng.integers(3)],
        "guard": [None, None, "warn", "freeze", "rollback"][rng.integers(5)],
        "num_classes": [None, CLASSES][rng.integers(2)],
        **QUICK.get(method, {}),
    }
    capacity = None if memory == "none" else int(rng.integers(1, 9))
    return gotta.adapt(net, method, memory, capacity, **settings), shape, (kind, method, memory, capacity, settings)


def batch_of(shape, rng, model):
    values = torch.from_numpy(rng.random((int(rng.integers(2, 9)), *shape)))
    return values.to(next(model.model.parameters()).dtype)


def tried(model, x, what):
    """One step: how it went, checked."""
    before = frozen_state(model)
    try:
        outcome = model.step(x)
    except GottaError:
        assert frozen_state(model) == before, f"a refused batch changed something: {what}"
        return "refused"
    except Exception as error:
        raise AssertionError(f"{type(error).__name__} instead of a GottaError: {what}") from error
    logits = outcome.prediction.logits
    assert logits.shape == (len(x), CLASSES), what
    assert torch.isfinite(logits).all(), what
    if outcome.diagnostics.get("undone"):
        assert frozen_state(model)[1].keys() == before[1].keys(), what
        return "undone"
    return "valid"


def try_case(number):
    """One model, some good batches, an odd one, and a good one again."""
    rng = np.random.default_rng([12, number])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndoneWarning)
        warnings.simplefilter("ignore", GuardWarning)
        warnings.simplefilter("ignore", OrderWarning)
        try:
            model, shape, about = draw_model(rng)
        except GottaError:
            return "no such model"
        for _ in range(rng.integers(3)):
            tried(model, batch_of(shape, rng, model), (number, about, "good"))
        if rng.random() < 0.1:
            model.freeze()
        kind = str(rng.choice(list(KINDS)))
        x = odd(kind, batch_of(shape, rng, model))
        result = tried(model, x, (number, about, kind))
        tried(model, batch_of(shape, rng, model), (number, about, "good, after " + kind))
        return result


@pytest.mark.parametrize("part", range(5))
def test_a_valid_result_or_one_error_and_nothing_changed(part):
    found = Counter(try_case(number) for number in range(50 * part, 50 * part + 50))
    assert found["refused"] > 3
    assert found["valid"] > 3


@pytest.mark.slow
@pytest.mark.parametrize("part", range(12))
def test_three_thousand_cases(part):
    found = Counter(try_case(1000 + number) for number in range(250 * part, 250 * part + 250))
    assert found["undone"] > 0
    assert found["refused"] > 25
