"""A rival: which class follows which is learned, as in OATTA. Our reading of its formula."""

from typing import Annotated, NamedTuple

import numpy as np
import torch
from torch import Tensor

from gotta.limits import Positive, Within, require
from gotta.priors.prior import Floats, Prior, Starts, priors

OfOneSample = Annotated[float, Within(0, 1, above=True, below=True)]


class Following(NamedTuple):
    """The last sample's classes [C], how often each class followed each [C, C], and what the order explains."""

    last: Floats
    counts: Floats
    proof: float = 0.0


@priors.register("oatta")
class Oatta(Prior):
    """Order-aware: p is proportional to (q / rho) x (A' p of the sample before), with A learned and rho uniform.

    Our reading of arXiv 2601.21012; what the formula leaves open is an argument. `share` is by how much the counts
    behind A forget per sample, `start` how many counts each pair of classes begins with, `weigh` the share of a sample
    in the likelihood ratio of the gate, and `gate` what this must exceed for the order to have a say.

    >>> import gotta, torch
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 10))
    >>> model = gotta.adapt(net, "source", prior=gotta.priors.Oatta(share=0.01))
    >>> model(torch.rand(8, 3, 4, 4)).shape
    torch.Size([8, 10])
    """

    def __init__(self, share: float = 0.002, start: float = 1.0, weigh: float = 0.02, gate: float = 0.0) -> None:
        require("share of the prior oatta", share, OfOneSample)
        require("weigh of the prior oatta", weigh, OfOneSample)
        require("start of the prior oatta", start, Positive)
        self.share, self.start, self.weigh, self.gate = share, start, weigh, gate

    def begin(self, classes: int) -> Following:
        return Following(np.full(classes, 1 / classes), np.full((classes, classes), self.start / classes))

    def restart(self, belief: Following) -> Following:
        return belief._replace(last=np.full_like(belief.last, 1 / len(belief.last)))

    def judge(self, logits: Tensor, belief: Following, starts: Starts) -> tuple[Tensor, Following]:
        own, answers = logits.log_softmax(1).numpy(), logits.log_softmax(1).numpy().copy()
        for at, begins in enumerate(starts.tolist()):
            last, counts, proof = self.restart(belief) if begins else belief
            likelihood = len(last) * np.exp(own[at])  # over rho, which is uniform
            pairs = last[:, None] * counts / counts.sum(1, keepdims=True) * likelihood  # [before, now]
            ratio = pairs.sum()
            if proof > self.gate:
                answers[at] = np.log(pairs.sum(0) / ratio)
            counts = counts + pairs / ratio - self.share * counts
            belief = Following(pairs.sum(0) / ratio, counts, proof + self.weigh * (np.log(ratio) - proof))
        return torch.from_numpy(answers), belief._replace(proof=float(belief.proof))
