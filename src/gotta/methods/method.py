"""What a method is: it predicts, it adapts on the samples a memory holds, and it can go back to the source."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from types import NoneType, SimpleNamespace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from gotta import seeds
from gotta.cost import Cost
from gotta.methods.parts.following import Following
from gotta.methods.parts.normalization import batch_statistics, has_batch_norm, shield_group_norms
from gotta.methods.parts.params import load_plain_state, plain_state
from gotta.methods.parts.row_weights import counting_rows
from gotta.methods.passes import Passes
from gotta.methods.settings import (
    Presets,
    Texts,
    check_number_of_adaptations,
    check_reset_every,
    choose_quirks,
    hyper_parameters,
    preset_of,
)
from gotta.methods.settings import Statistics as Statistics
from gotta.registry import Registry
from gotta.types import MemoryBatch, Prediction


class Methods(Registry[type["Method"]]):
    def check_arguments(self, name: str, arguments: dict[str, Any]) -> None:
        """A method's own settings are in its presets, not in its signature."""
        super().check_arguments(name, arguments)
        cls = self.get(name)
        signature = inspect.signature(cls).parameters
        if any(p.kind is p.VAR_KEYWORD for p in signature.values()):
            own = {argument: value for argument, value in arguments.items() if argument not in signature}
            hyper_parameters(cls, arguments.get("preset", "official"), own)
            choose_quirks(cls, arguments.get("quirks", ()))
        check_number_of_adaptations(arguments.get("reset_every"))


methods = Methods("method", "gotta.methods", lambda cls: issubclass(cls, Method), "a subclass of gotta.methods.Method")


