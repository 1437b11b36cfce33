import asyncio
import io
import json

import numpy as np
import pytest
from serve import fake_meters

from gotta import GottaError
from gotta.serve import gate as gate_module
from gotta.serve.gate import TOKEN, Asked, Gate
from gotta.serve.meters import Meters
from gotta.serve.requests import Refused
from gotta.serve.settings import Limits

NPY = io.BytesIO()
np.save(NPY, np.zeros((2, 3), np.float32))
BODY, KIND = NPY.getvalue(), {"content-type": "application/x-npy"}


class Replicas:
    """Answers in turn; an exception among them is raised."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    async def __call__(self, stream, call, *given):
        self.asked.append((stream, call, *given))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        await asyncio.sleep(0)
        if isinstance(answer, Exception):
            raise answer
        return dict(answer)


def ask(replicas, path="/predict", method="POST", body=BODY, headers=KIND, limits=None, **query):
    async def parts():
        yield body

    gate = Gate(replicas, Meters(fake_meters), limits or Limits(seconds=1, bytes=1 << 16))
    status, said = asyncio.run(gate.answer(Asked(method, path, headers, query, parts())))
    counted = gate.meters.by_name["gotta_requests"].noted
    assert [tags["status"] for _, tags in counted] == [str(status)]
    return status, said, {name: meter.noted for name, meter in gate.meters.by_name.items()}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(gate_module, "PAUSE", 0.001)
    monkeypatch.delenv(TOKEN, raising=False)


def test_a_request_goes_to_the_owner_of_its_stream():
    replicas = Replicas({"labels": [1, 2]})
    assert ask(replicas, stream="camera")[:2] == (200, {"labels": [1, 2]})
    (stream, call, x) = replicas.asked[0]
    assert (stream, call, x.shape) == ("camera", "predict", (2, 3))
    ask(replicas)
    assert replicas.asked[1][0] == "default"


def test_a_stream_that_changes_hands_is_asked_for_again():
    replicas = Replicas({"error": "elsewhere", "status": 503}, {"error": "died", "status": 503}, {"labels": [0]})
    assert ask(replicas)[:2] == (200, {"labels": [0]})
    assert len(replicas.asked) == 3


def test_a_stream_that_nobody_takes_is_given_up_in_time():
    status, said, noted = ask(Replicas({"error": "elsewhere", "status": 503}), limits=Limits(seconds=0.05))
    assert (status, "within 0.05 s" in said["error"]) == (504, True)
    assert noted["gotta_drops"] == [(1.0, {"reason": "late"})]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (Refused("full", 503), 503),
        (RuntimeError("secret path"), 500),
        ({"error": "bad batch", "status": 400}, 400),
        (GottaError("wrong"), 400),
    ],
)
def test_what_goes_wrong_behind_the_gate(answer, status):
    got, said, _ = ask(Replicas(answer))
    assert got == status
    assert "secret" not in said["error"]


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"path": "/"}, 404),
        ({"path": "/admin/predict"}, 404),
        ({"path": "/admin/../predict"}, 404),
        ({"path": "/predict", "method": "GET"}, 405),
        ({"stream": "../x"}, 400),
        ({"body": b"x"}, 400),
        ({"body": b"x" * 70_000}, 413),
        ({"path": "/feedback", "body": b"{}"}, 400),
        ({"path": "/feedback", "body": b'{"ids": 1, "labels": [1]}'}, 400),
        ({"path": "/feedback", "body": b"[]"}, 400),
    ],
)
def test_what_the_gate_refuses_reaches_no_replica(given, status):
    replicas = Replicas({})
    got, said, noted = ask(replicas, **given)
    assert (got, replicas.asked) == (status, [])
    assert said["error"]
    assert noted["gotta_requests"][0][1]["call"] in ("unknown", "predict", "feedback"), "what callers invent is no tag"


def test_feedback_is_passed_on():
    replicas = Replicas({})
    ask(replicas, "/feedback", body=json.dumps({"ids": ["a/1/0"], "labels": [3]}).encode())
    assert replicas.asked == [("default", "feedback", ["a/1/0"], [3])]


@pytest.mark.parametrize("call", ["promote", "demote", "snapshot", "rollback", "reset", "forget"])
def test_admin_calls_need_the_token(monkeypatch, call):
    replicas = Replicas({"done": True})
    right = {"authorization": "Bearer s3cret"}
    assert ask(replicas, f"/admin/{call}", headers=right, n="1")[0] == 403, "off without a token"
    monkeypatch.setenv(TOKEN, "s3cret")
    for wrong in ({}, {"authorization": "s3cret"}, {"authorization": "Bearer s3cre"}, {"authorization": "Bearer ü"}):
        assert ask(replicas, f"/admin/{call}", headers=wrong, n="1")[0] == 401
    assert replicas.asked == []
    assert ask(replicas, f"/admin/{call}", headers=right, n="1")[0] == 200


@pytest.mark.parametrize("number", ["", "x", "1" * 10_000, "²", None])
def test_a_snapshot_has_a_number(monkeypatch, number):
    monkeypatch.setenv(TOKEN, "s")
    given = {} if number is None else {"n": number}
    status, said, _ = ask(Replicas({}), "/admin/rollback", headers={"authorization": "Bearer s"}, **given)
    assert (status, "not the number of a snapshot" in said["error"]) == (400, True)


def test_health_needs_no_replica():
    assert ask(Replicas(RuntimeError()), "/health", "GET", b"")[:2] == (200, {"healthy": True})


@pytest.mark.parametrize(
    "told",
    [
        {"ids": {"a/1/0": "x"}, "labels": [3]},
        {"ids": "a", "labels": [3]},
        {"ids": ["a/1/0"], "labels": [3, 4]},
        {"ids": [1], "labels": [3]},
        {"ids": ["a/1/0"], "labels": [True]},
        {"ids": ["a/1/0"]},
        [],
    ],
)
def test_feedback_that_is_none_reaches_no_replica(told):
    replicas = Replicas({})
    assert ask(replicas, "/feedback", body=json.dumps(told).encode())[0] == 400
    assert replicas.asked == []


@pytest.mark.parametrize("number", ["", "1_0", "-1", " 1", "x", "9" * 20, "\u0663"])
def test_what_is_no_number_of_a_snapshot_reaches_no_replica(monkeypatch, number):
    monkeypatch.setenv(TOKEN, "s3cret")
    replicas = Replicas({})
    status, said, _ = ask(replicas, "/admin/rollback", headers={"authorization": "Bearer s3cret"}, n=number)
    assert status == 400
    assert "Expected rollback?n=1" in said["error"]
    assert replicas.asked == []
