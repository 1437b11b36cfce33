"""The service on a real Ray cluster of two nodes, with a real HTTP client: limits, poison, slow clients, kills."""

import io
import json
import os
import re
import signal
import socket
import threading
import time

import numpy as np
import pytest
import torch
from serve.small_cluster import TOKEN, Load, as_npy, check_kill, owner, parent, raylet, samples, saved_samples, serving
from serve.test_requests import POISONED
from tiny import seeded_net

import gotta
from gotta.serve.meters import METERS

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # Ray warns of its own affairs
# What this service has nothing to say of: no shadow, no memory, no new domain, nobody sent away.
LACKING = {"gotta_agreement", "gotta_memory_occupancy", "gotta_jumps", "gotta_drops"}
ADMIN = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    pytest.importorskip("fastapi", reason="ray[serve] is not installed")
    pytest.importorskip("httpx")
    from gotta.serve.settings import Limits

    limits = Limits(bytes=1 << 20, samples=64, pixels=1 << 20, read_seconds=2, seconds=20)
    with serving(tmp_path_factory.mktemp("state"), limits=limits, size=8) as running:
        yield running


@pytest.fixture
def client(service):
    with service.client() as opened:
        yield opened


def test_answers_are_those_of_a_model_here(service, client):
    model = gotta.adapt(seeded_net(), num_classes=10)
    for seed in range(6):
        x = samples(seed, 4)
        body = json.dumps({"inputs": x.tolist()}).encode()
        headers = {"content-type": "application/json"}
        if seed % 2:
            body, headers = as_npy(x), {"content-type": "application/x-npy"}
        got = client.post("/predict", params={"stream": "alone"}, content=body, headers=headers)
        assert got.status_code == 200, got.text
        expected = model.step(torch.from_numpy(x)).prediction
        assert got.json()["labels"] == expected.label.tolist()
        np.testing.assert_allclose(got.json()["confidence"], expected.probs.amax(1), rtol=1e-4)


def test_grpc_gives_the_same_answers(service, client):
    import grpc
    from google.protobuf.struct_pb2 import Struct
    from google.protobuf.wrappers_pb2 import BytesValue

    with grpc.insecure_channel(f"127.0.0.1:{service.grpc_port}") as channel:
        predict = channel.unary_unary("/gotta.Gotta/Predict", BytesValue.SerializeToString, Struct.FromString)
        about = [("stream", "by-grpc"), ("application", "gotta")]
        for seed in range(3):
            got = predict(BytesValue(value=as_npy(samples(seed, 4))), metadata=about, timeout=60)
            expected = service.predict(client, "by-http", samples(seed, 4)).json()
            assert list(got["labels"]) == expected["labels"]
            np.testing.assert_allclose(list(got["confidence"]), expected["confidence"], rtol=1e-6)
        with pytest.raises(grpc.RpcError) as refused:
            predict(BytesValue(value=b"x"), metadata=about, timeout=60)
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "not in .npy format" in refused.value.details()


def test_images_are_decoded_and_fitted(client):
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (20, 30), (9, 99, 200)).save(file, "JPEG")
    for kind in ("image/jpeg", "image/png"):  # what is in it decides
        got = client.post("/predict", content=file.getvalue(), headers={"content-type": kind})
        assert (got.status_code, len(got.json()["labels"])) == (200, 1)


def test_poison_is_refused_and_harms_nobody(service, client):
    poisoned = [(data, "image/png") for data in POISONED.values() if len(data) < 1 << 20]
    poisoned += [(as_npy(np.full((1, 3, 8, 8), np.nan, np.float32)), "application/x-npy"), (b"{", "application/json")]
    with Load(service, ["beside-1", "beside-2"]) as load:
        load.wait_for(3)
        for data, kind in poisoned * 3:
            got = client.post("/predict", params={"stream": "beside-1"}, content=data, headers={"content-type": kind})
            # A small image is just too large for other limits.
            assert got.status_code in (400, 413) or data == POISONED["just too large"], got.text
        load.wait_for(3)
    assert {one.status for one in load.answered} == {200}


def test_large_requests_are_refused_with_and_without_their_length(client):
    headers = {"content-type": "application/x-npy"}
    assert client.post("/predict", content=b"x" * (2 << 20), headers=headers).status_code == 413
    parts = (b"x" * (1 << 16) for _ in range(64))
    assert client.post("/predict", content=parts, headers=headers).status_code == 413


