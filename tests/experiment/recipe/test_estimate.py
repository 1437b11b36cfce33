import pytest

from gotta.experiment.recipe.estimate import count, count_passes, estimate, estimate_unseen
from gotta.experiment.run.run import run
from gotta.experiment.spec.run_spec import RunSpec

SMALL = {"per_class": 2, "domains": ["snow"]}


def spec(method="norm", memory="none", **changes):
    given = {"method": {"name": method}, "memory": {"name": memory, "capacity": 32}, "stream": SMALL, **changes}
    return RunSpec.of(given)


@pytest.mark.parametrize(
    ("method", "memory", "passes"),
    [
        ("source", "none", 1),
        ("norm", "none", 1),
        ("norm", "fps", 2),
        ("tent", "none", 3),
        ("tent", "cstu", 4),
        ("pl", "none", 3),
        ("rotta", "cstu", 5),
        ("sar", "none", 6),
        ("cotta", "none", 36),
    ],
)
def test_passes_are_those_of_the_method_whatever_its_filters_let_through(method, memory, passes):
    assert count_passes(spec(method, memory), 10, True) == passes


def test_what_cells_elsewhere_compute_is_counted():
    assert count([spec("tent", "none"), spec("norm", "fps")]).forwards == 20 * 3 + 20 * 2


def test_passes_depend_on_capacity_refresh_and_regime():
    fixed = spec("norm", "fps", regime={"name": "fixed"})
    assert count_passes(fixed, 10, True) == 1.5, "32 rows are adapted on for every 64 samples"
    refreshed = RunSpec.of(
        {"method": {"name": "norm"}, "memory": {"name": "fps", "capacity": 32, "refresh_every": 4}, "stream": SMALL}
    )
    assert count_passes(refreshed, 10, True) == 2.25
    assert count_passes(spec("tent", "fps"), 10, False) == 4, "a network without batch normalisation"


def test_the_analytic_count_is_what_a_run_counts():
    _, summary = run(spec("tent", "fifo", regime={"batch_size": 10, "adapt_every": 10}))
    total = summary["cost"]["total"]
    assert total["forwards"] / total["backwards"] == 2  # one to predict, one to adapt, so 4 with the backward


def test_more_passes_take_longer_and_processes_share():
    cheap, dear = estimate([spec()], 1), estimate([spec("energy", "fps")], 1)
    assert 0 < cheap.computing < dear.computing
    both = [spec(), spec("energy", "fps")]
    assert estimate(both, 2).seconds < estimate(both, 1).seconds
    assert "about" in str(cheap)
    assert "estimated" in str(cheap)


def test_video_is_timed_by_clips():
    video = {"data": {"name": "cifar10-mini-video"}, "stream": {"clips": 3, "frames": 4, "domains": ["snow"]}}
    assert estimate([RunSpec.of(video)], 1).seconds > 0


def test_a_cell_without_effect_is_counted_as_the_source_model():
    assert count_passes(spec("norm", control="running_statistics"), 10, False) == 1


def test_a_walk_and_a_stream_with_foreign_images_can_be_estimated():
    walk = {"schedule": "walk", "domain_order": "dataset", "transitions": 1, "limit": 4, "choose": "anew"}
    assert estimate([RunSpec.of({"data": {"name": "ccc"}, "stream": walk})], 1).seconds > 0
    mixed = {"per_class": 2, "domains": ["snow"], "foreign": 0.2}  # 5 of the 5 there are
    assert estimate([RunSpec.of({"data": {"name": "open", "number": 5}, "stream": mixed})], 1).seconds > 0


@pytest.mark.parametrize(
    "stream",
    [
        {"order": "markov", "schedule": "mixed", "domain_stay": 0.85, "domain_imbalance": 5.0, "again": True},
        {"schedule": "cdc", "delta": 0.1},
        {"class_imbalance": 10.0, "head": "random"},
        {"schedule": "recurring", "repeats": 2},
    ],
)
def test_every_kind_of_stream_can_be_timed(stream):
    assert estimate([spec(stream={"per_class": 4, "domains": ["snow", "fog"], **stream})], 1).seconds > 0


def test_what_is_not_here_is_timed_on_bundled_images():
    lacking = {"data": {"name": "cifar10_c"}, "model": {"name": "resnet20", "weights": "nowhere.pt"}}
    whole = {"domains": ["snow"]}
    one = estimate_unseen([spec(**lacking, stream=whole)], 1)
    both = estimate_unseen([spec(**lacking, stream=whole)] * 2, 1)
    assert one is not None
    assert both is not None
    assert both.computing == pytest.approx(2 * one.computing)
    assert one.told().endswith("in 1 process")
    assert estimate_unseen([spec(**lacking, stream=SMALL)], 1) is None, "a part of the images: how many is not known"
    assert estimate_unseen([spec(data={"name": "itd"}, stream=whole)], 1) is None
