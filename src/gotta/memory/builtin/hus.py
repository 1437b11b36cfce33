"""High-confidence Uniform-class Sampling (SoTTA)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gotta.memory.policy import REPLACED_RANDOM, ROOM, UNCERTAIN, Candidate, Decision, Policy, policies, reject
from gotta.memory.rules import balance
from gotta.memory.table import Table


@policies.register("hus")
@dataclass(frozen=True)
class HUS(Policy):
    """Only samples predicted with confidence enter; in a full memory they always replace a random row, of their own
    class if it is a largest one, of a random largest class otherwise.

    The confidence is the largest entry of the embedding, which therefore must be the softmax vector. The authors'
    thresholds: 0.99 for CIFAR-10, 0.66 for CIFAR-100, 0.33 for ImageNet.
    """

    threshold: float = 0.99

    needs: ClassVar[tuple[str, ...]] = ("label", "embedding")

    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> Decision:
        if new.embedding.max() < self.threshold:
            return reject(UNCERTAIN)
        rivals = balance.rivals(table, new.label, quota="none")
        if rivals is None:
            return Decision(table.free(), ROOM)
        return Decision(balance.random_row(table, rivals, new.label, rng), REPLACED_RANDOM)
