"""What makes a device repeat its numbers. A processor repeats them anyway, with the same threads."""

import os
from typing import Any

import torch

WORKSPACE = "CUBLAS_WORKSPACE_CONFIG", ":4096:8"  # read by cuBLAS when a process first uses it


def settle_device(device: str, deterministic: bool = True) -> None:
    """Ask the device for the same numbers every time, or leave it its shortcuts."""
    if torch.device(device).type != "cuda":
        return
    if deterministic:
        os.environ.setdefault(*WORKSPACE)
    torch.use_deterministic_algorithms(deterministic, warn_only=True)  # a few operations have no such version
    torch.backends.cudnn.benchmark = not deterministic
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = not deterministic


def read_settings() -> dict[str, Any]:
    """What moves the numbers of a device, as it is set now."""
    return {
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "cudnn.benchmark": torch.backends.cudnn.benchmark,
        "allow_tf32": torch.backends.cuda.matmul.allow_tf32,
        WORKSPACE[0]: os.environ.get(WORKSPACE[0]),
    }
