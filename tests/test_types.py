"""What passes between the parts: values derived by hand, and no room for true labels."""

from dataclasses import FrozenInstanceError, fields
from math import log
from threading import Event, Thread

import numpy as np
import pytest
import torch

from gotta.types import MemoryBatch, Prediction, Step, Truth, computed_once, domain_name, torch_images


def test_values_derived_from_logits_by_hand():
    prediction = Prediction(torch.tensor([[0.0, 0.0], [log(3.0), 0.0]]))
    torch.testing.assert_close(prediction.probs, torch.tensor([[0.5, 0.5], [0.75, 0.25]]))
    assert prediction.label.tolist() == [0, 0]
    expected = [-log(0.5 + 1e-6), -0.75 * log(0.75 + 1e-6) - 0.25 * log(0.25 + 1e-6)]
    assert prediction.uncertainty.tolist() == pytest.approx(expected, abs=1e-7)
    assert prediction.uncertainty.dtype == torch.float64


def test_saturated_softmax_has_slightly_negative_uncertainty():
    prediction = Prediction(torch.tensor([[1000.0, 0.0, 0.0]]))
    assert prediction.uncertainty.item() == pytest.approx(-log(1 + 1e-6), rel=1e-9)
    assert prediction.uncertainty.item() == pytest.approx(-1e-6, rel=1e-5)


def test_uniform_softmax_is_most_uncertain():
    logits = torch.randn(100, 10, generator=torch.Generator().manual_seed(0))
    assert (Prediction(logits).uncertainty < Prediction(torch.zeros(1, 10)).uncertainty).all()


def test_embedding_is_what_was_asked_for():
    logits, features = torch.randn(2, 3), torch.randn(2, 5)
    assert torch.equal(Prediction(logits, features).embedding, logits.softmax(1))
    assert Prediction(logits, features, "logits").embedding is logits
    assert Prediction(logits, features, "features").embedding is features


def test_derived_values_are_computed_once():
    prediction = Prediction(torch.zeros(1, 2))
    assert prediction.probs is prediction.probs
    assert prediction.uncertainty is prediction.uncertainty


def test_values_are_frozen():
    prediction = Prediction(torch.zeros(1, 2))
    with pytest.raises(FrozenInstanceError):
        prediction.logits = torch.ones(1, 2)


def test_what_adapts_has_no_field_for_true_labels():
    assert [field.name for field in fields(Prediction)] == ["logits", "features", "embed", "before_prior"]
    columns = ["x", "label", "uncertainty", "embedding", "age", "capacity"]
    assert [field.name for field in fields(MemoryBatch)] == columns
    assert [field.name for field in fields(Step)] == ["x", "truth"]
    assert [field.name for field in fields(Truth)] == ["label", "domain", "index"]


def test_length_of_a_memory_batch_is_its_rows():
    nothing = torch.zeros(0)
    assert len(MemoryBatch(torch.zeros(4, 3), torch.zeros(4), nothing, nothing, nothing)) == 4


def test_images_become_tensors_between_zero_and_one():
    images = np.zeros((2, 4, 5, 3), np.uint8)
    images[1, 2, 3] = (0, 51, 255)
    x = torch_images(images)
    assert x.shape == (2, 3, 4, 5)
    assert x.dtype == torch.float32
    assert x[1, :, 2, 3].tolist() == [0.0, torch.tensor(51 / 255).item(), 1.0]
    assert x[0].sum() == 0


def test_images_that_may_not_be_written_stay_as_they_are():
    images = np.full((1, 2, 2, 3), 7, np.uint8)
    images.setflags(write=False)
    torch_images(images)[:] = 0
    assert (images == 7).all()


def test_name_of_a_corrupted_domain():
    assert domain_name("snow", 5) == "snow-5"


class Slow:
    def __init__(self, begun: Event, may_end: Event) -> None:
        self.begun, self.may_end, self.count = begun, may_end, 0

    @computed_once
    def value(self) -> int:
        self.count += 1
        self.begun.set()
        assert self.may_end.wait(20)
        return self.count


def test_what_one_thread_computes_does_not_hold_up_another_object():
    begun, may_end, free = Event(), Event(), Event()
    free.set()
    slow, quick = Slow(begun, may_end), Slow(Event(), free)
    behind = Thread(target=lambda: slow.value)
    behind.start()
    assert begun.wait(20)
    ahead = Thread(target=lambda: quick.value)
    ahead.start()
    ahead.join(10)
    held_up = ahead.is_alive()
    may_end.set()
    behind.join()
    ahead.join()
    assert not held_up
    assert (slow.value, slow.value, slow.count) == (1, 1, 1), "computed once"
    assert isinstance(Slow.value, computed_once)
