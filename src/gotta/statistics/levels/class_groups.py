"""Groups of alike classes, by the weights of the classifier: for what cannot be kept of each of very many classes.

Weights are rounded to whole numbers small enough that sums are exact, so that every processor finds the same groups.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gotta.heads import find_named_head

MOST_CLASSES = 128  # with more, groups of them are followed
GROUPS = 32
STEPS = 10  # of k-means
FINEST = 2.0**12  # the largest weight, rounded
HEADS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)

Floats = NDArray[np.float64]


def group_classes(net: nn.Module) -> Tensor | None:
    """The group of each class, [C], by the last layer of a network with many classes; None if there are not so many."""
    named = find_named_head(net)
    heads = [module for module in net.modules() if isinstance(module, HEADS)] if named is None else [named]
    weight = getattr(heads[-1], "weight", None) if heads else None
    if not isinstance(weight, Tensor) or len(weight) <= MOST_CLASSES:
        return None
    return torch.from_numpy(find_groups(weight.detach().double().cpu().flatten(1).numpy()))


def block_groups(classes: int) -> Tensor:
    """Groups of successive classes, where nothing tells which are alike."""
    return torch.arange(classes) * GROUPS // classes


def find_groups(weights: Floats) -> NDArray[np.int64]:
    """The group of each row of weights[C, D]: at most `GROUPS`, numbered as they first occur.

    k-means from rows each of which is the farthest from those before it; equal rows are in one group.
    """
    rows = np.rint(weights * (FINEST / max(np.abs(weights).max(), 1e-300)))
    size = (rows**2).sum(1)
    centres = [rows[0]]
    nearest = size - 2 * rows @ rows[0] + size[0]
    while len(centres) < GROUPS and nearest.max() > 0:
        farthest = nearest.argmax()
        centres.append(rows[farthest])
        nearest = np.minimum(nearest, size - 2 * rows @ rows[farthest] + size[farthest])
    middle = np.stack(centres)
    for _ in range(STEPS):
        group = assign(rows, middle)
        held = np.bincount(group, minlength=len(middle))
        sums = np.zeros_like(middle)
        np.add.at(sums, group, rows)
        middle = np.where(held[:, None] > 0, np.rint(sums / np.maximum(held, 1)[:, None]), middle)
    return renumber(assign(rows, middle))


def assign(rows: Floats, middle: Floats) -> NDArray[np.int64]:
    return np.asarray(((middle**2).sum(1) - 2 * rows @ middle.T).argmin(1))


def renumber(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same groups, numbered as they first occur."""
    _, first, which = np.unique(group, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[first.argsort()] = np.arange(len(first))
    return number[which]


def shares_of(groups: Tensor) -> Tensor | None:
    """Of each group in the classes, [K], unless all have the same."""
    sizes = groups.bincount()
    return None if bool((sizes == sizes[:1]).all()) else sizes / len(groups)
