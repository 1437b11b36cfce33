"""A LitServe service that batches requests of several streams: `python litserve_app.py`."""

from typing import Any

import litserve
import torch
from my_model import build_network

import gotta


class Adapting(litserve.LitAPI):
    """One model for all streams of a worker. A stream must always meet the same worker, so there is one."""

    def setup(self, device: str) -> None:
        self.model = gotta.adapt(build_network()).to(device)
        self.place = device

    def decode_request(self, request: dict[str, Any]) -> tuple[torch.Tensor, str]:
        return torch.tensor(request["inputs"], device=self.place), request.get("stream", "default")

    def batch(self, inputs: list[tuple[torch.Tensor, str]]) -> tuple[torch.Tensor, list[str]]:
        """One sample per request."""
        return torch.stack([x for x, _ in inputs]), [stream for _, stream in inputs]

    def predict(self, x: tuple[torch.Tensor, list[str]]) -> torch.Tensor:
        samples, streams = x
        return self.model(samples, stream=streams).argmax(1)

    def unbatch(self, output: torch.Tensor) -> list[int]:
        return output.tolist()

    def encode_response(self, output: int) -> dict[str, int]:
        return {"label": output}


def make_server() -> litserve.LitServer:
    return litserve.LitServer(Adapting(max_batch_size=16, batch_timeout=0.005), workers_per_device=1)


if __name__ == "__main__":
    make_server().run(port=8000)
