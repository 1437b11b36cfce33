"""Everything there is to a model or a memory, in a form that two of them can be compared by, bit for bit."""

import torch

from gotta.core import saved
from gotta.core.resume import state_of

# Settings with which the slow methods take a few passes instead of dozens.
QUICK = {
    "cotta": {"copies": 2, "anchor_threshold": 0.5},
    "energy": {"steps": 2, "buffer_size": 16},
    "foa": {"population": 4},
}


def plain(state):
    """A nested state as text and bytes."""
    tensors = {}
    tree = saved.encode(state, tensors)
    rows = {name: value.contiguous().reshape(-1).view(torch.uint8) for name, value in tensors.items()}
    return repr(tree), {name: (value.dtype, value.shape, bytes(rows[name].numpy())) for name, value in tensors.items()}


def frozen_state(model):
    """Of an adapted model, but for what it has cost."""
    return plain(state_of(model))
