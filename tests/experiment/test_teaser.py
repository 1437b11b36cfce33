"""Figure 1's content: the cut, what the memories are told, and what is measured of them."""

import json

import numpy as np
import pytest
import torch

from gotta.errors import GottaError
from gotta.experiment.teaser import (
    Seen,
    Setting,
    class_plane,
    compute,
    describe,
    even_cuts,
    replay,
    run_teaser,
    shown_policies,
    view,
)

PAPER = ("fifo", "reservoir", "pbrs", "cstu", "cds", "fps")


@pytest.fixture(scope="module")
def quick():
    return compute(Setting(per_class=40))


def seen_by_hand():
    """Four images on a line, two of each class; the second image of class 7 is mistaken for class 2."""
    logits = torch.full((4, 10), -20.0)
    logits[[0, 1, 2, 3], [2, 2, 7, 2]] = torch.tensor([4.0, 3.0, 4.0, 3.5])
    logits[3, 7] = 3.0
    return Seen(np.array([0, 0, 1, 1]), logits, np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [7.0, 0.0]]))


def held(images, setting=None):
    """A FIFO that was shown these images, described."""
    setting = setting or Setting(classes=(2, 7), batches=1, capacity=8)
    seen = seen_by_hand()
    known = view(seen, setting)
    return describe("fifo", replay("fifo", known, np.array(images), setting), seen, known, setting)


def test_the_bundled_images_give_exactly_128_batches_of_12_or_13():
    sizes = [cut.stop - cut.start for cut in even_cuts(1600, 128)]
    assert len(sizes) == 128
    assert set(sizes) == {12, 13}
    assert sum(sizes) == 1600


@pytest.mark.parametrize(("samples", "batches"), [(5, 6), (5, 0)])
def test_a_stream_that_cannot_be_cut_so_is_refused(samples, batches):
    with pytest.raises(GottaError, match="cannot be cut"):
        even_cuts(samples, batches)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": (3, 3)}, "two different"),
        ({"classes": (1, 2, 3)}, "two different"),
        ({"outputs": "pairs"}, "Did you mean 'pair'"),
        ({"embedding": "feature"}, "Did you mean 'features'"),
    ],
)
def test_a_wrong_setting_is_told(changes, message):
    with pytest.raises(GottaError, match=message):
        Setting(**changes)


def test_every_policy_but_two_is_shown_the_papers_first():
    names = shown_policies()
    assert not {"none", "composed"} & set(names)
    assert [name for name in names if name in PAPER] == list(PAPER)
    assert "fpsd" in names
    assert len(names) == len(set(names))


def test_labels_come_from_the_pair_and_the_embedding_from_all_classes():
    known = view(seen_by_hand(), Setting(classes=(2, 7)))
    assert known.label.tolist() == [0, 0, 1, 0]
    assert known.embedding.shape == (4, 10)
    assert float(known.uncertainty.max()) <= np.log(2)


@pytest.mark.parametrize(
    ("changes", "labels", "width"),
    [
        ({"outputs": "model"}, [2, 2, 7, 2], 10),
        ({"embedding": "pair"}, [0, 0, 1, 0], 2),
        ({"embedding": "features"}, [0, 0, 1, 0], 2),
    ],
)
def test_other_views(changes, labels, width):
    known = view(seen_by_hand(), Setting(classes=(2, 7), **changes))
    assert known.label.tolist() == labels
    assert known.embedding.shape[1] == width


def test_measures_by_hand():
    found = held([0, 0, 1, 2]).measures
    assert (found["rows"], found["images"]) == (4, 3)
    assert found["coverage_features"] == pytest.approx((0 + 0 + 0 + 4) / 4)
    assert found["nearest_features"] == pytest.approx((0 + 0 + 1) / 3)  # the only row of its class has no neighbour
    assert found["near_duplicates_features"] == pytest.approx(2 / 4)
    assert found["purity"] == 1.0
    assert found["certain"] == 1.0
    assert found["balance"] == pytest.approx(-(0.75 * np.log2(0.75) + 0.25 * np.log2(0.25)))


@pytest.mark.parametrize("outputs", ["pair", "model"])
def test_a_mistaken_image_is_impure(outputs):
    found = held([0, 3], Setting(classes=(2, 7), batches=1, outputs=outputs)).measures
    assert (found["purity"], found["certain"]) == (0.5, 0.5)


def test_near_duplicates_are_of_one_class_and_within_epsilon():
    wide = Setting(classes=(2, 7), batches=1, epsilon=1.0)
    assert held([0, 1], wide).measures["near_duplicates_features"] == 1.0
    assert held([1, 2], Setting(classes=(2, 7), batches=1, epsilon=9.0)).measures["near_duplicates_features"] == 0.0
    assert held([0, 1]).measures["near_duplicates_features"] == 0.0


