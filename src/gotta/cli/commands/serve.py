"""`gotta serve`: a model as a service, on Ray Serve."""

import os
from pathlib import Path
from typing import Annotated

import typer


def serve(
    model: str,
    state: Path = Path("gotta-state"),
    host: str = "127.0.0.1",
    port: int = 8000,
    grpc_port: int | None = None,
    address: str | None = None,
    replicas: Annotated[int, typer.Option(min=1)] = 1,
    gates: Annotated[int, typer.Option(min=1)] = 1,
    streams: Annotated[int, typer.Option(min=1)] = 100,
    batch: Annotated[int, typer.Option(min=1)] = 16,
    save_every: Annotated[float, typer.Option(min=0.1)] = 5.0,
    shadow: bool = False,
    size: Annotated[int | None, typer.Option(min=1)] = None,
    max_bytes: Annotated[int, typer.Option(min=1)] = 8 << 20,
    max_samples: Annotated[int, typer.Option(min=1)] = 64,
    timeout: Annotated[float, typer.Option(min=0.1)] = 30.0,
    cpus: Annotated[float, typer.Option(min=0)] = 1.0,
    gpus: Annotated[float, typer.Option(min=0)] = 0.0,
) -> None:
    """Serve a model that adapts to many streams, over HTTP, on this machine or a Ray cluster.

    Admin calls need a token: set `GOTTA_ADMIN_TOKEN`.

    Example: `gotta serve my_module:build_model --port 8000 --replicas 2`

    Arguments:
        model: module:function that builds the network or the adapted model.

    Options:
        state: Where the states of streams are saved: a folder that all nodes see.
        host: Where to listen; 0.0.0.0 for everywhere.
        port: Where to listen.
        grpc_port: Where to listen for gRPC as well.
        address: A Ray cluster to join: auto, or host:port. Default: Ray on this machine.
        replicas: Replicas of the model.
        gates: Replicas of what reads requests.
        streams: Streams that one replica holds at most.
        batch: Requests that are predicted together.
        save_every: Seconds of a stream that a kill may lose.
        shadow: Answer as the source until promoted.
        size: Side to which images are fitted.
        max_bytes: Of a request.
        max_samples: Of a request.
        timeout: Seconds until a request is answered.
        cpus: Cores of a replica.
        gpus: GPUs of a replica, or a share of one.
    """
    from gotta.serve.app import run
    from gotta.serve.settings import Limits, Settings

    limits = Limits(max_bytes, max_samples, seconds=timeout)
    settings = Settings(
        model,
        state.expanduser().resolve(),
        replicas=replicas,
        gates=gates,
        streams=streams,
        batch=batch,
        save_every=save_every,
        shadow=shadow,
        cpus=cpus,
        gpus=gpus,
        size=size,
        limits=limits,
    )
    run(settings, host, port, grpc_port, address or os.environ.get("RAY_ADDRESS", ""))
