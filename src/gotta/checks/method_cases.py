"""What to check methods on: small networks with several kinds of normalisation, any memory, batches of any size."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gotta.checks.suite import Pick
from gotta.memory import policies


class ChannelNorm(nn.LayerNorm):
    """LayerNorm over the channels of images."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


NORMS: dict[str, Callable[[int], nn.Module]] = {
    "batch": nn.BatchNorm2d,
    "group": lambda channels: nn.GroupNorm(4, channels),
    "layer": ChannelNorm,
    "none": lambda channels: nn.Identity(),
}


class TinyNet(nn.Module):
    """Two convolutions and a linear layer, with any normalisation between."""

    def __init__(self, norm: Callable[[int], nn.Module], num_classes: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(3, 8, 3, padding=1, bias=False), norm(8)
        self.conv2, self.norm2 = nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=False), norm(16)
        self.fc = nn.Linear(16, num_classes)

    def features(self, x: Tensor) -> Tensor:
        x = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(x))).mean((2, 3))

    def classify(self, features: Tensor) -> Tensor:
        logits: Tensor = self.fc(features)
        return logits

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.features(x))


@dataclass(frozen=True)
class Case:
    """A network, a memory and a stream, as a few words and numbers."""

    norm: str
    memory: str
    capacity: int
    num_classes: int
    batches: int
    batch_size: int
    seed: int

    def net(self) -> nn.Module:
        with torch.random.fork_rng():
            torch.manual_seed(self.seed)
            net = TinyNet(NORMS[self.norm], self.num_classes)
            for buffer in net.buffers():  # statistics as if from training
                if buffer.dtype.is_floating_point:
                    buffer.add_(0.1 * torch.rand_like(buffer))
        return net.eval()

    def stream(self) -> list[Tensor]:
        rng = torch.Generator().manual_seed(self.seed + 1)
        return [torch.rand(self.batch_size, 3, 8, 8, generator=rng) for _ in range(self.batches)]


def draw(pick: Pick) -> Case:
    """A case from a source of whole numbers between two bounds; the simplest come first."""
    memories = ["none", "fifo", "fps", *(name for name in policies.names() if name not in ("none", "fifo", "fps"))]
    return Case(
        norm=list(NORMS)[pick(0, len(NORMS) - 1)],
        memory=memories[pick(0, len(memories) - 1)],
        capacity=pick(1, 12),
        num_classes=pick(2, 10),
        batches=pick(2, 5),
        batch_size=pick(1, 12),
        seed=pick(0, 2**16),
    )


def size(case: Case) -> tuple[int, ...]:
    plain = list(NORMS).index(case.norm), case.memory != "none"
    return case.batches * case.batch_size, *plain, case.capacity, case.num_classes, case.seed
