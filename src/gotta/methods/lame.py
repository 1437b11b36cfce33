"""LAME: neighbours in feature space agree on their classes; the network stays as it is (Boudiaf et al., CVPR 2022)."""

import torch
from torch import Tensor, nn

from gotta.methods.method import Preset, methods
from gotta.methods.support import Reader
from gotta.types import Prediction

MOST_STEPS, ENOUGH = 100, 1e-8  # of the optimisation, which ends where the energy changes by no larger share


@methods.register("lame")
class Lame(Reader):
    """Smooths the source's predictions over a graph of the batch and of the memory's rows, which are only read."""

    uses_order = True
    presets = {
        "official": Preset("the authors', from the paper", affinity="knn", k=5, symmetric=False),
        "rbf": Preset("the authors', from the defaults of their code", affinity="rbf"),
    }
    choices = {"affinity": ("knn", "rbf", "linear")}
    native_labels = "filtered"

    def predict(self, x: Tensor) -> Prediction:
        own = super().predict(x)
        logits, features = self.gather(own)
        nodes = nn.functional.normalize(features.double(), dim=1)  # [N, D]
        kernel = weigh_neighbours(nodes, self.hyper.affinity, self.hyper.k)
        if self.hyper.symmetric:
            kernel = (kernel + kernel.T) / 2
        smooth = smooth_over(kernel, logits.double().softmax(1))[-len(x) :]
        return Prediction(smooth.log().to(own.logits), own.features, self.embed)


def weigh_neighbours(nodes: Tensor, affinity: str, k: int) -> Tensor:
    """How much each node [N, D] listens to each other one, [N, N]."""
    if affinity == "linear":
        return nodes @ nodes.T
    count = len(nodes)
    distance = torch.cdist(nodes, nodes, compute_mode="donot_use_mm_for_euclid_dist")
    if affinity == "rbf":  # as wide as the k-th nearest is far, the node itself being the first
        width = distance.topk(min(k, count), largest=False).values[:, -1].mean()
        return torch.exp(-(distance**2) / (2 * width**2).clamp_min(1e-12))
    others = distance.fill_diagonal_(torch.inf).topk(min(k, count - 1), largest=False).indices
    return torch.zeros_like(distance).scatter_(1, others, 1.0)


def smooth_over(kernel: Tensor, probs: Tensor) -> Tensor:
    """The classes [N, C] that agree with the network's and with those of neighbours, by steps that bound the energy."""
    own = (probs + 1e-10).log()
    found, energy = own.softmax(1), torch.inf
    for step in range(MOST_STEPS):
        said = torch.addmm(own, kernel, found)
        found = said.softmax(1)
        before, energy = energy, -float(said.logsumexp(1).sum())
        if step > 1 and abs(energy - before) <= ENOUGH * abs(before):
            break
    return found.clamp_min(torch.finfo(torch.float32).tiny)
