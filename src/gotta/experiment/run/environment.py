"""The code and the machine behind a number."""

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

import gotta


def environment() -> dict[str, Any]:
    """Versions, processor, threads. No names of users, hosts or folders."""
    return {
        "gotta": gotta.__version__,
        **_checkout(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        **{name: version(name) for name in ("numpy", "scipy", "pillow")},
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "torch_threads": torch.get_num_threads(),
        "torch_interop_threads": torch.get_num_interop_threads(),
        "omp_num_threads": os.environ.get("OMP_NUM_THREADS"),
        "cuda": {"name": torch.cuda.get_device_name(), **read_settings()} if torch.cuda.is_available() else None,
    }


@cache
def _processor() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or None)


@cache
def _checkout() -> dict[str, Any]:
    """The commit of the checkout the package lives in, and whether its sources differ from it; None elsewhere."""
    package = Path(gotta.__file__).resolve().parent
    root = package.parents[1]
    # an installed copy may lie inside the checkout of another project, whose commit says nothing about gotta
    if package != root / "src" / "gotta" or not (root / ".git").exists():
        return {"commit": None, "modified": None}
    commit, changes = _git(root, "rev-parse", "HEAD"), _git(root, "status", "--porcelain", "--", "src")
    return {"commit": commit or None, "modified": None if changes is None else bool(changes)}


def _git(root: Path, *arguments: str) -> str | None:
    command = ["git", "--no-optional-locks", "-C", str(root), *arguments]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()


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
