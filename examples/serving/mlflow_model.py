"""An adapted model as an MLflow pyfunc: its state is an artifact, and whoever loads the model goes on from there."""

from pathlib import Path
from typing import Any

import mlflow.pyfunc
import numpy as np
import numpy.typing as npt
import torch

import gotta


class Adapting(mlflow.pyfunc.PythonModel):
    """Takes arrays [B, C, H, W]; the parameter `stream` names the stream they belong to."""

    def load_context(self, context: Any) -> None:
        from my_model import build_network

        self.model = gotta.load(context.artifacts["state"], build_network())

    def predict(
        self, context: Any, model_input: npt.NDArray[np.float32], params: dict[str, Any] | None = None
    ) -> npt.NDArray[np.int64]:
        stream = (params or {}).get("stream", "default")
        logits = self.model(torch.from_numpy(np.asarray(model_input, np.float32)), stream=stream)
        return logits.argmax(1).numpy()


def save(model: gotta.Adapted, folder: Path) -> None:
    """Write an MLflow model with the state of now, the code it needs, and what it takes."""
    from mlflow.models import ModelSignature
    from mlflow.types import ParamSchema, ParamSpec, Schema, TensorSpec

    model.save(folder / "state")
    signature = ModelSignature(
        inputs=Schema([TensorSpec(np.dtype(np.float32), (-1, 3, -1, -1))]),
        params=ParamSchema([ParamSpec("stream", "string", "default")]),
    )
    mlflow.pyfunc.save_model(
        str(folder / "model"),
        python_model=Adapting(),
        artifacts={"state": str(folder / "state")},
        code_paths=[str(Path(__file__).with_name("my_model.py")), __file__],
        signature=signature,
        pip_requirements=["gotta-tta"],
    )
