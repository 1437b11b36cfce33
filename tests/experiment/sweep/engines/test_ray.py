"""The Ray engine on real Ray: one node, and two nodes of which one is killed."""

import pytest
from experiment.tiny_sweep import completions, leftovers, numbers, recordings

from gotta import GottaError
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.engines import ray as module
from gotta.experiment.sweep.engines.ray import Ray
from gotta.experiment.sweep.store import Store
from gotta.experiment.sweep.sweep import sweep

# Ray warns of its own affairs.
pytestmark = pytest.mark.filterwarnings("ignore")


def specs(count):
    given = {
        "method": {"name": "norm"},
        "memory": {"name": "fps", "capacity": 8},
        "stream": {"per_class": 4, "domains": ["snow", "fog"]},
    }
    return [RunSpec.of({**given, "seed": seed}) for seed in range(count)]


@pytest.fixture
def ray():
    try:
        found = module._ray()
    except GottaError as error:
        pytest.skip(str(error))
    yield found
    found.shutdown()


def expected(tmp_path, count, record=()):
    store = Store(tmp_path / "local", writable=True)
    assert sweep(specs(count), store, 1, 1, lambda event: None, record=record) == []
    return numbers(tmp_path / "local")


@pytest.mark.slow
def test_ray_gives_the_numbers_of_local(ray, tmp_path):
    bad = specs(1)[0].model_copy(update={"stream": {"domains": ["nowhere"]}})
    events, record, store = [], {specs(1)[0].id}, Store(tmp_path / "ray", writable=True)
    failures = sweep([*specs(2), bad], store, 1, 1, events.append, engine=Ray(2), record=record)
    assert numbers(tmp_path / "ray") == expected(tmp_path, 2, record)
    assert recordings(tmp_path / "ray") == recordings(tmp_path / "local")
    assert recordings(tmp_path / "local").keys() == record
    assert [failure.id for failure in failures] == [bad.id]
    assert "nowhere" in failures[0].message
    assert {"started", "moved", "finished"} <= {event.kind for event in events}
    assert not ray.is_initialized()


@pytest.mark.slow
def test_a_killed_node_costs_nothing(ray, tmp_path):
    from ray.cluster_utils import Cluster

    cluster, started, notices = Cluster(), set(), []
    killed = False

    def listen(event):
        nonlocal killed
        started.add(event.id)
        if event.kind == "notice":
            notices.append(event.message)
        if len(started) == 2 and not killed:  # one on each node, which have a core each
            killed = True
            cluster.remove_node(doomed, allow_graceful=False)

    try:
        cluster.add_node(num_cpus=1, include_dashboard=False)
        doomed = cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        store = Store(tmp_path / "ray", writable=True)
        assert sweep(specs(4), store, 1, 1, listen, engine=Ray(address=cluster.address), snapshot_every=0.1) == []
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert killed
    assert any("died" in notice for notice in notices)
    assert numbers(tmp_path / "ray") == expected(tmp_path, 4)
    assert completions(tmp_path / "ray") == {spec.id: 1 for spec in specs(4)}
    assert leftovers(tmp_path / "ray") == []


def test_without_ray_the_way_to_it_is_told(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(module, "import_module", missing)
    with pytest.raises(GottaError, match=r"gotta\[ray\]"):
        Ray()


def test_a_board_gives_each_event_once():
    board = module._Board()
    board.add("event")
    assert (board.take(), board.take()) == (["event"], [])