class Method(Passes):
    """The base of all methods: owns the adapted model, its optimizer, and the snapshot that `reset` goes back to.

    A method says with `native` what it predicts with when there is no memory and with `paired` when there is one (the
    pairing of the paper), and overrides `configure` and `adapt`. What it declares here it need not care for again:
    the settings of `presets` are in `self.hyper`, and networks and `remembers` are saved, loaded and reset.
    """

    native: ClassVar[Statistics] = Statistics()
    paired: ClassVar[Statistics] = Statistics()
    native_prior: ClassVar[str] = "none"  # what the order of samples says of their classes
    native_labels: ClassVar[str] = "filtered"  # whether the memory goes by the scored prediction or the network's own
    native_reset_every: ClassVar[int | None] = None  # adaptations between two returns to the source
    uses_memory: ClassVar[bool] = True  # whether it adapts on samples, or reads them, at all
    reads_memory: ClassVar[bool] = False  # whether its predictions depend on the rows of the memory
    needs_features: ClassVar[bool] = False  # whether its predictions must come with features
    native_score: ClassVar[Literal["before", "after"]] = "before"  # which prediction of a batch it gives
    presets: ClassVar[Presets] = {"official": {}}  # the others name only what differs
    origins: ClassVar[Texts] = {}  # of each preset, whose values they are
    inputs: ClassVar[Texts] = {}  # optional arguments that are data or functions, and what they are
    known_quirks: ClassVar[Texts] = {}  # oddities of the published code that can be asked for, and their effect
    remembers: ClassVar[tuple[str, ...]] = ()  # attributes that are state: tensors, numbers or None
    large: ClassVar[tuple[str, ...]] = ()  # those of them whose changes are told to `undo_log`, to spare a copy
    follow: float = 0.0  # how fast the running statistics follow predictions made with batch statistics

    def __init__(
        self,
        model: nn.Module,
        statistics: Statistics | None = None,
        embed: str = "probs",
        seed: int = 0,
        preset: str = "official",
        quirks: str | Iterable[str] | None = (),
        prior: str | None = None,
        labels: str | None = None,
        order_in_batch: str = "time",
        reset_every: int | None = None,
        **hyper: Any,
    ) -> None:
        self.model, self.embed = model, embed
        self.hyper = SimpleNamespace(**hyper_parameters(type(self), preset, hyper))
        self.quirks = choose_quirks(type(self), quirks)
        self.statistics = statistics or self.usual_statistics(False, preset)
        self.reset_every = check_reset_every(self, self.native_reset_every if reset_every is None else reset_every)
        self.generators = {name: seeds.torch_generator(seed, name) for name in ("augment", "method")}
        self.cost = Cost()
        self.keep_graph = False  # while the batch that is predicted is the very batch to adapt on
        self.output_type: torch.dtype | None = None  # of what the network gave last, whatever is computed from it
        self.undo_log: list[Callable[[], object]] | None = None  # there while somebody may want changes back
        self.peek: Callable[[], MemoryBatch] | None = None  # at the memory it is joined with, if one lasts
        self._kept: Tensor | None = None
        self.check(model)
        model.eval().requires_grad_(False)
        shield_group_norms(model)
        self.optimizer = self.configure()
        self.following = Following(
            self.statistics.source,
            prior or self.native_prior,
            labels or self.native_labels,
            order_in_batch,
            self.predictor,
        )
        self._snapshot = deepcopy(self._state())

    @classmethod
    def arguments(cls) -> list[str]:
        """The names of what it may be given: hyper-parameters, data and functions, and what every method takes."""
        taken = [name for name in inspect.signature(cls).parameters if name != "hyper"]
        return [*taken, *cls.presets["official"], *cls.inputs]

    @classmethod
    def usual_statistics(cls, has_memory: bool, preset: str = "official") -> Statistics:
        """What predictions are normalised with if nobody says otherwise. A preset may name its own."""
        usual = cls.paired if has_memory else cls.native
        return replace(usual, source=preset_of(cls, preset).get("statistics", usual.source))

    def check(self, model: nn.Module) -> None:
        """Refuse a model on which this method would do nothing."""

    def configure(self) -> torch.optim.Optimizer | None:
        """Exchange layers, make copies, mark what is trained and give its optimizer, if anything is."""
        return None

    def predict(self, x: Tensor) -> Prediction:
        """The logits of a batch; nothing changes that a later prediction depends on."""
        keep = self.keep_graph and self.optimizer is not None and self.statistics.source != "running"
        with torch.set_grad_enabled(keep), self._prediction_mode(self.predictor):
            logits, features = self._forward(self.predictor, x)
        self._kept = logits if keep else None
        return Prediction(logits.detach(), features, self.embed)

    def predict_to_adapt(self, x: Tensor) -> Prediction:
        """Predict the batch that is adapted on next, whole, so that `training_logits` can use this forward."""
        self.keep_graph = True
        try:
            return self.predict(x)
        finally:
            self.keep_graph = False

    @contextmanager
    def only_predicting(self, statistics: Statistics | None = None) -> Iterator[None]:
        """Predictions inside keep no graph and move no statistics, and may use others than usual."""
        before = self.keep_graph, self.follow, self.statistics
        self.keep_graph, self.follow, self.statistics = False, 0.0, statistics or self.statistics
        try:
            yield
        finally:
            self.keep_graph, self.follow, self.statistics = before

    def held(self) -> MemoryBatch | None:
        """For `predict`: a copy of the rows that the memory holds now, or None if there are none. No reading of it."""
        rows = None if self.peek is None else self.peek()
        return rows if rows else None

    @torch.no_grad()
    def consult(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """For `predict`: logits and features of other samples, such as the memory's, from which nothing is learned."""
        with self.only_predicting(), self.following.resting(), self._prediction_mode(self.predictor):
            return self._forward(self.predictor, x)

    @contextmanager
    def unaware_of_memory(self) -> Iterator[None]:
        """Predictions inside read no memory: for predicting its own rows."""
        peek, self.peek = self.peek, None
        try:
            yield
        finally:
            self.peek = peek

    @property
    def source_state(self) -> Mapping[str, Any]:
        """What the network was when this method took it over."""
        source: Mapping[str, Any] = self._snapshot["model"]
        return source

    def drop_graph(self) -> None:
        """Forget the forward that `predict_to_adapt` kept."""
        self._kept = None

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        """One adaptation on what the memory holds. What was measured on the way, by name."""
        return {}

    def feed(self, x: Tensor, weight: Tensor | None = None) -> None:
        """Move the running statistics by one forward of these samples."""
        for net in self.networks().values():
            with torch.no_grad(), batch_statistics(net, self.statistics.rate), counting_rows(net, weight):
                self.logits(x, net)

    def reset(self) -> None:
        """Back to the source, bit for bit."""
        self._restore(deepcopy(self._snapshot))

    def start_over(self) -> None:
        """Networks, optimizer and what is remembered as at the start; generators, levels and prior go on."""
        going_on = {"generators": self._state()["generators"], **self.following.state_dict()}
        self._restore(deepcopy({**self._snapshot, **going_on}))

    def state_dict(self) -> dict[str, Any]:
        """Everything to go on from: nested dicts of tensors, numbers, text and None."""
        return deepcopy(self._state())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._restore(deepcopy(dict(state)))

    def networks(self) -> dict[str, nn.Module]:
        """Every network this method owns, by name."""
        return {"model": self.model}

    def changing(self) -> list[Tensor]:
        """The parameters that `adapt` may change. Buffers, optimizer and `remembers` need not be told."""
        others = [net for name, net in self.networks().items() if name != "model"]
        return [*self.trained.values(), *(parameter for net in others for parameter in net.parameters())]

    @property
    def predictor(self) -> nn.Module:
        """The network whose predictions are given."""
        return self.model

    @property
    def notes(self) -> list[str]:
        """What a reader of this method's results should know about its setting."""
        return []

    @property
    def stands_still(self) -> bool:
        """Whether predictions do not depend on the samples before."""
        reading = self.reads_memory and self.peek is not None
        return not (self.trained or self.moves_statistics or self.following.state_dict() or reading)

    @property
    def adapts(self) -> bool:
        """Whether it does anything with the samples it is given to adapt on."""
        return getattr(self.adapt, "__func__", None) is not Method.adapt

    @property
    def needs_batch(self) -> bool:
        """Whether predictions are normalised by the batch they are in, so that one sample alone will not do."""
        return self.statistics.source == "batch" and has_batch_norm(self.model)

    def _state(self) -> dict[str, Any]:
        return {
            **{name: dict(net.state_dict()) for name, net in self.networks().items()},
            "optimizer": None if self.optimizer is None else plain_state(self.optimizer),
            "generators": {name: generator.get_state() for name, generator in self.generators.items()},
            "remembers": {name: getattr(self, name) for name in self.remembers},
            **self.following.state_dict(),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self._kept = None
        for name, net in self.networks().items():
            net.load_state_dict(state[name])
        if self.optimizer is not None:
            load_plain_state(self.optimizer, state["optimizer"])
        for name, generator in self.generators.items():
            generator.set_state(state["generators"][name].cpu())
        for name in self.remembers:
            value = state["remembers"][name]
            if not isinstance(value, Tensor | int | float | NoneType):
                raise TypeError(f"{name} is a {type(value).__name__}")
            setattr(self, name, value)
        self.following.load_state_dict(state, self.predictor)
