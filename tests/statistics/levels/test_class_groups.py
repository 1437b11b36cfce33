"""Groups of many classes by the weights of the classifier: the same everywhere, equal rows together."""

import numpy as np
import pytest
import torch
from tiny import TinyNet, seeded_net
from torch import nn

import gotta
from gotta import adapt
from gotta.models.resnet_imagenet import ResNet50
from gotta.statistics import Class
from gotta.statistics.levels.class_groups import GROUPS, MOST_CLASSES, block_groups, find_groups, group_classes
from gotta.statistics.levels.levels import skew_of


def rows_around(centres, each, spread, seed=0):
    rng = np.random.default_rng(seed)
    return np.repeat(centres, each, 0) + spread * rng.normal(size=(len(centres) * each, centres.shape[1]))


def test_rows_around_few_centres_are_grouped_by_them():
    centres = np.random.default_rng(1).normal(size=(12, 20))
    groups = find_groups(rows_around(centres, 15, 0.05))
    # there are more groups than centres, and none of them has rows around two
    assert len(np.unique(groups)) == GROUPS
    assert all(len(np.unique(np.arange(180)[groups == g] // 15)) == 1 for g in range(GROUPS))


def test_equal_rows_are_one_group_and_numbers_go_by_first_occurrence():
    rows = np.random.default_rng(0).normal(size=(10, 6))
    assert find_groups(np.repeat(rows, 20, 0)).tolist() == np.repeat(np.arange(10), 20).tolist()
    assert find_groups(np.zeros((150, 4))).tolist() == [0] * 150


def test_noise_of_a_processor_changes_no_group():
    weights = np.random.default_rng(2).normal(size=(300, 64)).astype(np.float32).astype(np.float64)
    turned = np.random.default_rng(3).permutation(64)  # another order of the sums
    assert np.array_equal(find_groups(weights), find_groups(weights[:, turned]))
    assert np.array_equal(find_groups(weights), find_groups(3 * weights))


def test_the_last_layer_of_a_network_is_its_classifier():
    assert group_classes(seeded_net(classes=MOST_CLASSES)) is None
    assert group_classes(nn.Sequential(nn.ReLU())) is None
    assert len(group_classes(seeded_net(classes=300))) == 300
    assert len(group_classes(nn.Sequential(nn.Linear(3, 500), nn.Conv2d(3, 200, 1)))) == 200


def test_without_a_classifier_groups_are_successive_classes():
    groups = block_groups(1000)
    assert torch.equal(groups, groups.sort()[0])
    assert groups.bincount().tolist().count(31) + groups.bincount().tolist().count(32) == GROUPS


def test_an_even_mix_of_classes_has_no_skew_however_large_the_groups_are():
    shares = torch.tensor([0.5, 0.3, 0.2])
    assert skew_of(shares, shares) == pytest.approx(0, abs=1e-6)
    assert skew_of(torch.tensor([0.0, 0.0, 1.0]), shares) == 1
    assert skew_of(torch.full((3,), 1 / 3)) == pytest.approx(0, abs=1e-6)


class Split(TinyNet):
    """Every class cut into twenty that are alike; the first of them is predicted."""

    def __init__(self):
        super().__init__(classes=200)
        few = seeded_net()
        self.load_state_dict({**few.state_dict(), **{
            f"fc.{name}": getattr(few.fc, name).detach().repeat_interleave(20, 0) for name in ("weight", "bias")
        }})  # fmt: skip
        self.eval()


@pytest.mark.parametrize("size", [1, 24])
def test_classes_that_are_split_are_followed_exactly_as_before_they_were(size, monkeypatch):
    evidence = "gotta.statistics.levels.evidence"
    monkeypatch.setattr(f"{evidence}.Evidence.convinces", lambda self: True)  # of random weights
    monkeypatch.setattr(f"{evidence}.WINDOW", 1000)  # 200 classes count as few
    whole, split = adapt(seeded_net(), "norm"), adapt(Split(), "norm")
    rows = torch.rand(96, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    for x in rows.split(size):
        torch.testing.assert_close(whole(x), split(x)[:, ::20])
    one, other = whole.method.statistics, split.method.statistics
    assert other.groups.tolist() == [c // 20 for c in range(200)]
    torch.testing.assert_close(one.signature, other.signature)
    torch.testing.assert_close(one.mean, other.mean)
    assert not torch.equal(one.signature[1], torch.ones_like(one.signature[1]))


def test_groups_are_saved_reset_and_said(tmp_path):
    model, x = adapt(seeded_net(classes=300)), torch.rand(20, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    first = [model(part) for part in x.split(5)]
    assert "signatures of 32 groups of 300 classes by the classifier's weights" in repr(model)
    model.save(tmp_path)
    again = gotta.load(tmp_path, seeded_net(classes=300))
    assert torch.equal(model(x), again(x))
    assert torch.equal(model.method.statistics.signature, again.method.statistics.signature)
    assert torch.equal(model.method.statistics.groups, again.method.statistics.groups)
    model.reset()
    assert all(torch.equal(before, model(part)) for before, part in zip(first, x.split(5), strict=True))


def test_a_network_whose_classifier_has_other_classes_is_grouped_by_number_and_says_so():
    class Cut(TinyNet):
        def forward(self, x):
            return super().forward(x)[:, :150]

    model = adapt(Cut(classes=300).eval())
    model(torch.rand(20, 3, 8, 8))
    assert torch.equal(model.method.statistics.groups, block_groups(150))
    assert "by their numbers (no classifier of so many was found)" in repr(model)


def test_a_resnet50_with_a_thousand_classes_takes_the_bytes_that_the_documents_say():
    levels = Class()
    levels.attach(ResNet50().eval())
    channels, layers = 26_560, 53
    assert (len(levels.mean), len(levels.sizes)) == (channels, layers)
    levels._signed(torch.zeros(1, dtype=torch.int64), 1000)
    assert levels.num_bytes == 4 * (channels * (4 + 2 * GROUPS) + 2 * GROUPS) + 8 * 1000
    assert round(levels.num_bytes / 1e6, 1) == 7.2
