"""Vision transformers with LayerNorm before each part; key names as in timm, but for the stem of the small one."""

from collections import OrderedDict
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gotta.errors import GottaError
from gotta.models.backbone import PREPROCESSING, Backbone, Input, architectures

HALF, LARGE = Input(32, *PREPROCESSING["half"]), Input(224, *PREPROCESSING["half"])


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v)
        out: Tensor = self.proj(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return out


def mlp(width: int, inner: int) -> nn.Sequential:
    parts = OrderedDict(fc1=nn.Linear(width, inner), gelu=nn.GELU(), fc2=nn.Linear(inner, width))
    return nn.Sequential(parts)


class Layer(nn.Module):
    def __init__(self, width: int, heads: int, ratio: float) -> None:
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(width, 1e-6), Attention(width, heads)
        self.norm2, self.mlp = nn.LayerNorm(width, 1e-6), mlp(width, int(width * ratio))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.norm1(x))
        out: Tensor = x + self.mlp(self.norm2(x))
        return out


class ConvStem(nn.Module):
    """Three overlapping convolutions of stride 2 instead of one of stride 8: a small transformer learns faster so."""

    def __init__(self, width: int) -> None:
        super().__init__()
        sides = (3, width // 3, 2 * width // 3, width)
        self.convs = nn.ModuleList(nn.Conv2d(before, after, 3, 2, 1) for before, after in pairwise(sides))

    def forward(self, x: Tensor) -> Tensor:
        first, *others = self.convs
        x = first(x)
        for conv in others:
            x = conv(F.gelu(x))
        return x


class VisionTransformer(Backbone):
    """A class token, learned positions, pre-norm layers, a final norm and a linear head."""

    classifier = "head"

    def __init__(
        self, patch: int, width: int, depth: int, heads: int, ratio: float, num_classes: int, input: Input
    ) -> None:
        super().__init__(input, num_classes)
        if input.size % patch:
            raise GottaError(
                f"images of side {input.size} are not whole patches of {patch}. Use a multiple of {patch}."
            )
        self.patch_embed: nn.Module = nn.Sequential(OrderedDict(proj=nn.Conv2d(3, width, patch, patch)))
        tokens = (input.size // patch) ** 2 + 1
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.zeros(1, tokens, width))
        self.blocks = nn.Sequential(*(Layer(width, heads, ratio) for _ in range(depth)))
        self.norm = nn.LayerNorm(width, 1e-6)
        self.head = nn.Linear(width, num_classes)
        nn.init.trunc_normal_(self.pos_embed, std=0.02)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                nn.init.zeros_(module.bias)

    def features(self, x: Tensor) -> Tensor:
        side = self.input.size
        if x.shape[2:] != (side, side):
            raise GottaError(f"images are {x.shape[2]} x {x.shape[3]}. This transformer takes {side} x {side}.")
        tokens = self.patch_embed(self.normalize(x)).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.cls_token.expand(len(x), -1, -1), tokens], 1) + self.pos_embed
        out: Tensor = self.norm(self.blocks(tokens))[:, 0]
        return out


@architectures.register("vit-mini")
class ViTMini(VisionTransformer):
    """Six layers of width 96 on 16 tokens from a convolutional stem: half a million parameters, LayerNorm only."""

    def __init__(self, num_classes: int = 10, input: Input = HALF) -> None:
        super().__init__(8, 96, 6, 4, 2.0, num_classes, input)
        self.patch_embed = ConvStem(96)


@architectures.register("vit-ti16")
class ViTTiny(VisionTransformer):
    """ViT-Ti/16, timm's vit_tiny_patch16_224: 5.7 million parameters."""

    def __init__(self, num_classes: int = 1000, input: Input = LARGE) -> None:
        super().__init__(16, 192, 12, 3, 4.0, num_classes, input)


@architectures.register("vit-s16")
class ViTSmall(VisionTransformer):
    """ViT-S/16, timm's vit_small_patch16_224: 22 million parameters."""

    def __init__(self, num_classes: int = 1000, input: Input = LARGE) -> None:
        super().__init__(16, 384, 12, 6, 4.0, num_classes, input)


@architectures.register("vit-b16")
class ViTBase(VisionTransformer):
    """ViT-B/16, timm's vit_base_patch16_224: 86.6 million parameters."""

    def __init__(self, num_classes: int = 1000, input: Input = LARGE) -> None:
        super().__init__(16, 768, 12, 12, 4.0, num_classes, input)
