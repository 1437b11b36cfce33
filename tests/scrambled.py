"""Networks whose every number is random, so that no two layers can be mistaken for each other."""

import torch


@torch.no_grad()
def scramble(model, seed=0):
    """Every tensor drawn anew, normalisation too, so that outputs stay moderate."""
    rng = torch.Generator().manual_seed(seed)
    for name, value in model.state_dict().items():
        if not value.is_floating_point():
            continue
        drawn = torch.randn(value.shape, generator=rng)
        if name.endswith("running_var"):
            value.copy_(1 + 0.3 * torch.rand(value.shape, generator=rng))
        elif value.ndim == 1:
            value.add_(0.1 * drawn)
        else:
            value.copy_(drawn * (0.02 if value.ndim == 3 else value[0].numel() ** -0.5))
    return model.eval()
