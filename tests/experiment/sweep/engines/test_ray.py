"""The Ray engine on real Ray: one node, and two nodes of which one is killed."""

from math import inf

import pytest
from experiment.tiny_sweep import completions, leftovers, numbers, recordings, sweep

from gotta import GottaError
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.cell import Event, Work
from gotta.experiment.sweep.engines import ray as module
from gotta.experiment.sweep.engines.ray import Ray
from gotta.experiment.sweep.store import Store

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


POLICY = """
from dataclasses import dataclass
from pathlib import Path
from gotta.memory.policy import Policy
from time import sleep
from beside import SLOT
Path({where!r}).write_text(__file__)

@dataclass(frozen=True)
class Mine(Policy):
    def place(self, table, new, rng):
        sleep(0.05)
        return table.free() if len(table) < table.capacity else SLOT
"""


@pytest.mark.slow
def test_a_cluster_that_begins_without_nodes_and_loses_them(ray, tmp_path, monkeypatch):
    """Nodes come when they are asked for and go six times, more often than a cell may lose its worker; modules of the
    user's own are sent to them."""
    from ray.cluster_utils import Cluster

    cluster, heard, nodes = Cluster(), [], []
    monkeypatch.setattr(module, "ROOM", 0.5)

    def listen(event):
        heard.append(event)
        if event.kind == "notice" and "waits for a node" in event.message:
            nodes.append(cluster.add_node(num_cpus=1, resources={"special": 1}))
        if event.kind == "started" and len(nodes) < 7:
            cluster.remove_node(nodes[-1], allow_graceful=False)
            nodes.append(cluster.add_node(num_cpus=1, resources={"special": 1}))

    own = tmp_path / "own"
    own.mkdir()
    (own / "sent_mine.py").write_text(POLICY.format(where=str(tmp_path / "imported")))
    (own / "beside.py").write_text("SLOT = 0\n")
    monkeypatch.syspath_prepend(own)
    given = {"memory": {"name": "sent_mine:Mine", "capacity": 8}, "stream": {"per_class": 8, "domains": ["snow"]}}
    (spec,) = cells = [RunSpec.of({"method": {"name": "norm"}, **given}, imports=["sent_mine"])]
    assert [path.rpartition("/")[2] for path in module.find_modules(cells)] == ["beside.py", "sent_mine.py"]
    try:
        cluster.add_node(num_cpus=0, include_dashboard=False)
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)
        store, engine = Store(tmp_path / "ray", writable=True), Ray(resources={"special": 1, "memory": 0.1})
        assert sweep(cells, store, 1, 1, listen, engine=engine, snapshot_every=inf) == []
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert len(nodes) == 7
    assert sum("its node died" in event.message for event in heard) == 6
    assert store.has(spec.id)
    assert "runtime_resources" in (tmp_path / "imported").read_text(), "what was sent is what was imported"


@pytest.mark.slow
def test_a_cell_that_can_never_run_here_is_refused(ray, tmp_path):
    with pytest.raises(GottaError, match=r"a cell needs CPU 1, GPU 2; Ray has CPU \d+, GPU 0 here"):
        sweep(specs(1), Store(tmp_path, writable=True), 1, 1, lambda event: None, engine=Ray(gpus=2))


def test_a_gpu_that_no_cell_asks_for_is_refused(ray, tmp_path):
    with pytest.raises(GottaError, match=r"gpus=0: Ray shows .* --gpus 0\.25"):
        Ray().run(specs(1), Work(str(tmp_path), device="cuda"), lambda event: None)


def test_without_ray_the_way_to_it_is_told(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr("gotta.errors.import_module", missing)
    with pytest.raises(GottaError, match=r"gotta-tta\[ray\]"):
        Ray()


def test_a_board_gives_each_event_once_and_of_progress_the_last():
    board = module._Board()
    events = [Event("started", "a"), Event("moved", "a", 1, 9), Event("moved", "b", 1, 9), Event("moved", "a", 2, 9)]
    for event in events:
        board.add(event)
    assert (board.take(), board.take()) == ([events[0], events[3], events[2]], [])