def test_the_plane_holds_the_variance_and_the_second_class_is_right():
    rng = np.random.default_rng(0)
    truth = np.arange(200) % 2
    features = rng.normal(size=(200, 5)) * (0.1, 0.1, 2.0, 0.1, 0.1)
    features[:, 4] -= 9.0 * truth
    points, explained = class_plane(features, truth)
    assert points[truth == 1, 0].mean() > points[truth == 0, 0].mean()
    assert abs(np.corrcoef(points[:, 0], features[:, 4])[0, 1]) > 0.999
    assert abs(np.corrcoef(points[:, 1], features[:, 2])[0, 1]) > 0.99
    assert 0.99 < sum(explained) < 1
    assert explained[0] > explained[1]


@pytest.mark.parametrize("name", ["fifo", "pbrs", "cds", "fps"])
def test_the_number_of_batches_decides_nothing(name):
    seen, setting = seen_by_hand(), Setting(classes=(2, 7), capacity=2)
    known, position = view(seen, setting), np.random.default_rng(1).integers(0, 4, 200)
    one, many = (replay(name, known, position, Setting(classes=(2, 7), capacity=2, batches=b)) for b in (1, 128))
    assert one.ids.tolist() == many.ids.tolist()


def test_every_image_comes_four_times_and_is_predicted_once(quick):
    assert quick.facts["samples"] == 4 * quick.facts["images"] == 4 * 80
    assert quick.points.shape == (80, 2)
    assert np.bincount(quick.truth).tolist() == [40, 40]


def test_what_follows_from_the_rules_whatever_the_model(quick):
    rows = {memory.policy: memory for memory in quick.held}
    assert list(rows) == shown_policies()
    assert all(memory.measures["rows"] <= 32 for memory in quick.held)
    assert rows["fifo"].measures["images"] <= 9  # the copies come one after the other
    assert rows["fps"].measures["near_duplicates_embedding"] == 0.0
    assert rows["fps"].measures["images"] == rows["fps"].measures["rows"]
    assert rows["fpsd"].image.tolist() == rows["fps"].image.tolist()  # refreshing a frozen model's rows changes nothing
    for name in ("cds", "fps", "cstu", "kcenter"):
        assert np.bincount(rows[name].label, minlength=2).max() <= 16


def test_the_seed_decides_everything(quick):
    again = compute(Setting(per_class=40), ["reservoir"])
    other = compute(Setting(per_class=40, seed=1), ["reservoir"])
    mine = next(memory for memory in quick.held if memory.policy == "reservoir")
    assert again.held[0].image.tolist() == mine.image.tolist()
    assert again.facts["stream"] != other.facts["stream"]


def test_all_ten_classes_leave_most_rows_to_classes_that_never_come():
    memory = compute(Setting(per_class=40, outputs="model"), ["cstu"]).held[0]
    assert np.bincount(memory.label, minlength=10).max() <= 4


def test_diverse_memories_hold_fewer_near_duplicates_in_the_space_they_compare():
    found = {memory.policy: memory.measures for memory in compute(Setting(), PAPER).held}
    for diverse in ("cds", "fps"):
        for other in ("fifo", "reservoir", "pbrs", "cstu"):
            key = "near_duplicates_embedding"
            assert found[diverse][key] < found[other][key], (diverse, other)
        assert found[diverse]["balance"] > 0.95


def test_run_writes_a_document_that_says_what_it_is(tmp_path):
    heard = []
    result = run_teaser(
        tmp_path / "new", ["fifo", "fps"], quick=True, seed=3, progress=lambda *news: heard.append(news), batches=50
    )
    written = json.loads((tmp_path / "new" / "teaser.json").read_text())
    assert written["setting"]["seed"] == 3
    assert written["setting"]["batches"] == 50
    assert [memory["policy"] for memory in written["held"]] == ["fifo", "fps"]
    assert written["held"][0]["measures"] == result.held[0].measures
    assert written["held"][1]["image"] == result.held[1].image.tolist()
    assert written["environment"]["torch"] == torch.__version__
    assert heard == [(0, 2, "fifo"), (1, 2, "fps"), (2, 2, "")]


def test_an_unknown_policy_is_told(tmp_path):
    with pytest.raises(GottaError, match="Did you mean 'fps'"):
        run_teaser(tmp_path, ["fsp"], quick=True)
    assert not (tmp_path / "teaser.json").exists()