def test_slow_clients_are_given_up_and_hold_nobody_up(service, client):
    host, port = service.url.removeprefix("http://").split(":")
    told, began = [], time.monotonic()

    def crawl():
        with socket.create_connection((host, int(port)), timeout=30) as line:
            head = (
                b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-npy\r\nContent-Length: 900\r\n\r\n"
            )
            line.sendall(head)
            line.settimeout(0.2)
            while time.monotonic() - began < 20:
                try:
                    if said := line.recv(100):
                        told.append((said.split()[1], time.monotonic() - began))
                    return
                except TimeoutError:
                    line.sendall(b"x")

    crawling = [threading.Thread(target=crawl) for _ in range(20)]
    for thread in crawling:
        thread.start()
    waited = []
    while any(thread.is_alive() for thread in crawling):
        before = time.monotonic()
        assert service.predict(client, "quick", samples(0)).status_code == 200
        waited.append(time.monotonic() - before)
    assert [status for status, _ in told] == [b"408"] * 20
    assert max(after for _, after in told) < 10
    assert len(waited) > 10
    print(f"\nslow clients: 20 given up, quick ones waited {1000 * np.median(waited):.0f} ms in the median")


def test_admin_calls_on_a_real_service(service, client):
    service.predict(client, "kept", samples(0, 4))
    assert client.post("/admin/snapshot", params={"stream": "kept"}).status_code == 401
    assert client.post("/admin/snapshot", params={"stream": "kept"}, headers=ADMIN).json() == {"snapshot": 1}
    before = [service.predict(client, "kept", samples(seed, 4)).json()["confidence"] for seed in (1, 2)]
    assert client.post("/admin/rollback", params={"stream": "kept", "n": 1}, headers=ADMIN).status_code == 200
    after = [service.predict(client, "kept", samples(seed, 4)).json()["confidence"] for seed in (1, 2)]
    assert after == before
    refused = client.post("/admin/rollback", params={"stream": "kept", "n": 5}, headers=ADMIN)
    assert (refused.status_code, "no snapshot 5" in refused.json()["error"]) == (400, True)
    assert client.get("/report", params={"stream": "kept"}).json()["snapshots"] == [1]


def test_every_metric_reaches_prometheus(service, client):
    import httpx
    import ray

    service.predict(client, "metered", samples(0, 4))
    service.predict(client, "metered", samples(0, 4) * 1e7)
    ports = [(node["NodeManagerAddress"], node["MetricsExportPort"]) for node in ray.nodes() if node["Alive"]]
    wanted, found = set(METERS) - LACKING, set()
    deadline = time.monotonic() + 60
    while not wanted <= found and time.monotonic() < deadline:
        text = "".join(httpx.get(f"http://{host}:{port}/metrics").text for host, port in ports)
        found = {name for name in METERS if re.search(rf"^ray_{name}(_total|_bucket)?{{", text, re.M)}
        time.sleep(1)
    assert wanted <= found


def test_a_replica_killed_under_load(service):
    names = [f"killed-{number}" for number in range(6)]
    with Load(service, names) as load:
        load.wait_for(120)
        killed_at, saved = load.now, saved_samples(service, names)
        os.kill(killed := owner(service, names[0]), signal.SIGKILL)
        load.wait_for(40)
        assert killed not in {owner(service, name) for name in names}
    wrong = check_kill(load, killed_at, saved, service, "replica killed")
    assert wrong == []


def test_a_node_killed_under_load(service):
    """The last test: it takes the second node away."""
    with service.client() as client:
        owners, doomed, deadline = {}, [], time.monotonic() + 180
        while len(doomed) < 3:  # the node's replica may be that of the test before, on its way to be replaced
            assert time.monotonic() < deadline, "no stream came to the second node"
            name = f"node-{len(owners)}"
            assert service.predict(client, name, samples(0)).status_code == 200
            owners[name] = owner(service, name)
            doomed = [name for name, pid in owners.items() if parent(pid) == raylet(service.worker)]
            time.sleep(0.2)
    names = list({*doomed, *list(owners)[:3]})
    with Load(service, names) as load:
        load.wait_for(120)
        killed_at, saved = load.now, saved_samples(service, names)
        service.cluster.remove_node(service.worker, allow_graceful=False)
        load.wait_for(40)
    wrong = check_kill(load, killed_at, saved, service, f"node killed with {len(doomed)} of {len(names)} streams")
    assert all(owner(service, name) != owners[name] for name in doomed)
    assert len(wrong) <= len(names), "at most the requests that were under way at a gate of that node"
