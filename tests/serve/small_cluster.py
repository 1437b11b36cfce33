"""A real Ray cluster of two nodes on this machine with a service on it, and clients that load it."""

import io
import json
import os
import socket
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

TESTS = Path(__file__).parents[1]
TOKEN = "a token for tests"
SLACK = 4.0  # seconds that a busy machine may be late with a save


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def as_npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def samples(seed, size=1):
    return np.random.default_rng(seed).random((size, 3, 8, 8), np.float32)


@dataclass
class Service:
    cluster: object
    worker: object
    url: str
    grpc_port: int
    store: object
    settings: object

    def client(self, **given):
        import httpx

        return httpx.Client(base_url=self.url, timeout=60, **given)

    def predict(self, client, stream, x):
        headers = {"content-type": "application/x-npy"}
        return client.post("/predict", params={"stream": stream}, content=as_npy(x), headers=headers)


@contextmanager
def serving(state, **settings):
    """Two nodes with a replica each, and their proxy on the first."""
    from gotta.serve.app import import_serve, make_app, start_proxies
    from gotta.serve.gate import TOKEN as VARIABLE
    from gotta.serve.owned_streams import StreamStore
    from gotta.serve.settings import Settings

    serve = import_serve()
    import ray
    from ray.cluster_utils import Cluster

    os.environ[VARIABLE] = TOKEN
    path = os.pathsep.join([str(TESTS.parent / "src"), str(TESTS), str(TESTS / "serve")])
    cluster, port = Cluster(), free_port()
    try:
        # The dashboard's agent is what answers Prometheus.
        cluster.add_node(num_cpus=1, include_dashboard=False)
        worker = cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        variables = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        ray.init(cluster.address, runtime_env={"env_vars": variables}, log_to_driver=False, logging_level="error")
        given = {"model": "served_models:build", "replicas": 2, "gates": 2, "cpus": 1.0, "save_every": 2.0, **settings}
        made = Settings(state=Path(state), **given)
        start_proxies("127.0.0.1", port, grpc_port := free_port(), made.limits, everywhere=False)
        serve.run(make_app(made), name="gotta", logging_config={"log_level": "ERROR", "enable_access_log": False})
        yield Service(cluster, worker, f"http://127.0.0.1:{port}", grpc_port, StreamStore(state), made)
        serve.shutdown()
    finally:
        os.environ.pop(VARIABLE, None)
        ray.shutdown()
        cluster.shutdown()


@dataclass
class Answered:
    sent: float  # seconds since the load began
    took: float
    status: int  # 0: no answer at all
    stream: str
    number: int  # of the sample in its stream, as the service counts


class Load:
    """Clients that send one sample after the other, each for its own stream, for as long as the block lasts."""

    def __init__(self, service, streams, pause=0.05):
        self.service, self.streams, self.pause = service, streams, pause
        self.answered, self.stop, self.began = [], threading.Event(), time.monotonic()

    def __enter__(self):
        self.threads = [threading.Thread(target=self._send, args=(name,)) for name in self.streams]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self.stop.set()
        for thread in self.threads:
            thread.join()

    @property
    def now(self):
        return time.monotonic() - self.began

    def _send(self, stream):
        import httpx

        with self.service.client() as client:
            seed = 0
            while not self.stop.wait(self.pause):
                seed, sent = seed + 1, self.now
                try:
                    got = self.service.predict(client, stream, samples(seed))
                    number = int(got.json()["ids"][0].rpartition("/")[2]) if got.status_code == 200 else -1
                    self.answered.append(Answered(sent, self.now - sent, got.status_code, stream, number))
                except httpx.HTTPError:
                    self.answered.append(Answered(sent, self.now - sent, 0, stream, -1))

    def wait_for(self, count, timeout=60):
        """Until each stream has so many more answers."""
        before = {name: self._right(name) for name in self.streams}
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if all(self._right(name) - before[name] >= count for name in self.streams):
                return
            time.sleep(0.05)
        raise AssertionError(f"no {count} answers to each stream within {timeout} s: {self.answered[-5:]}")

    def _right(self, name):
        return sum(one.stream == name and one.status == 200 for one in list(self.answered))

    def of(self, stream):
        return [one for one in self.answered if one.stream == stream]


def seconds_lost(answered):
    """Of one stream: the longest time whose samples the stream has forgotten, by the numbers that were given again."""
    first_sent, last, lost = {}, None, 0.0
    for one in (one for one in answered if one.status == 200):
        if last is not None and one.number <= last.number:
            lost = max(lost, last.sent - first_sent[one.number])
        first_sent[one.number], last = one.sent, one
    return lost


def owner(service, stream):
    holder = service.store.leases.holder(stream)
    assert holder is not None
    return holder.pid


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])


def raylet(node):
    return node.all_processes["raylet"][0].process.pid


def saved_samples(service, streams):
    """How many samples of each stream are in its saved state now."""
    found = {}
    for name in streams:
        states = sorted((service.store.root / "streams" / name / "states").glob("*/state.json"))
        found[name] = json.loads(states[-1].read_text())["state"]["beside"]["samples"] if states else 0
    return found


def check_kill(load, killed_at, saved, service, what):
    """Nothing that was saved is lost, and saves came in time. What failed."""
    after = [one for one in load.answered if one.sent + one.took > killed_at]
    right = [one for one in after if one.status == 200]
    for name in load.streams:
        assert min(one.number for one in right if one.stream == name) >= saved[name], name
    lost = max(seconds_lost(load.of(name)) for name in load.streams)
    wrong = [one for one in after if one.status != 200]
    steady = [one.took for one in load.answered if one.sent + one.took <= killed_at]
    failed, median = sorted(one.status for one in wrong), 1000 * np.median(steady)
    print(
        f"\n{what}: {len(load.answered)} requests, failed {failed}; median {median:.0f} ms before, longest wait after "
        f"{max(one.took for one in after):.2f} s, at most {lost:.2f} s of a stream lost"
    )
    assert lost <= service.settings.save_every + SLACK
    return wrong
