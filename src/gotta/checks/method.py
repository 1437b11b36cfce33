"""What any method must satisfy, with any memory, on small networks: `run("my_module:MyMethod")` gives a report."""

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gotta.checks.suite import Refused, Suite, different, flat, no_global_randomness, same, take_part, values_of
from gotta.core.adapted import Adapted
from gotta.core.pairing import choose_statistics
from gotta.errors import GottaError
from gotta.limits import Within
from gotta.memory import Memory, policies
from gotta.methods import Method, methods
from gotta.models import Backbone, Input
from gotta.models.vit import VisionTransformer
from gotta.statistics import Statistics

__all__ = ["check", "run"]


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


class TinyNet(Backbone):
    """Two convolutions and a linear layer, with any normalisation between."""

    classifier = "fc"

    def __init__(self, norm: Callable[[int], nn.Module], num_classes: int) -> None:
        super().__init__(Input(8), num_classes)
        self.conv1, self.norm1 = nn.Conv2d(3, 8, 3, padding=1, bias=False), norm(8)
        self.conv2, self.norm2 = nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=False), norm(16)
        self.fc = nn.Linear(16, num_classes)

    def features(self, x: Tensor) -> Tensor:
        x = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(x))).mean((2, 3))


@dataclass(frozen=True)
class Case:
    """A network, a memory and a stream, as a few words and numbers."""

    batches: Annotated[int, Within(2, 5)]
    batch_size: Annotated[int, Within(1, 12)]
    norm: Literal["batch", "group", "layer", "none", "tokens"]
    policy: Annotated[int, Within(0, 999)]  # none, fifo, fps, and then the others
    capacity: Annotated[int, Within(1, 12)]
    num_classes: Annotated[int, Within(2, 10)]
    seed: Annotated[int, Within(0, 2**16)]

    @property
    def memory(self) -> str:
        first = ["none", "fifo", "fps"]
        known = [*first, *(name for name in policies.names() if name not in first)]
        return known[self.policy % len(known)]

    def net(self) -> nn.Module:
        with torch.random.fork_rng():
            torch.manual_seed(self.seed)
            net: nn.Module = VisionTransformer(4, 8, 2, 2, 2.0, self.num_classes, Input(8))
            if self.norm != "tokens":
                net = TinyNet(NORMS[self.norm], self.num_classes)
            for buffer in net.buffers():  # statistics as if from training
                if buffer.dtype.is_floating_point:
                    buffer.add_(0.1 * torch.rand_like(buffer))
        return net.eval()

    def stream(self) -> list[Tensor]:
        rng = torch.Generator().manual_seed(self.seed + 1)
        return [torch.rand(self.batch_size, 3, 8, 8, generator=rng) for _ in range(self.batches)]


class Subject:
    """The method under test, built anew for every model."""

    def __init__(self, cls: type[Method], arguments: dict[str, Any]) -> None:
        self._cls, self._arguments = cls, arguments

    def build(self, case: Case, seed: int = 0) -> Adapted:
        """The case's network adapted by this method. A network that it refuses is not for it."""
        has_memory = case.memory != "none"
        memory = Memory(case.memory, case.capacity if has_memory else None, case.num_classes, seed=seed)
        cls, chosen = self.choose(case, has_memory)
        try:
            method = cls(model=case.net(), statistics=chosen, seed=seed, **self._arguments)
        except GottaError as error:
            raise Refused(str(error)) from error
        if method.needs_batch and case.batch_size == 1:
            raise Refused("a batch of one sample has no statistics")
        return Adapted(method, memory, case.capacity if has_memory else None, cls.native_score)

    def choose(self, case: Case, has_memory: bool) -> tuple[type[Method], Statistics]:
        preset = self._arguments.get("preset", "official")
        return self._cls, choose_statistics(self._cls, has_memory, "paper", preset)


def find(method: str | type[Method], arguments: dict[str, Any]) -> Subject:
    """A method may refuse networks, but not all: there would be nothing to check."""
    cls = take_part(methods, method, arguments)
    subject, name = Subject(cls, arguments), getattr(method, "__name__", method)
    refusals = []
    for norm in values_of(Case)["norm"]:
        try:
            subject.build(Case(2, 4, norm, 0, 4, 3, 0))
            return subject
        except Refused as error:
            refusals.append(str(error))
        except (Exception, SystemExit) as error:  # whatever a method of the caller's own raises
            raise GottaError(f"method '{name}' cannot be built: {type(error).__name__}: {error}.") from error
    raise GottaError(f"method '{name}' takes none of the networks it is checked on: {refusals[0]}")


SUITE = Suite(methods, Case, find, examples=6)
named, run, check = SUITE.named, SUITE.run, SUITE.check


