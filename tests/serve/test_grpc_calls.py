import asyncio
import io
from types import SimpleNamespace

import numpy as np
import pytest

from gotta.serve.grpc_calls import predict
from gotta.serve.settings import Limits

struct_pb2 = pytest.importorskip("google.protobuf.struct_pb2")
grpc = pytest.importorskip("grpc")


class Gate:
    """Notes what it was asked."""

    limits = Limits()

    def __init__(self, status, said):
        self.status, self.said, self.asked = status, said, None

    async def answer(self, asked):
        self.asked = (asked.method, asked.path, dict(asked.query), dict(asked.headers))
        self.body = b"".join([part async for part in asked.body])
        return self.status, self.said


class Context:
    code = details = None

    def __init__(self, *metadata):
        self.metadata = metadata

    def invocation_metadata(self):
        return self.metadata

    def set_code(self, code):
        self.code = code

    def set_details(self, text):
        self.details = text


def test_a_call_goes_through_the_gate():
    body = io.BytesIO()
    np.save(body, np.zeros((1, 2)))
    gate, context = Gate(200, {"ids": ["a/1/0"], "labels": [3], "confidence": [0.5]}), Context(("stream", "a"))
    given = asyncio.run(predict(gate, SimpleNamespace(value=body.getvalue()), context))
    assert gate.asked == ("POST", "/predict", {"stream": "a"}, {"content-type": "application/x-npy"})
    assert gate.body == body.getvalue()
    assert (list(given["labels"]), list(given["ids"]), context.code) == ([3], ["a/1/0"], None)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "INVALID_ARGUMENT"),
        (413, "INVALID_ARGUMENT"),
        (503, "UNAVAILABLE"),
        (504, "DEADLINE_EXCEEDED"),
        (500, "INTERNAL"),
    ],
)
def test_a_status_is_a_code(status, code):
    context = Context()
    asyncio.run(predict(Gate(status, {"error": "why"}), SimpleNamespace(value=b""), context))
    assert (context.code, context.details) == (getattr(grpc.StatusCode, code), "why")
