"""Normalisation layers of any model: finding and exchanging them, and deciding which statistics BatchNorm uses."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.utils.parametrize import is_parametrized

from gotta.state import set_values

AFFINE_LAYERS = (_NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)  # the first: BatchNorm and InstanceNorm
CACHED = 2**17  # numbers that a processor's cache holds
ONE_VALUE = "Expected more than 1 value per channel when training"  # how torch begins the message


def batch_norms(model: nn.Module) -> list[_BatchNorm]:
    return [module for module in model.modules() if isinstance(module, _BatchNorm)]


def tracked_norms(net: nn.Module) -> list[_BatchNorm]:
    """The BatchNorm layers that have statistics of the source; the others use those of each batch whatever is done.

    >>> import torch
    >>> from gotta.statistics import tracked_norms
    >>> [layer.num_features for layer in tracked_norms(torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.ReLU()))]
    [4]
    """
    return [layer for layer in batch_norms(net) if layer.running_mean is not None]


def own_levels(net: nn.Module) -> tuple[Tensor, Tensor]:
    """Running mean and variance of all tracked layers, side by side."""
    held = [layer._buffers for layer in tracked_norms(net)]
    mean, var = ([buffers[name] for buffers in held] for name in ("running_mean", "running_var"))
    return (torch.cat(mean), torch.cat(var)) if held else (torch.zeros(0), torch.zeros(0))  # type: ignore[arg-type]


def has_batch_norm(model: nn.Module) -> bool:
    return any(isinstance(module, _BatchNorm) for module in model.modules())


def is_compiled(net: nn.Module) -> bool:
    """Whether a network, or a part of it, may have been traced with its own layers, and without anybody looking on."""
    return any(hasattr(module, "_orig_mod") for module in net.modules())


def eager_if(compiled: bool) -> AbstractContextManager[Any]:
    """Inside, a compiled network runs as if it were not."""
    return torch.compiler.set_stance("force_eager") if compiled else nullcontext()


def batch_statistics(model: nn.Module, rate: float) -> AbstractContextManager[None]:
    """BatchNorm normalises with the current batch; running statistics move towards it by `rate`.

    Only BatchNorm changes its mode: train() on the whole model would switch dropout on.
    """
    # A rate of 0 must leave the running statistics alone even if the batch's are not finite.
    untracked = {} if rate > 0 else {"track_running_stats": False}
    return _in_mode(batch_norms(model), training=True, momentum=rate, **untracked)


def running_statistics(model: nn.Module) -> AbstractContextManager[None]:
    """BatchNorm normalises with its running statistics, which stay."""
    return _in_mode(batch_norms(model), training=False)


@contextmanager
def source_statistics(model: nn.Module) -> Iterator[None]:
    """Every BatchNorm, also an exchanged one, normalises as the source model does."""
    exchanged = [layer for layer in batch_norms(model) if isinstance(layer, ReplacedBatchNorm)]
    with running_statistics(model), _in_mode(exchanged, plain=True):
        yield


@contextmanager
def _in_mode(layers: Sequence[_BatchNorm], **mode: Any) -> Iterator[None]:
    """Inside, these attributes of the layers have other values."""
    before = [{name: getattr(layer, name) for name in mode} for layer in layers]
    try:
        for layer in layers:
            set_values(layer, mode)
        yield
    finally:
        for layer, own in zip(layers, before, strict=True):
            set_values(layer, own)


class ReplacedBatchNorm(_BatchNorm):
    """A BatchNorm whose normalisation is another. It takes over parameters, buffers and names of the layer it replaces.

    `batch_statistics` steers it like any BatchNorm: `training` says whether the batch counts, `momentum` and
    `track_running_stats` whether and how fast the running statistics follow.
    """

    foldable: ClassVar[bool] = False  # whether it predicts as a plain BatchNorm with the same statistics does

    def __init__(self, layer: _BatchNorm) -> None:
        super().__init__(layer.num_features, layer.eps, layer.momentum, layer.affine, layer.track_running_stats)
        self._parameters, self._buffers, self._modules = layer._parameters, layer._buffers, layer._modules
        self.training = layer.training
        dimensions = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
        self.replaces = next((kind for kind in dimensions if isinstance(layer, kind)), nn.BatchNorm2d)
        self.plain = False  # normalise as the layer that was replaced

    def __getattr__(self, name: str) -> Any:
        """Weight and bias of a layer that is parametrised are computed when they are asked for."""
        if name in ("weight", "bias") and name not in self._parameters and is_parametrized(self, name):
            return self.parametrizations[name]()
        return super().__getattr__(name)

    @property
    def sees_batch(self) -> bool:
        return self.training or self.running_mean is None

    @property
    def moves(self) -> bool:
        return self.training and self.track_running_stats and self.running_mean is not None

    @property
    def running(self) -> tuple[Tensor, Tensor]:
        """Mean and variance of a layer that has them."""
        assert self.running_mean is not None
        assert self.running_var is not None
        return self.running_mean, self.running_var

    @property
    def rate(self) -> float:
        """How far these move."""
        assert self.momentum is not None
        return self.momentum

    def forward(self, x: Tensor) -> Tensor:
        if not self.sees_batch:
            return self.with_running_statistics(x)
        mean, var = self.moved_moments(widen(x)) if self.moves else self.batch_moments(widen(x))
        scale = (var + self.eps).rsqrt()
        return self.scaled(x, scale, -mean * scale)

    def moved_moments(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The running statistics, which have moved to this batch."""
        mean, var = self.move(x)
        for own, new in zip(self.running, (mean, var), strict=True):
            own.copy_(new.detach())
        return mean, var

    def move(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Where the running statistics move with a batch, which is normalised with them."""
        raise NotImplementedError

    def _check_input_dim(self, input: Tensor) -> None:
        """Any number of dimensions will do."""

    def batch_moments(self, x: Tensor, unbiased: bool = False) -> tuple[Tensor, Tensor]:
        """Mean and variance of each channel of a batch."""
        return moments(x, (0, *range(2, x.ndim)), unbiased)

    def with_running_statistics(self, x: Tensor) -> Tensor:
        return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps)

    def scaled(self, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        """x times `scale` plus `shift`, [C] both, and then the layer's own weight and bias."""
        if self.affine:
            scale, shift = scale * self.weight, shift * self.weight + self.bias
        # One product and one sum, so that the large tensor is written as rarely as can be.
        return torch.addcmul(per_channel(shift, x), x, per_channel(scale, x)).to(x.dtype)


def replace_batch_norms(model: nn.Module, make: Callable[[_BatchNorm], nn.Module]) -> None:
    """Put a new layer in the place of every BatchNorm; one that is used in several places stays one."""
    made: dict[nn.Module, nn.Module] = {}
    for parent in list(model.modules()):
        for name, child in parent._modules.items():
            if isinstance(child, _BatchNorm):
                parent._modules[name] = made.setdefault(child, keep_activation(child, make(child)))


def keep_activation(layer: _BatchNorm, new: nn.Module) -> nn.Module:
    """The new layer, followed by what the old one did after normalising: timm's have an activation inside."""
    if new is not layer and hasattr(layer, "act") and hasattr(layer, "drop"):
        new.register_forward_hook(_activate)
    return new


def _activate(module: Any, inputs: Any, output: Tensor) -> Tensor:
    activated: Tensor = module.act(module.drop(output))
    return activated


def widen(x: Tensor) -> Tensor:
    """Sums over many values need more than half precision."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def moments(x: Tensor, dims: tuple[int, ...], unbiased: bool, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """Mean and variance over some dimensions. Two passes of simple sums take a fraction of torch.var_mean on a CPU."""
    mean = x.mean(dims, keepdim=True)
    count = x.numel() // mean.numel()
    squared = (x - mean).square() if torch.is_grad_enabled() else (x - mean).square_()
    var = squared.sum(dims, keepdim=True) / (count - unbiased)
    return (mean, var) if keepdim else (mean.flatten(), var.flatten())


def seen_before(
    layers: Sequence[_BatchNorm], see: Callable[[int, _BatchNorm, Tensor], None]
) -> AbstractContextManager[None]:
    """Before each of these layers is called inside, `see` is given its number, itself and its input.

    As a hook would be, at a fraction of its time.

    `layers` may be those of `tracked_norms`.

    >>> import torch
    >>> from gotta.statistics import seen_before, tracked_norms
    >>> net, seen = torch.nn.Sequential(torch.nn.BatchNorm1d(4)).eval(), []
    >>> with seen_before(tracked_norms(net), lambda at, layer, x: seen.append((at, x.shape))):
    ...     _ = net(torch.rand(8, 4))
    >>> seen
    [(0, torch.Size([8, 4]))]
    """
    return instead(layers, lambda at, layer: partial(_see_and_call, partial(see, at, layer), layer.forward))


@contextmanager
def instead(
    layers: Sequence[_BatchNorm], make: Callable[[int, _BatchNorm], Callable[[Tensor], Tensor]]
) -> Iterator[None]:
    """Inside, each of these layers computes what `make` makes of its number and itself."""
    own = [vars(layer).get("forward") for layer in layers]
    try:
        for at, layer in enumerate(layers):
            vars(layer)["forward"] = make(at, layer)
        yield
    finally:
        for layer, forward in zip(layers, own, strict=True):
            vars(layer).pop("forward", None)  # an interrupt may have come before it was there
            if forward is not None:
                vars(layer)["forward"] = forward


def _see_and_call(see: Callable[[Tensor], None], forward: Callable[..., Tensor], input: Tensor) -> Tensor:
    see(input)
    return forward(input)


def sample_moments(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and mean square of every sample and channel over its positions, in float32: [B, C] each.

    The norm is the fastest way on a CPU unless the channels come last. Then it is to square a few samples at a time,
    which stay in the cache.

    >>> import torch
    >>> from gotta.statistics import sample_moments
    >>> mean, square = sample_moments(x=torch.full((2, 3, 4, 4), 2.0))
    >>> mean.tolist()[0], square.shape
    ([2.0, 2.0, 2.0], torch.Size([2, 3]))
    """
    x, places = x.float(), (2, 3) if x.ndim == 4 else tuple(range(2, x.ndim))
    if not places:
        return x, x.square()
    if x.is_contiguous():
        return x.mean(places), torch.linalg.vector_norm(x, dim=places).square() / x.shape[2:].numel()
    few = max(1, CACHED // x.shape[1:].numel())
    if x.shape[0] <= few or x.requires_grad or x.device.type != "cpu":
        return x.mean(places), x.square().mean(places)
    squared = torch.empty_like(x[:few])
    means, squares = [], []
    for part in torch.split(x, few):
        means.append(part.mean(places))
        squares.append(torch.mul(part, part, out=squared[: len(part)]).mean(places))
    return torch.cat(means), torch.cat(squares)


def per_channel(value: Tensor, like: Tensor) -> Tensor:
    """[C] shaped so that it meets the channels of [B, C, ...]."""
    return value.reshape(1, -1, *([1] * (like.ndim - 2)))


def shield_group_norms(model: nn.Module) -> None:
    """Keep the process alive where GroupNorm is trained on channels-last images behind frozen layers.

    The CPU kernel of torch 2.13 crashes in the backward pass if the layer's own input needs no gradient.
    """
    for module in model.modules():
        if isinstance(module, nn.GroupNorm) and _with_gradient not in module._forward_pre_hooks.values():
            module.register_forward_pre_hook(_with_gradient)


def _with_gradient(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
    x = inputs[0]
    trained = any(parameter.requires_grad for parameter in module.parameters())
    if not trained or not torch.is_grad_enabled() or x.requires_grad or x.device.type != "cpu":
        return None
    return (x.detach().requires_grad_(), *inputs[1:])
