"""MCM groups rows by their pixels, merges neighbours in time, and gives all groups an equal share."""

import numpy as np
import pytest
import torch
from memory.streams import predictions
from reference.slow_policies import SlowMCM

from gotta.errors import GottaError
from gotta.memory import Memory
from gotta.memory.intake import describe
from gotta.memory.replay import replay


def looks(rng: np.random.Generator, size: int) -> np.ndarray:
    """Small images of a look that changes now and then, and returns."""
    look = np.repeat(rng.integers(5, size=size), rng.geometric(1 / 30, size=size))[:size]
    bright, rough = rng.uniform(0.2, 0.8, 5)[look], rng.uniform(0.02, 0.3, 5)[look]
    return (bright[:, None, None, None] + rough[:, None, None, None] * rng.normal(size=(size, 3, 4, 4))).clip(0, 1)


@pytest.mark.parametrize("clusters", [1, 3, 8])
@pytest.mark.parametrize("radius", [0.05, 0.2])
@pytest.mark.parametrize(("capacity", "classes"), [(5, 10), (24, 3)])
def test_it_decides_like_a_slow_version(clusters: int, radius: float, capacity: int, classes: int) -> None:
    rng = np.random.default_rng([clusters, capacity])
    images, stream = looks(rng, 400), predictions(rng, 400, classes, bursty=True)
    memory = Memory("mcm", capacity, classes, clusters=clusters, radius=radius)
    slow = SlowMCM(capacity, classes, clusters, radius)
    descriptors = describe(torch.from_numpy(images)).numpy()
    for start in range(0, 400, 40):
        memory.observe(images[start : start + 40], **{name: v[start : start + 40] for name, v in stream.items()})
        for i in range(start, start + 40):
            label, u = int(stream["label"][i]), float(stream["uncertainty"][i])
            slow.offer(i, label, u, descriptors[i].tolist())
        assert sorted(memory.ids) == sorted(row["id"] for cluster in slow.clusters for row in cluster)
        groups = memory._table.group[memory.slots]
        expected = {row["id"]: at for at, cluster in enumerate(slow.clusters) for row in cluster}
        founded = np.unique(groups).tolist()
        assert [founded.index(g) for g in groups] == [expected[i] for i in memory.ids]
    assert memory.stats["rejected"] > 0
    assert len(slow.clusters) <= clusters


def test_the_descriptor_is_mean_and_deviation_of_each_channel() -> None:
    image = torch.tensor([[[0.0, 1.0], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]])
    assert describe(image[None]).tolist() == [[0.5, 0.5, 0.5, 0.0]]
    assert describe(torch.tensor([[1, 3]], dtype=torch.uint8)).tolist() == [[2.0, 1.0]]
    assert describe(torch.tensor([7.0])).tolist() == [[7.0, 0.0]]


def test_dark_images_keep_their_share_beside_many_bright_ones() -> None:
    memory = Memory("mcm", 8, 2, radius=0.1)
    dark, bright = np.full((4, 3, 2, 2), 0.1), np.full((60, 3, 2, 2), 0.9)
    memory.observe(np.concatenate([dark, bright]), label=[0, 1] * 32, uncertainty=np.linspace(0.6, 0.1, 64))
    assert (memory.ids < 4).sum() == 4


def test_a_journal_of_any_memory_can_be_replayed_through_it() -> None:
    rng = np.random.default_rng(0)
    images, stream = looks(rng, 60), predictions(rng, 60, 3, bursty=True)
    direct, other = Memory("mcm", 6, 3, radius=0.05), Memory("fifo", 6, 3, journal=True)
    for memory in (direct, other):
        memory.observe(images, **stream)
    assert other.journal is not None
    assert replay(other.journal, "mcm", radius=0.05).memory.ids.tolist() == direct.ids.tolist()
    del other.journal.batches[0]["descriptor"]
    with pytest.raises(GottaError, match="decides by descriptors"):
        replay(other.journal, "mcm")


@pytest.mark.parametrize("wrong", [{"clusters": 0}, {"radius": -1.0}, {"radius": "nan"}, {"lambda_t": "x"}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(GottaError, match=r"must be a (whole )?number"):
        Memory("mcm", 8, 2, **wrong)
