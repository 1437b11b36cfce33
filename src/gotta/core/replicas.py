"""Replicas in several processes that adapt as one model would to their batches together: `adapt(net, sync=True)`."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, distributed

from gotta.core.adapted import Adapted
from gotta.core.inputs import device_of, is_finite
from gotta.core.undo import Undo
from gotta.errors import GottaError, NotFinite
from gotta.methods import Method
from gotta.priors.prior import Starts
from gotta.statistics import Statistics
from gotta.statistics.normalization import ReplacedBatchNorm, per_channel, widen
from gotta.types import Outcome, Prediction

REFUSED = -1  # samples, where a replica takes no part


class SyncedBatchNorm(ReplacedBatchNorm):
    """BatchNorm with mean and variance of the batches of all replicas together. (torch's own needs a GPU.)"""

    foldable = True

    def forward(self, x: Tensor) -> Tensor:
        if not self.sees_batch:
            return self.with_running_statistics(x)
        mean, var = self.batch_moments(widen(x))
        if self.moves:
            total = x.numel() // len(mean) * distributed.get_world_size()
            own_mean, own_var = self.running
            own_mean.lerp_(mean.detach().to(own_mean), self.rate)
            own_var.lerp_(var.detach().to(own_var) * total / (total - 1), self.rate)
            if self.num_batches_tracked is not None:
                self.num_batches_tracked.add_(1)
        scale = (var + self.eps).rsqrt()
        return self.scaled(x, scale, -mean * scale)

    def batch_moments(self, x: Tensor, unbiased: bool = False) -> tuple[Tensor, Tensor]:
        from torch.distributed.nn.functional import all_reduce  # through which gradients flow

        places, count = (0, *range(2, x.ndim)), distributed.get_world_size()
        mean: Tensor = all_reduce(x.mean(places)) / count  # type: ignore[no-untyped-call]
        var: Tensor = all_reduce((x - per_channel(mean, x)).square().mean(places)) / count  # type: ignore[no-untyped-call]
        return mean, var


class Replica(Adapted):
    """One of them. All are called equally often, with equally many samples, and a step happens in all or in none."""

    lone = "sync"

    def renew(self) -> None:
        super().renew()
        self.met = False
        optimizer = self.method.optimizer
        if optimizer is not None and average_gradients not in optimizer._optimizer_step_pre_hooks.values():
            optimizer.register_step_pre_hook(average_gradients)  # a copy has lost it

    def step(self, *inputs: Any, **named: Any) -> Outcome:
        with self.lock:
            self.met = False
            try:
                return super().step(*inputs, **named)
            except Exception:
                if not self.met:  # the others wait to hear of this replica
                    self._meet(REFUSED, 0)
                raise

    def take(self, x: Tensor, starts: Starts | None, largest: list[float], undo: Undo) -> Outcome:
        told = self._meet(len(x), x[0].numel())
        if any(one[0] == REFUSED for one in told):
            raise GottaError("another replica has refused its batch, so this one is left out as well: see its error.")
        if any(one != told[0] for one in told):
            raise GottaError(f"replicas take batches of one size, in step (samples, numbers, frozen, offered: {told}).")
        values = torch.tensor(largest, dtype=torch.float64)
        whole = [value for part in gather(values, device_of(self.model)) for value in part]
        return super().take(x, starts, whole, undo)

    def _meet(self, samples: int, numbers: int) -> list[tuple[int, ...]]:
        """What each replica is about to do."""
        self.met = True
        mine = torch.tensor([samples, numbers, int(self.frozen), self.offered])
        return [tuple(map(int, one)) for one in gather(mine, device_of(self.model))]

    def _predict(self, x: Tensor) -> Prediction:
        return self._together(lambda: super(Replica, self)._predict(x))

    def _predict_again(self, x: Tensor, starts: Starts | None, followed: bool = True) -> Prediction:
        return self._together(lambda: super(Replica, self)._predict_again(x, starts, followed))

    def _together(self, predict: Callable[[], Prediction]) -> Prediction:
        """All replicas have finite logits, or none has."""
        try:
            prediction = predict()
            finite = is_finite(prediction.logits)
        except NotFinite:
            finite = False
        if not all(one[0] for one in gather(torch.tensor([float(finite)]), device_of(self.model))):
            raise NotFinite("the model gives NaN or infinite logits in one of the replicas: all leave this batch out.")
        return prediction


def gather(mine: Tensor, device: torch.device) -> list[list[float]]:
    """These numbers of every replica, in their order."""
    mine = mine.to(device)
    found = [torch.empty_like(mine) for _ in range(distributed.get_world_size())]
    distributed.all_gather(found, mine)
    return [one.tolist() for one in found]


@torch.no_grad()
def average_gradients(optimizer: torch.optim.Optimizer, *step: Any) -> None:
    """Before a step of the optimizer: the gradient of the mean loss of all replicas."""
    gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    whole = torch.cat([gradient.flatten() for gradient in gradients])
    distributed.all_reduce(whole)
    whole /= distributed.get_world_size()
    for gradient, part in zip(gradients, torch.split(whole, [one.numel() for one in gradients]), strict=True):
        gradient.copy_(part.view_as(gradient))


def check_sync(name: str, method: type[Method], statistics: Statistics, source: str, device: torch.device) -> None:
    """Refuse what replicas could not do as one model would. `source`: a hash of the network that this one is given."""
    if not (distributed.is_available() and distributed.is_initialized()):
        raise GottaError("sync=True needs a group of processes. Call torch.distributed.init_process_group(...) first.")
    if statistics.watches:
        raise GottaError(f"{statistics.name} statistics have no average. Use statistics='running' or 'batch'.")
    if method.predict is not Method.predict or not (method.adapt is Method.adapt or method.averages):
        raise GottaError(f"method '{name}' does more than a mean over samples. sync=True is for 'norm' and 'tent'.")
    if len({tuple(one) for one in gather(torch.tensor([int(source[:12], 16)]), device)}) > 1:
        raise GottaError("the replicas were given different networks. With sync=True load the same weights in each.")
