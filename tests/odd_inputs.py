"""Networks of many kinds, and inputs of many more: what an adapted model or a memory may be given."""

import warnings

import numpy as np
import torch
from torch import nn

CLASSES = 4


class Tokens(nn.Module):
    """A small transformer block with LayerNorm."""

    def __init__(self):
        super().__init__()
        self.embed, self.norm = nn.Linear(12, 8), nn.LayerNorm(8)
        self.attention, self.head = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, CLASSES)

    def forward(self, x):
        tokens = self.embed(x.flatten(2).reshape(len(x), -1, 12))
        seen = self.norm(tokens)
        return self.head((tokens + self.attention(seen, seen, seen)[0]).mean(1))


class Wrapped(nn.Module):
    """Gives logits in a dict or a tuple."""

    def __init__(self, kind):
        super().__init__()
        self.net, self.kind = convolutional(2, nn.BatchNorm2d), kind

    def forward(self, x):
        logits = self.net(x)
        return {"logits": logits, "other": x} if self.kind == "dict" else (logits, x)


class Moody(nn.Module):
    """Fails every fourth time it is asked, so also in the middle of a step."""

    def __init__(self):
        super().__init__()
        self.net, self.asked = convolutional(2, nn.BatchNorm2d), 0

    def forward(self, x):
        self.asked += 1
        if self.asked % 4 == 0:
            raise RuntimeError("not now")
        return self.net(x)


def convolutional(dimensions, norm):
    conv = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[dimensions - 1]
    pool = (nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d)[dimensions - 1]
    return nn.Sequential(conv(3, 8, 3, padding=1), norm(8), nn.ReLU(), pool(1), nn.Flatten(), nn.Linear(8, CLASSES))


NETWORKS = {
    "rows": (lambda: nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, CLASSES)), (6,)),
    "signals": (lambda: convolutional(1, nn.BatchNorm1d), (3, 8)),
    "images": (lambda: convolutional(2, nn.BatchNorm2d), (3, 4, 4)),
    "volumes": (lambda: convolutional(3, nn.BatchNorm3d), (3, 4, 4, 4)),
    "groups": (lambda: convolutional(2, lambda channels: nn.GroupNorm(2, channels)), (3, 4, 4)),
    "instances": (lambda: convolutional(2, lambda channels: nn.InstanceNorm2d(channels, affine=True)), (3, 4, 4)),
    "tokens": (Tokens, (3, 4, 4)),
    "plain": (lambda: convolutional(2, lambda channels: nn.Identity()), (3, 4, 4)),
    "dict": (lambda: Wrapped("dict"), (3, 4, 4)),
    "tuple": (lambda: Wrapped("tuple"), (3, 4, 4)),
    "moody": (Moody, (3, 4, 4)),
    "double": (lambda: convolutional(2, nn.BatchNorm2d).double(), (3, 4, 4)),
    "untracked": (lambda: convolutional(2, lambda c: nn.BatchNorm2d(c, track_running_stats=False)), (3, 4, 4)),
}


class Marked(torch.Tensor):
    """A tensor of another class."""


def poisoned(x, value):
    x = x.clone()
    x.view(-1)[x.numel() // 2] = value
    return x


def ragged(x):
    return torch.nested.nested_tensor([x[0], x[0][..., :1]])


def quantised(x):
    return torch.quantize_per_tensor(x.float(), 0.1, 0, torch.quint8)


TENSORS = {
    "good": lambda x: x,
    "double": lambda x: x.double(),
    "single": lambda x: x.float(),
    "half": lambda x: x.half(),
    "bfloat": lambda x: x.bfloat16(),
    "float8": lambda x: x.to(torch.float8_e4m3fn),
    "int": lambda x: (9 * x).long(),
    "uint8": lambda x: (9 * x).to(torch.uint8),
    "uint16": lambda x: (9 * x).to(torch.uint16),
    "bool": lambda x: x > 0.5,
    "complex": lambda x: torch.complex(x.float(), x.float()),
    "sparse": lambda x: x.to_sparse(),
    "csr": lambda x: x.reshape(len(x), -1).to_sparse_csr(),
    "meta": lambda x: x.to("meta"),
    "ragged": ragged,
    "quantised": quantised,
    "subclass": lambda x: x.as_subclass(Marked),
    "parameter": lambda x: nn.Parameter(x),
    "gradient": lambda x: x.clone().requires_grad_() * 2,
    "other order": lambda x: x.transpose(0, -1).contiguous().transpose(0, -1),
    "expanded": lambda x: x[:1].expand(x.shape),
    "half of it": lambda x: torch.cat([x, x])[::2],
    "one": lambda x: x[:1],
    "many": lambda x: torch.cat([x] * 4),
    "none of it": lambda x: x[:0],
    "no values": lambda x: x[..., :0],
    "one value": lambda x: x.flatten()[0],
    "a row": lambda x: x[0].flatten(),
    "flat": lambda x: x.flatten(1),
    "wider": lambda x: torch.cat([x, x], -1),
    "deeper": lambda x: x[:, None],
    "fewer channels": lambda x: x[:, :1],
    "nan": lambda x: poisoned(x, float("nan")),
    "infinite": lambda x: poisoned(x, float("inf")),
    "-infinite": lambda x: poisoned(x, -float("inf")),
    "zero": lambda x: torch.zeros_like(x),
    "negative": lambda x: -x,
    "tiny": lambda x: x * 1e-30,
    "x 10": lambda x: x * 10,
    "all 1e10": lambda x: x * 1e10,
    "all 1e30": lambda x: x * 1e30,
    **{f"one {value:g}": lambda x, value=value: poisoned(x, value) for value in (1e4, 1e6, 1e10, 1e15, 1e20, 3e38)},
}
OTHERS = {
    "array": lambda x: x.numpy(),
    "list": lambda x: x.tolist(),
    "ragged list": lambda x: [[1.0], [1.0, 2.0]],
    "text": lambda x: "images",
    "nothing": lambda x: None,
    "number": lambda x: 3.0,
    "dictionary": lambda x: {"x": x},
    "pair": lambda x: (x, x),
    "objects": lambda x: np.array([object(), object()]),
    "words": lambda x: np.array(["a", "b"]),
    "numpy half": lambda x: x.float().numpy().astype(np.float16),
    "big endian": lambda x: x.float().numpy().astype(">f4"),
    "read only": lambda x: np.broadcast_to(x[:1].float().numpy(), tuple(x.shape)),
}
KINDS = {**TENSORS, **OTHERS}


def odd(kind, x):
    """The batch as that kind of input. Where torch itself cannot make it so, nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, about kinds that it may change
        try:
            return KINDS[kind](x)
        except (RuntimeError, TypeError, ValueError, IndexError):
            return None
