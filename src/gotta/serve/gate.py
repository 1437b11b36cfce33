"""What a request meets first: limits, the admin token, the right replica, an answer in time. Keeps no state."""

import asyncio
import hmac
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gotta.errors import GottaError, one_error
from gotta.json_yaml import parse_json
from gotta.serve.meters import Meters
from gotta.serve.owned_streams import DEFAULT, check_stream
from gotta.serve.requests import Answer, Refused, read_body, read_inputs, tell
from gotta.serve.settings import Limits

LOG = logging.getLogger(__name__)
TOKEN = "GOTTA_ADMIN_TOKEN"
PAUSE = 0.1  # seconds before a stream is looked for again whose owner was not found or died
Replicas = Callable[..., Awaitable[Answer]]  # asks the owner of a stream: the stream, the call, what it is given
ADMIN = "admin/"
CALLS = {"predict": "POST", "feedback": "POST", "report": "GET", "health": "GET"} | {
    f"{ADMIN}{name}": "POST" for name in ("promote", "demote", "snapshot", "rollback", "reset", "forget")
}


@dataclass(frozen=True)
class Asked:
    """A request, over HTTP or gRPC."""

    method: str
    path: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: AsyncIterator[bytes]


class Gate:
    """Answers requests: a status and what is sent back."""

    def __init__(self, replicas: Replicas, meters: Meters, limits: Limits, size: int | None = None) -> None:
        self.replicas, self.meters, self.limits, self.size = replicas, meters, limits, size

    async def answer(self, asked: Asked) -> tuple[int, Answer]:
        began, call = time.monotonic(), asked.path.strip("/")
        try:
            said = await self._route(asked, call)
        except GottaError as error:
            said = tell(error)
        except TimeoutError:
            said = {"error": f"no answer within {self.limits.seconds:g} s. Try again in a moment.", "status": 504}
        except Exception:
            LOG.exception("a request failed")
            said = {"error": "the service failed; its log says why.", "status": 500}
        status = said.pop("status", 200)
        if status in (503, 504):
            self.meters.add("gotta_drops", reason="busy" if status == 503 else "late")
        self.meters.note_request(call if call in CALLS else "unknown", status, time.monotonic() - began)
        return status, said

    async def _route(self, asked: Asked, call: str) -> Answer:
        if call not in CALLS:
            raise Refused(f"no call {call[:80]!r}.", 404)
        if asked.method != CALLS[call]:
            raise Refused(f"{call} takes {CALLS[call]} requests (got {asked.method}).", 405)
        if call.startswith(ADMIN):
            check_token(asked.headers)
        stream = check_stream(asked.query.get("stream", DEFAULT))
        if call == "health":
            return {"healthy": True}
        told = asked.headers.get("content-length")
        body, given = await read_body(asked.body, told, self.limits), tuple[Any, ...]()
        async with asyncio.timeout(self.limits.seconds):
            if call == "predict":
                kind = asked.headers.get("content-type", "")
                given = (await asyncio.to_thread(read_inputs, body, kind, self.limits, self.size),)
            elif call == "feedback":
                with one_error("feedback is not readable, an object with lists ids and labels"):
                    told = parse_json(body)
                    ids, labels = given = told["ids"], told["labels"]
                    lists = isinstance(ids, list) and isinstance(labels, list) and len(ids) == len(labels)
                    if not lists or {*map(type, ids)} - {str} or {*map(type, labels)} - {int}:
                        raise ValueError("expected texts and whole numbers, equally many")
            elif call == "admin/rollback":
                n = asked.query.get("n", "")
                if not (n.isascii() and n.isdigit() and len(n) < 10):
                    raise GottaError(f"n={n[:20]!r} is not the number of a snapshot. Expected rollback?n=1.")
                given = (int(n),)
            while (said := await self.replicas(stream, call.removeprefix(ADMIN), *given)).get("status") == 503:
                await asyncio.sleep(PAUSE)  # the stream changes hands
            return said


def check_token(headers: Mapping[str, str]) -> None:
    """Raises where a call does not have the right token."""
    token = os.environ.get(TOKEN, "")
    if not token:
        raise Refused(f"admin calls are off. Set {TOKEN} where the service is started.", 403)
    said = headers.get("authorization", "")
    if not hmac.compare_digest(said.encode(), f"Bearer {token}".encode()):  # in the same time, right or wrong
        raise Refused(f"the token is missing or wrong. Send 'Authorization: Bearer ...' with that of {TOKEN}.", 401)