@named("gives finite logits [B, C] without a graph, whatever the memory, the batch and the network")
def gives_logits(subject: Subject, case: Case) -> None:
    model = subject.build(case)
    for x in case.stream():
        logits = model.step(x).prediction.logits
        expected = (case.batch_size, case.num_classes)
        assert tuple(logits.shape) == expected, f"logits of shape {tuple(logits.shape)}, expected {expected}"
        assert bool(torch.isfinite(logits).all()), "logits that are not finite"
        assert not logits.requires_grad, "logits with a graph, which would keep the memory of every step"


@named("a prediction changes nothing but generators that it draws from (and statistics, where `follow` says so)")
def predict_changes_nothing(subject: Subject, case: Case) -> None:
    model = subject.build(case)
    for x in case.stream():
        before = model.method.state_dict()
        first, again = (model.method.predict(x).logits for _ in range(2))
        after = model.method.state_dict()
        drawn = different(before.pop("generators"), after.pop("generators"))
        assert drawn or torch.equal(first, again), "two predictions of one batch differ, and nothing was drawn for them"
        if not model.method.statistics.follow:
            same(before, after, "predict() changed")
        model.step(x)


@named("adapting moves only the parameters that are announced as `trained`, and statistics only where they count")
def adapts_what_it_announced(subject: Subject, case: Case) -> None:
    model = subject.build(case)
    method = model.method
    trained, modes = set(method.trained), [module.training for module in model.model.modules()]
    start = {name: value.clone() for name, value in model.model.state_dict().items()}
    for x in case.stream():
        diagnostics = model.step(x).diagnostics
        kinds = {(type(name), isinstance(value, int | float)) for name, value in diagnostics.items()}
        assert kinds <= {(str, True)}, f"adapt() returned {diagnostics}, expected numbers by name"
    moved = {name for name, value in model.model.state_dict().items() if not torch.equal(value, start[name])}
    parameters = {name for name, _ in model.model.named_parameters()}
    stray = (moved & parameters) - trained
    assert not stray, f"moved without being announced: {', '.join(sorted(stray))}"
    stray = set() if method.moves_statistics or method.statistics.follow else moved - parameters
    assert not stray, f"buffers moved: {', '.join(sorted(stray))}"
    assert set(method.trained) == trained, "what is trained changed on the way"
    assert [module.training for module in model.model.modules()] == modes, "a network was left in another mode"


@named("reset goes back bit for bit, and the same stream then gives the same logits")
def reset_is_new(subject: Subject, case: Case) -> None:
    model = subject.build(case)
    start = model.method.state_dict()
    first = [model(x) for x in case.stream()]
    model.reset()
    same(start, model.method.state_dict(), "after reset() differ")
    second = [model(x) for x in case.stream()]
    assert all(map(torch.equal, first, second)), "after reset() the same stream gives other logits"


@named("a saved state is tensors and plain values, stays as it was, and goes on identically in a new model")
def state_goes_on(subject: Subject, case: Case) -> None:
    one, two = subject.build(case), subject.build(case, seed=1)
    stream = case.stream()
    half = len(stream) // 2
    for x in stream[:half]:
        one(x)
    saved = one.method.state_dict()
    kept = deepcopy(saved)
    json.dumps([value for value in flat(saved).values() if not isinstance(value, Tensor)])
    two.method.load_state_dict(saved)
    two.memory.load_state_dict(one.memory.state_dict())
    two.offered, two.turns, two.adaptations = one.offered, one.turns, one.adaptations
    for x in stream[half:]:
        assert torch.equal(one(x), two(x)), "a loaded method goes on with other logits"
    same(one.method.state_dict(), two.method.state_dict(), "after going on from a saved state differ")
    same(kept, saved, "after it was saved, there changed")


@named("same seed, same logits; no global randomness")
def repeatable(subject: Subject, case: Case) -> None:
    with no_global_randomness():
        first, second = ([model(x) for x in case.stream()] for model in (subject.build(case), subject.build(case)))
    assert all(map(torch.equal, first, second)), "two models with one seed and one stream differ"


@named("works alike for callers without gradients, and for a deep copy")
def works_without_gradients(subject: Subject, case: Case) -> None:
    expected = list(map(subject.build(case), case.stream()))
    for quiet in (torch.no_grad, torch.inference_mode):
        model = subject.build(case)
        with quiet():
            got = [model(x) for x in case.stream()]
        assert all(map(torch.equal, expected, got)), f"other logits inside torch.{quiet.__name__}"
    model = deepcopy(subject.build(case))
    assert all(torch.equal(a, model(x)) for a, x in zip(expected, case.stream(), strict=True)), "a copy differs"


@named("leaves the batches as they were, and counts each of its forward passes")
def counts_forwards(subject: Subject, case: Case) -> None:
    model, passes = subject.build(case), list[int]()
    for net in model.method.networks().values():
        net.register_forward_pre_hook(lambda *_: passes.append(1))
    for x in case.stream():
        before = x.clone()
        passes.clear()
        cost = model.step(x).cost
        assert torch.equal(x, before), "a batch was changed"
        counted = sum(tally["forwards"] for tally in cost.values())
        assert counted >= len(passes), f"{len(passes)} forward passes, {counted} counted: use self.logits()"
