"""Can this processor compute with bfloat16? Asked in a child process, because where it cannot, the process dies.

oneDNN, which torch computes convolutions with, chooses its instructions by what the processor names. Some virtual
machines name instructions that end a process with *Illegal instruction* when they are used. The environment variable
`ONEDNN_MAX_CPU_ISA` keeps oneDNN from them, if it is set before torch is imported.

Nothing here imports torch, so that the answer can be had before.
"""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import cache

__all__ = ["probe_bfloat16"]

LIMIT = "ONEDNN_MAX_CPU_ISA"
# The most capable first: the first one leaves out AMX alone. A name that a version of oneDNN does not know is no limit.
LIMITS = ("AVX10_1_512", "AVX512_CORE_FP16", "AVX512_CORE_BF16", "AVX2")
PATIENCE = 300.0  # seconds; importing torch takes about two on an idle machine

PROBE = """
import torch
from torch import nn

def descend(channels, side, layout, autocast):
    layers = nn.Conv2d(3, channels, 3, padding=1), nn.ReLU(), nn.Conv2d(channels, 2 * channels, 3, stride=2, padding=1)
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * channels, 10))
    x = torch.rand(16, 3, side, side, requires_grad=True)
    if not autocast:
        net, x = net.bfloat16(), x.bfloat16()
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        logits = net.to(memory_format=layout)(x.to(memory_format=layout))
    assert logits.dtype == torch.bfloat16
    logits.float().logsumexp(1).sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in net.parameters())

for autocast in (False, True):
    for layout in (torch.contiguous_format, torch.channels_last):
        descend(8, 8, layout, autocast)
        descend(64, 16, layout, autocast)
"""


@dataclass(frozen=True)
class Bfloat16:
    """Whether bfloat16 can be computed with here: as it is (no `limit`), under a limit, or not at all."""

    works: bool = True
    limit: str | None = None  # the value of ONEDNN_MAX_CPU_ISA that it needs
    end: str = ""  # how the child ended that was not limited

    def __str__(self) -> str:
        if not self.end:
            return "works"
        if self.works:
            return f"works only with {LIMIT}={self.limit} set before torch is imported; without it {self.end}"
        return f"cannot be computed with on this processor: {self.end}, whatever {LIMIT} is"


@cache
def probe_bfloat16(code: str = PROBE) -> Bfloat16:
    """Compute with bfloat16 in a child process, and where it dies again under limits; once for each process.

    `code` is what the child runs.
    """
    end = _end_of(code, None)
    if not end:
        return Bfloat16()
    working = next((limit for limit in LIMITS if not _end_of(code, limit)), None)
    return Bfloat16(working is not None, working, end)


def _end_of(code: str, limit: str | None) -> str:
    """How a child that runs this code under a limit ends, if not well."""
    environment = os.environ if limit is None else {**os.environ, LIMIT: limit}
    command = [sys.executable, "-P", "-c", code]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return f"a process that tries takes more than {PATIENCE:g} s"
    if done.returncode == 0:
        return ""
    if done.returncode < 0:
        return f"a process that tries dies of {signal.strsignal(-done.returncode)}"
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return f"a process that tries ends with code {done.returncode} ({said[-1] if said else 'no message'})"
