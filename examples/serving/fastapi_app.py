"""A FastAPI service in one process: `uvicorn fastapi_app:app`. For many replicas see `gotta serve`.

curl localhost:8000/predict -H 'content-type: application/json' -d '{"stream": "camera-1", "inputs": [[[[0.5, ...]]]]}'
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import torch
from fastapi import FastAPI, HTTPException
from my_model import build_network
from pydantic import BaseModel

import gotta

STATE = Path("state")
model = gotta.adapt(build_network())


@asynccontextmanager
async def keep_state(app: FastAPI) -> AsyncIterator[None]:
    """Go on from the last stop."""
    if STATE.exists():
        model.load(STATE)
    yield
    model.save(STATE)


app = FastAPI(lifespan=keep_state)


class Request(BaseModel):
    inputs: list[list[list[list[float]]]]  # [B, C, H, W]
    stream: str = "default"


@app.post("/predict")
def predict(
    request: Request,
) -> dict[str, list[int]]:  # not async: FastAPI calls it in a thread, and the model has a lock
    try:
        logits = model(torch.tensor(request.inputs), stream=request.stream)
    except (gotta.GottaError, ValueError) as error:
        raise HTTPException(400, str(error)) from None
    return {"labels": logits.argmax(1).tolist()}
