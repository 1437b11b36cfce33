"""The examples of serving with other engines, each where its package is installed: two streams, told apart."""

import importlib
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import gotta

FOLDER = Path(__file__).parents[2] / "examples" / "serving"
X = np.random.default_rng(0).random((8, 3, 8, 8), np.float32)
pytestmark = pytest.mark.filterwarnings("ignore")  # the packages warn of their own affairs
NAMES = ("my_model", "fastapi_app", "litserve_app", "mlflow_model")


@pytest.fixture
def example(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.chdir(tmp_path)
    yield importlib.import_module
    for name in NAMES:
        sys.modules.pop(name, None)


def expected(example, streams):
    """What the model gives for X, one batch for each stream."""
    model = gotta.adapt(example("my_model").build_network())
    return [model(torch.from_numpy(X), stream=stream).argmax(1).tolist() for stream in streams]


def test_fastapi(example, tmp_path):
    pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    from fastapi.testclient import TestClient

    module = example("fastapi_app")
    with TestClient(module.app) as client:
        got = [
            client.post("/predict", json={"inputs": X.tolist(), "stream": stream}).json()["labels"] for stream in "aba"
        ]
        assert client.post("/predict", json={"inputs": [[[[1.0]]]]}).status_code == 400
    assert got == expected(example, "aba")
    assert (tmp_path / "state").is_dir(), "saved when it stops"
    with TestClient(module.app):
        assert sorted(module.model.streams) == ["a", "b"]


def test_litserve(example):
    pytest.importorskip("litserve")
    pytest.importorskip("httpx")
    from fastapi.testclient import TestClient
    from litserve.utils import wrap_litserve_start

    server = example("litserve_app").make_server()
    with wrap_litserve_start(server) as started, TestClient(started.app) as client:
        deadline = time.monotonic() + 120
        while client.get("/health").status_code != 200 and time.monotonic() < deadline:  # its worker is starting
            time.sleep(0.2)
        got = [
            client.post("/predict", json={"inputs": x.tolist(), "stream": stream}).json()["label"]
            for stream in "ab"
            for x in X[:3]
        ]
    model = gotta.adapt(example("my_model").build_network())
    assert got == [int(model(torch.from_numpy(x[None]), stream=stream).argmax()) for stream in "ab" for x in X[:3]]


def test_mlflow(example, tmp_path):
    pytest.importorskip("mlflow.pyfunc")
    import mlflow

    module = example("mlflow_model")
    model = gotta.adapt(example("my_model").build_network())
    model(torch.from_numpy(X), stream="a")
    module.save(model, tmp_path)
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    got = [loaded.predict(X, params={"stream": stream}).tolist() for stream in "ab"]
    assert got == [model(torch.from_numpy(X), stream=stream).argmax(1).tolist() for stream in "ab"]
    assert sorted(loaded.unwrap_python_model().model.streams) == ["a", "b"], "it went on from the saved state"


def test_ray_serve_takes_the_same_model(example):
    from gotta.serve.predictor import build_model

    assert isinstance(build_model("my_model:build_model"), gotta.Adapted)
