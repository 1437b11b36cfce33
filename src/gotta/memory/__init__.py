"""Memories: which samples of an unlabelled stream to keep. One small file per policy; all state lives in `Memory`."""

from gotta.memory.current_batch import memory_class
from gotta.memory.memory import Memory
from gotta.memory.policy import REJECT, Candidate, Decision, Policy, policies
from gotta.memory.table import Table

__all__ = ["REJECT", "Candidate", "Decision", "Memory", "Policy", "Table", "memory_class", "policies"]
