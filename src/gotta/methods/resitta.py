"""ResiTTA: RoTTA on sure samples, with statistics pulled back to the source's (Zhou et al., ICASSP 2025)."""

import torch
from torch import Tensor

from gotta.methods.method import Preset, methods
from gotta.methods.rotta import Rotta, SteadyBN
from gotta.statistics.normalization import ReplacedBatchNorm
from gotta.types import MemoryBatch


@methods.register("resitta")
class Resitta(Rotta):
    """RoTTA's step with all samples alike; after it the running statistics of both networks go back by a share."""

    layer = SteadyBN
    presets = {
        "official": Preset(
            "chosen here: the learning rate of RoTTA, the rest from the authors, who gave ImageNet's",
            lr=1e-3,
            optimizer="adam",
            nu=0.001,
            pull=0.05,
        ),
        "imagenet-resnet50": Preset("the authors'", lr=1e-6),
        "imagenet-vit": Preset("chosen here: those of ResNet-50", lr=1e-6),
    }

    known_quirks = {"creeping_variance": "eps is added to the running variance with each adaptation"}

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        measured = super().adapt(batch)
        if self.moves_statistics:
            for net in (self.model, self.teacher):
                for name, layer in net.named_modules():
                    if isinstance(layer, SteadyBN) and layer.running_mean is not None:
                        self.settle(layer, name)
        return measured

    @torch.no_grad()
    def settle(self, layer: ReplacedBatchNorm, name: str) -> None:
        """A step of gradient descent on the squared distance of mean and deviation to the source's."""
        running_mean, running_var = layer.running
        source = (self.source_state[f"{name}.{part}"] for part in ("running_mean", "running_var"))
        mean, var = (value.to(running_mean) for value in source)
        share = 2 * self.hyper.pull
        deviation = (running_var + layer.eps).sqrt()
        deviation = deviation - share * (deviation - (var + layer.eps).sqrt())
        running_mean.sub_(share * (running_mean - mean))
        added = 0.0 if "creeping_variance" in self.quirks else layer.eps
        running_var.copy_((deviation**2 - added).clamp(min=0))

    def weigh(self, batch: MemoryBatch) -> Tensor:
        return torch.ones(len(batch))
