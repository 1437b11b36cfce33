"""Two processes with half of every batch each do what one with the whole batches does."""

import multiprocessing

import pytest
import torch
from core.replica_work import SETTINGS, batch, work
from tiny import seeded_net

import gotta
from gotta import GottaError


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """What the two processes found."""
    folder = tmp_path_factory.mktemp("replicas")
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(rank, str(folder))) for rank in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(300)
    assert [worker.exitcode for worker in workers] == [0, 0]
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(2)]


@pytest.mark.parametrize("name", SETTINGS)
def test_halves_in_two_processes_are_the_whole_in_one(both, name):
    model = gotta.adapt(seeded_net(), **SETTINGS[name])
    expected = torch.stack([model(batch(seed)) for seed in range(5)])
    found = torch.cat([one[name]["logits"] for one in both], dim=1)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    for place, value in model.model.state_dict().items():
        mine, theirs = (one[name]["state"][place] for one in both)
        assert torch.equal(mine, theirs), "replicas stay equal, bit for bit"
        torch.testing.assert_close(mine, value, rtol=1e-4, atol=1e-5)
    alone = gotta.adapt(seeded_net(), **SETTINGS[name])
    halves = torch.stack([alone(batch(seed)[:8]) for seed in range(5)])
    assert not torch.allclose(halves, found[:, :8], rtol=1e-4, atol=1e-5), "each on its own would differ"


def test_a_replica_folds(both):
    for one in both:
        torch.testing.assert_close(one["folded"]["by itself"], one["folded"]["model"])


def test_what_one_refuses_all_refuse(both):
    first, second = (one["refused"] for one in both)
    assert "NaN" in second["broken"]
    assert "another replica has refused" in first["broken"]
    for told in (first, second):
        assert "batches of one size" in told["sizes"]
        assert "Leave out stream=" in told["streams"]
        assert "statistics='running' or 'batch'" in told["class"]
        assert "for 'norm' and 'tent'" in told["method"]
        assert "does not go with memory" in told["memory"]
        assert "different networks" in told["networks"]
        assert told["undone"] == (None, 1.0), "values out of all proportion in one are left out by all"
        assert told["only the good batch counted"]


def test_without_a_group_it_is_refused():
    with pytest.raises(GottaError, match="init_process_group"):
        gotta.adapt(seeded_net(), "norm", statistics="batch", sync=True)
