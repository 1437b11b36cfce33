"""Predictions over gRPC, through the gate as over HTTP: `/gotta.Gotta/Predict` takes a BytesValue and gives a Struct.

The bytes are the body of a request. Metadata say what they are: `stream`, `content-kind` (default application/x-npy).
"""

from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

from gotta.serve.gate import Asked, Gate

CODES = {400: "INVALID_ARGUMENT", 413: "INVALID_ARGUMENT", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}


def add_calls(servicer: Any, server: Any) -> None:
    """What Ray Serve calls to know the methods, their requests and their answers."""
    grpc, wrappers, struct = map(import_module, ("grpc", "google.protobuf.wrappers_pb2", "google.protobuf.struct_pb2"))
    predict = grpc.unary_unary_rpc_method_handler(
        servicer.Predict, wrappers.BytesValue.FromString, struct.Struct.SerializeToString
    )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("gotta.Gotta", {"Predict": predict}),))


async def whole(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def predict(gate: Gate, request: Any, grpc_context: Any) -> Any:  # Serve looks for that name
    """The gate's answer, with its status as a code of gRPC."""
    said = dict(grpc_context.invocation_metadata())
    headers = {"content-type": str(said.get("content-kind", "application/x-npy"))}
    status, answer = await gate.answer(Asked("POST", "/predict", headers, said, whole(request.value)))
    if status != 200:
        grpc_context.set_code(getattr(import_module("grpc").StatusCode, CODES.get(status, "INTERNAL")))
        grpc_context.set_details(answer["error"])
    given = import_module("google.protobuf.struct_pb2").Struct()
    given.update(answer)
    return given
