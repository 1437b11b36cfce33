"""The application on Ray Serve: a gate that reads requests, and replicas that own streams. Only this file knows Ray."""

import asyncio
import contextvars
import os
import sys
import time
from importlib import import_module
from typing import Any

from gotta.errors import GottaError
from gotta.experiment.sweep.engines.ray import SETTINGS, connect, import_ray
from gotta.models.own import find as check_model
from gotta.serve.gate import TOKEN, Asked, Gate, Replicas
from gotta.serve.grpc_calls import add_calls, predict
from gotta.serve.meters import Meters
from gotta.serve.owned_streams import StreamStore
from gotta.serve.predictor import Owned, Predictor
from gotta.serve.requests import Answer, Inputs, Refused, tell
from gotta.serve.settings import Limits, Settings

MODES = {"promote": "live", "demote": "shadow"}


def make_app(settings: Settings) -> Any:
    """The application, to be run by `serve.run` or named in a configuration of Ray Serve."""
    serve = import_serve()

    class Replica(Predictor):
        """The streams that it owns, for Serve to call."""

        def __init__(self, settings: Settings) -> None:
            store = StreamStore(settings.state, limit=settings.takeover)
            super().__init__(settings, store, Meters(import_module("ray.util.metrics")))

        @serve.multiplexed(max_num_models_per_replica=settings.streams)  # type: ignore[untyped-decorator]
        async def hold(self, stream: str) -> Hold:
            return Hold(self, await asyncio.to_thread(self.open, stream))

        @serve.batch(max_batch_size=settings.batch, batch_wait_timeout_s=settings.wait)  # type: ignore[untyped-decorator]
        async def batched(self, requests: list[tuple[Owned, Inputs]]) -> list[Answer]:
            return await asyncio.to_thread(self.predict, requests)

        async def call(self, stream: str, call: str, *given: Any) -> Any:
            """Do something for a stream. What goes wrong with it is an answer too."""
            try:
                if call in MODES:
                    return await asyncio.to_thread(self.set_mode, MODES[call])
                if call == "forget":
                    return await asyncio.to_thread(self.forget, stream)
                hold = await self.hold(stream)
                owned = await asyncio.to_thread(hold.owned_now)
                if call != "predict":
                    return await asyncio.to_thread(self.do, call, owned, *given)
                # Serve would not mix streams in a batch: without the context of this request it does not see any.
                return await asyncio.create_task(self.batched((owned, *given)), context=contextvars.Context())
            except GottaError as error:
                return tell(error)

        def __del__(self) -> None:
            if hasattr(self, "keeper"):
                self.close_all()

    replica = serve.deployment(
        Replica,
        name="Replica",
        num_replicas=settings.replicas,
        max_ongoing_requests=4 * settings.batch,
        max_queued_requests=settings.waiting,
        health_check_period_s=2,
        graceful_shutdown_timeout_s=30,
        ray_actor_options={"num_cpus": settings.cpus, "num_gpus": settings.gpus},
    )
    gate = serve.deployment(
        Door,
        name="Gate",
        num_replicas=settings.gates,
        max_ongoing_requests=2 * settings.waiting,
        max_queued_requests=settings.waiting,
        ray_actor_options={"num_cpus": 0, "runtime_env": {"env_vars": {TOKEN: os.environ.get(TOKEN, "")}}},
    )
    return gate.bind(replica.bind(settings), settings)


class Hold:
    """What Serve's multiplexing keeps for a stream; it calls `__del__` when it lets go of it."""

    def __init__(self, predictor: Predictor, owned: Owned) -> None:
        self.predictor, self.owned = predictor, owned

    def owned_now(self) -> Owned:
        """The stream, asked for anew where it was lost meanwhile."""
        if self.owned.lease.lost or not self.owned.lease.held:
            self.owned = self.predictor.open(self.owned.lease.id)
        return self.owned

    def __del__(self) -> None:
        self.predictor.close(self.owned)


class Door(Gate):
    """The gate, for Serve to call."""

    def __init__(self, handle: Any, settings: Settings) -> None:
        meters = Meters(import_module("ray.util.metrics"))
        super().__init__(way_to(handle), meters, settings.limits, settings.size)

    async def __call__(self, request: Any) -> Any:
        asked = Asked(request.method, request.url.path, request.headers, request.query_params, request.stream())
        status, said = await self.answer(asked)
        respond = import_module("starlette.responses").JSONResponse
        return respond(said, status, {"Retry-After": "1"} if status == 503 else None)

    Predict = predict  # over gRPC, by the name that it has there


def way_to(handle: Any) -> Replicas:
    """The way to the replica that owns a stream: Serve sends a stream where it was last, as well as it can."""
    from ray import exceptions, serve

    gone = (exceptions.RayActorError, exceptions.NodeDiedError, exceptions.ObjectLostError)

    async def ask(stream: str, call: str, *given: Any) -> Any:
        try:
            return await handle.options(multiplexed_model_id=stream).call.remote(stream, call, *given)
        except serve.exceptions.BackPressureError:
            raise Refused("more requests wait than may. Try again in a moment.", 503) from None
        except gone as error:  # another one is asked
            return {"error": str(error), "status": 503}

    return ask


def import_serve() -> Any:
    return import_ray("ray.serve", "gotta serve needs Ray Serve", "serve")


def start_proxies(host: str, port: int, grpc_port: int | None, limits: Limits, everywhere: bool = True) -> None:
    """Listen for HTTP, and for gRPC if there is a port for it."""
    seconds = limits.read_seconds + limits.seconds + 5
    calls = {"grpc_servicer_functions": [f"{add_calls.__module__}.{add_calls.__name__}"]}
    import_serve().start(
        proxy_location="EveryNode" if everywhere else "HeadOnly",
        http_options={"host": host, "port": port, "request_timeout_s": seconds},
        grpc_options={"port": grpc_port, "request_timeout_s": seconds, **calls} if grpc_port else None,
    )


def run(settings: Settings, host: str, port: int, grpc_port: int | None, address: str) -> None:
    """Serve until interrupted."""
    serve, ray = import_serve(), import_module("ray")
    check_model(settings.model)
    path = os.pathsep.join([os.getcwd(), *filter(None, sys.path)])  # where replicas find the caller's module
    variables = {**SETTINGS, "PYTHONPATH": path, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    connect(ray, address, runtime_env={"env_vars": variables})
    start_proxies(host, port, grpc_port, settings.limits)
    serve.run(make_app(settings), name="gotta", blocking=False)
    print(f"Serving {settings.model} at http://{host}:{port}, states in {settings.state}. Ctrl-C ends it.", flush=True)
    try:
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        serve.shutdown()  # replicas save their streams
    finally:
        ray.shutdown()
