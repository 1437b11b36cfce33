"""Is every package that `make` installed named in constraints.txt, with the version that is there?"""

import re
import sys
from collections.abc import Mapping
from importlib.metadata import distributions
from pathlib import Path

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"
NOT_OURS = ("gotta", "gotta-tta", "pip")  # the package itself, and what every environment comes with
OF_TORCH = ("nvidia-", "cuda-", "triton")  # brought by torch's builds for GPUs, which name the versions themselves


def find_gaps(text: str, installed: Mapping[str, str]) -> list[str]:
    """What is installed and not pinned, or pinned to another version; versions without their local part (+cpu)."""
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    pinned = {normal(name): version for name, _, version in (line.partition("==") for line in lines if line)}
    gaps = [f"{name} is not pinned" for name, version in pinned.items() if not version]
    for name, version in sorted(installed.items()):
        name, version = normal(name), version.partition("+")[0]
        if name in NOT_OURS or name.startswith(OF_TORCH):
            continue
        if name not in pinned:
            gaps.append(f"{name}=={version} is installed and not in constraints.txt")
        elif pinned[name] not in ("", version):
            gaps.append(f"{name}=={version} is installed, constraints.txt has {pinned[name]}")
    return gaps


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    there = {found.metadata["Name"]: found.version for found in distributions()}
    gaps = find_gaps(CONSTRAINTS.read_text(encoding="utf-8"), there)
    print("\n".join(gaps) or f"constraints.txt is complete: {len(there)} packages are installed")
    sys.exit(bool(gaps))
