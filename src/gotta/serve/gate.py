"""What a request meets first: limits, the admin token, the right replica, an answer in time. Keeps no state."""

import asyncio
import hmac
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import Any, Protocol

from gotta.errors import GottaError
from gotta.json_yaml import parse_json
from gotta.serve.meters import Meters
from gotta.serve.owned_streams import DEFAULT, check_stream
from gotta.serve.requests import Limits, TooLarge, TooSlow, read_body, read_inputs

LOG = logging.getLogger(__name__)
TOKEN = "GOTTA_ADMIN_TOKEN"
PAUSE = 0.1  # seconds before a stream is looked for again whose owner was not found or died
Answer = dict[str, Any]
ADMIN = {"promote": "POST", "demote": "POST", "snapshot": "POST", "rollback": "POST", "reset": "POST", "forget": "POST"}
CALLS = {"predict": "POST", "feedback": "POST", "report": "GET", "health": "GET"}


class Asked(Protocol):
    """A request, as Starlette has it."""

    method: str

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def query_params(self) -> Mapping[str, str]: ...

    @property
    def url(self) -> Any: ...

    def stream(self) -> AsyncIterator[bytes]: ...


class Replicas(Protocol):
    """The way to the replica that owns a stream."""

    def __call__(self, stream: str, call: str, *given: Any) -> Awaitable[Answer]: ...

    def may_retry(self, error: Exception) -> bool:
        """Whether the replica died or could not be reached, and another one may answer."""

    def is_full(self, error: Exception) -> bool:
        """Whether more requests wait than may."""


class Gate:
    """Answers requests: a status and what is sent back."""

    def __init__(self, replicas: Replicas, meters: Meters, limits: Limits, size: int | None = None) -> None:
        self.replicas, self.meters, self.limits, self.size = replicas, meters, limits, size

    async def answer(self, asked: Asked) -> tuple[int, Answer]:
        began, call = time.monotonic(), asked.url.path.strip("/")
        known = call.removeprefix("admin/") in ADMIN if call.startswith("admin/") else call in CALLS
        try:
            status, said = await self._route(asked, call) if known else (404, {"error": f"no call {call[:80]!r}."})
        except TooLarge as error:
            status, said = 413, {"error": str(error)}
        except TooSlow as error:
            status, said = 408, {"error": str(error)}
        except GottaError as error:
            status, said = 400, {"error": str(error)}
        except TimeoutError:
            status, said = 504, {"error": f"no answer within {self.limits.seconds:g} s. Try again in a moment."}
        except Exception:
            LOG.exception("a request failed")
            status, said = 500, {"error": "the service failed; its log says why."}
        if status in (503, 504):
            self.meters.add("gotta_drops", reason="busy" if status == 503 else "late")
        self.meters.note_request(call if known else "unknown", status, time.monotonic() - began)
        return status, said

    async def _route(self, asked: Asked, call: str) -> tuple[int, Answer]:
        name = call.removeprefix("admin/")
        method = (ADMIN if name != call else CALLS)[name]
        if asked.method != method:
            return 405, {"error": f"{call} takes {method} requests (got {asked.method})."}
        if name != call and (refused := check_token(asked.headers)):
            return refused
        stream = check_stream(asked.query_params.get("stream", DEFAULT))
        if call == "health":
            return 200, {"healthy": True}
        body = await read_body(asked.stream(), asked.headers.get("content-length"), self.limits)
        async with asyncio.timeout(self.limits.seconds):
            given = await self._read(asked, name, body)
            return await self._ask(stream, name, *given)

    async def _read(self, asked: Asked, call: str, body: bytes) -> tuple[Any, ...]:
        """What a call is given."""
        if call == "predict":
            kind = asked.headers.get("content-type", "")
            return (await asyncio.to_thread(read_inputs, body, kind, self.limits, self.size),)
        if call == "feedback":
            return read_feedback(body)
        return (read_number(asked.query_params.get("n")),) if call == "rollback" else ()

    async def _ask(self, stream: str, call: str, *given: Any) -> tuple[int, Answer]:
        """The owner's answer. While the stream changes hands it is asked for again."""
        while True:
            try:
                said = await self.replicas(stream, call, *given)
                if said.get("status") != 503:
                    return said.pop("status", 200), said
            except Exception as error:
                if self.replicas.is_full(error):
                    return 503, {"error": "more requests wait than may. Try again in a moment."}
                if not self.replicas.may_retry(error):
                    raise
            await asyncio.sleep(PAUSE)


def check_token(headers: Mapping[str, str]) -> tuple[int, Answer] | None:
    """What is answered to a call without the right token, if it is one."""
    token = os.environ.get(TOKEN, "")
    if not token:
        return 403, {"error": f"admin calls are off. Set {TOKEN} where the service is started."}
    said = headers.get("authorization", "")
    if not hmac.compare_digest(said.encode(), f"Bearer {token}".encode()):  # in the same time, right or wrong
        return 401, {"error": f"the token is missing or wrong. Send 'Authorization: Bearer ...' with that of {TOKEN}."}
    return None


def read_number(text: str | None) -> int:
    if text is None or not text.isdecimal() or len(text) > 9:
        raise GottaError(f"n={text!r} is not the number of a snapshot. Expected rollback?n=1.")
    return int(text)


def read_feedback(body: bytes) -> tuple[list[str], list[int]]:
    try:
        said = parse_json(body)
        ids, labels = said["ids"], said["labels"]
    except (ValueError, KeyError, TypeError) as error:
        raise GottaError(f"feedback is not readable: {error}. Expected an object with ids and labels.") from None
    alike = isinstance(ids, list) and isinstance(labels, list) and len(ids) == len(labels)
    if not alike or not all(isinstance(id, str) for id in ids) or not all(type(label) is int for label in labels):
        raise GottaError("feedback has lists ids (texts) and labels (whole numbers), equally long.")
    return ids, labels
