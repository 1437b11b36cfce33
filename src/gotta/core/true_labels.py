"""Memories that know the true labels: what a policy would do if the predicted ones were right."""

from typing import Any

import numpy as np
import torch

from gotta.memory import Memory
from gotta.types import FOREIGN, IntArray

TRUE_LABELS = {"true_kcenter": "kcenter", "true_cstu": "cstu", "true_pbrs": "pbrs"}  # the policy of each such memory


class TrueLabelMemory(Memory):
    """A memory that goes by true labels instead of predicted ones: what a policy would do if the labels were right.

    It exists for the evaluation only, because nobody else knows the truth. It is not an upper bound: a method that does
    not care for classes may do better with other samples.
    """

    _truth: IntArray = np.empty(0, np.int64)

    def reveal(self, labels: IntArray) -> None:
        """The true labels of the samples that will be observed next."""
        self._truth = labels

    def take_in(
        self, x: Any, label: Any = None, uncertainty: Any = None, embedding: Any = None, descriptor: Any = None
    ) -> IntArray:
        truth, self._truth = self._truth[: len(x)], self._truth[len(x) :]
        known = truth != FOREIGN  # a foreign sample has no true label to be stored under
        slots: IntArray = np.full(len(truth), -1, np.int64)
        if known.any():
            kept = torch.from_numpy(known)
            offered = (None if values is None else values[kept] for values in (uncertainty, embedding, descriptor))
            slots[known] = super().take_in(x[kept], torch.from_numpy(truth[known]), *offered)
        return slots
