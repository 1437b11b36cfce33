"""Pre-activation ResNets for CIFAR as plain functions of a state dict, written from their papers."""

from torch.nn import functional as F


def norm(x, state, name):
    mean, var, weight, bias = (
        state[f"{name}.{part}"].view(1, -1, 1, 1) for part in ("running_mean", "running_var", "weight", "bias")
    )
    return (x - mean) / (var + 1e-5).sqrt() * weight + bias


def conv(x, weight, stride=1):
    """A convolution as a product of patches: 3x3 with a border of zeros, or 1x1."""
    side = weight.shape[-1]
    patches = F.unfold(x, side, padding=side // 2, stride=stride)
    out = weight.flatten(1) @ patches
    return out.view(len(x), len(weight), *(length // stride for length in x.shape[2:]))


def block(x, state, name, stride, shortcut):
    active = norm(x, state, f"{name}.bn1").clamp(min=0)
    out = conv(active, state[f"{name}.conv1.weight"], stride)
    out = norm(out, state, f"{name}.bn2").clamp(min=0)
    return conv(out, state[f"{name}.conv2.weight"]) + shortcut(x, active, stride, name)


def forward(x, state, stages, last, shortcut):
    out = conv(x, state["conv1.weight"])
    for index, stage in enumerate(stages):
        number = 0
        while f"{stage}.{number}.conv1.weight" in state:
            stride = 2 if index > 0 and number == 0 else 1
            out = block(out, state, f"{stage}.{number}", stride, shortcut)
            number += 1
    pooled = F.avg_pool2d(norm(out, state, last).clamp(min=0), 8).flatten(1)
    return pooled @ state["fc.weight"].T + state["fc.bias"]


def wide_resnet(x, state):
    def shortcut(x, active, stride, name):
        projection = state.get(f"{name}.convShortcut.weight")
        return x if projection is None else conv(active, projection, stride)

    return forward(x, state, [f"block{i}.layer" for i in (1, 2, 3)], "bn1", shortcut)
