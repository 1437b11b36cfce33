"""`gotta serve`: a model as a service, on Ray Serve."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer


def serve(
    model: Annotated[str, typer.Argument(help="module:function that builds the network or the adapted model.")],
    state: Annotated[
        Path, typer.Option(help="Where the states of streams are saved: a folder that all nodes see.")
    ] = Path("gotta-state"),
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 for everywhere.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Where to listen.")] = 8000,
    grpc_port: Annotated[int | None, typer.Option(help="Where to listen for gRPC as well.")] = None,
    address: Annotated[
        str | None, typer.Option(help="A Ray cluster to join: auto, or host:port. Default: Ray on this machine.")
    ] = None,
    replicas: Annotated[int, typer.Option(min=1, help="Replicas of the model.")] = 1,
    gates: Annotated[int, typer.Option(min=1, help="Replicas of what reads requests.")] = 1,
    streams: Annotated[int, typer.Option(min=1, help="Streams that one replica holds at most.")] = 100,
    batch: Annotated[int, typer.Option(min=1, help="Requests that are predicted together.")] = 16,
    save_every: Annotated[float, typer.Option(min=0.1, help="Seconds of a stream that a kill may lose.")] = 5.0,
    shadow: Annotated[bool, typer.Option(help="Answer as the source until promoted.")] = False,
    size: Annotated[int | None, typer.Option(min=1, help="Side to which images are fitted.")] = None,
    max_bytes: Annotated[int, typer.Option(min=1, help="Of a request.")] = 8 << 20,
    max_samples: Annotated[int, typer.Option(min=1, help="Of a request.")] = 64,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds until a request is answered.")] = 30.0,
    cpus: Annotated[float, typer.Option(min=0, help="Cores of a replica.")] = 1.0,
    gpus: Annotated[float, typer.Option(min=0, help="GPUs of a replica, or a share of one.")] = 0.0,
) -> None:
    """Serve a model that adapts to many streams, over HTTP, on this machine or a Ray cluster.

    Admin calls need a token: set `GOTTA_ADMIN_TOKEN`.

    Example: `gotta serve my_module:build_model --port 8000 --replicas 2`
    """
    from gotta.serve.app import Settings, run
    from gotta.serve.requests import Limits

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
    run(settings, host, port, grpc_port, address or os.environ.get("RAY_ADDRESS", ""), [str(Path.cwd()), *sys.path])
