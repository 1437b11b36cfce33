"""Memories: which samples of an unlabelled stream to keep. One small file per policy; all state lives in `Memory`."""

from typing import TYPE_CHECKING, Any

from gotta.memory.memory import Memory
from gotta.memory.policy import REJECT, Candidate, Decision, Policy, policies
from gotta.memory.table import Table

if TYPE_CHECKING:
    from gotta.memory.builtin.cbfifo import CBFIFO
    from gotta.memory.builtin.cds import CDS
    from gotta.memory.builtin.composed import Composed
    from gotta.memory.builtin.cstu import CSTU
    from gotta.memory.builtin.fifo import FIFO
    from gotta.memory.builtin.fps import FPS, FPSD
    from gotta.memory.builtin.herding import Herding
    from gotta.memory.builtin.hus import HUS
    from gotta.memory.builtin.kcenter import KCenter
    from gotta.memory.builtin.lowentropy import LowEntropy
    from gotta.memory.builtin.mcm import MCM
    from gotta.memory.builtin.none import NoMemory
    from gotta.memory.builtin.pbrs import PBRS
    from gotta.memory.builtin.rbm import RBM
    from gotta.memory.builtin.reservoir import Reservoir

__all__ = [
    "CBFIFO",
    "CDS",
    "CSTU",
    "FIFO",
    "FPS",
    "FPSD",
    "HUS",
    "MCM",
    "PBRS",
    "RBM",
    "REJECT",
    "Candidate",
    "Composed",
    "Decision",
    "Herding",
    "KCenter",
    "LowEntropy",
    "Memory",
    "NoMemory",
    "Policy",
    "Reservoir",
    "Table",
    "policies",
]


def __getattr__(name: str) -> Any:
    """A policy by its class: its file is read when it is asked for."""
    if name in __all__:
        return policies.get("none" if name == "NoMemory" else name.lower())
    raise AttributeError(f"module 'gotta.memory' has no attribute '{name}'")
