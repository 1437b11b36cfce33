"""What to check methods on: small networks, one of them a transformer, any memory, batches of any size."""

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


class TinyBlock(nn.Module):
    """A layer of a transformer without what makes it large."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.mix = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, tokens: Tensor) -> Tensor:
        seen = self.norm1(tokens)
        out: Tensor = tokens + self.mix(seen + seen.mean(1, keepdim=True))
        return out


class TinyTransformer(nn.Module):
    """Four patches of an image of 8 x 8 pixels and a class token, which is classified; named as in timm."""

    def __init__(self, num_classes: int, width: int = 8) -> None:
        super().__init__()
        self.patch_embed = nn.Conv2d(3, width, 4, 4)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(0.1 * torch.randn(1, 5, width))
        self.blocks = nn.Sequential(TinyBlock(width), TinyBlock(width))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, num_classes)

    def features(self, x: Tensor) -> Tensor:
        tokens = self.patch_embed(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.cls_token.expand(len(x), -1, -1), tokens], 1) + self.pos_embed
        out: Tensor = self.norm(self.blocks(tokens))[:, 0]
        return out

    def classify(self, features: Tensor) -> Tensor:
        logits: Tensor = self.head(features)
        return logits

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.features(x))


KINDS = (*NORMS, "tokens")


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
            transformer = self.norm == "tokens"
            net = TinyTransformer(self.num_classes) if transformer else TinyNet(NORMS[self.norm], self.num_classes)
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
        norm=KINDS[pick(0, len(KINDS) - 1)],
        memory=memories[pick(0, len(memories) - 1)],
        capacity=pick(1, 12),
        num_classes=pick(2, 10),
        batches=pick(2, 5),
        batch_size=pick(1, 12),
        seed=pick(0, 2**16),
    )


def size(case: Case) -> tuple[int, ...]:
    plain = KINDS.index(case.norm), case.memory != "none"
    return case.batches * case.batch_size, *plain, case.capacity, case.num_classes, case.seed
