"""What a method is: it predicts, it adapts on the samples a memory holds, and it can go back to the source."""

import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from copy import deepcopy
from types import SimpleNamespace
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from gotta import seeds
from gotta.cost import Cost
from gotta.errors import GottaError, check_known
from gotta.heads import find_width
from gotta.limits import Count, require
from gotta.methods import settings
from gotta.methods.parts.calls import Calls
from gotta.methods.parts.features import forward_with_features
from gotta.methods.parts.params import load_network, load_plain_state, make_optimizer, plain_state
from gotta.methods.settings import Preset as Preset
from gotta.methods.settings import Presets, Texts
from gotta.priors import Prior, make_prior
from gotta.priors.prior import Foreseen, Starts
from gotta.registry import Registry
from gotta.state import Back, Reader, Sized, Stateful, read_each, set_values, temporarily
from gotta.statistics import Source, Statistics, statistics
from gotta.statistics.interface import Lent
from gotta.statistics.normalization import (
    ONE_VALUE,
    has_batch_norm,
    running_statistics,
    shield_group_norms,
    source_statistics,
)
from gotta.types import MemoryBatch, Prediction

LOG = logging.getLogger(__name__)
LABELS = ("filtered", "raw")


class Methods(Registry[type["Method"]]):
    def check_arguments(self, name: str, arguments: dict[str, Any]) -> None:
        """A method's own settings are in its presets, not in its signature."""
        super().check_arguments(name, arguments)
        cls = self.get(name)
        signature = inspect.signature(cls).parameters
        if any(p.kind is p.VAR_KEYWORD for p in signature.values()):
            own = {argument: value for argument, value in arguments.items() if argument not in signature}
            settings.hyper_parameters(cls, arguments.get("preset", "official"), own)
            settings.choose_quirks(cls, arguments.get("quirks", ()))
        require("reset_every", arguments.get("reset_every"), Count | None)


methods = Methods("method", "gotta.methods", lambda cls: issubclass(cls, Method), "a subclass of gotta.methods.Method")


class Ahead(NamedTuple):
    """A forward of a batch that was made before its turn."""

    x: Tensor
    logits: Tensor
    features: Tensor | None
    seen: Any = None  # what the statistics made of it
    foreseen: Foreseen | None = None  # what the prior will say of it, if all samples count


class Method(Stateful):
    """The base of all methods: owns the adapted model, its optimizer, and the snapshot that `reset` goes back to.

    A method says with `native` what it predicts with when there is no memory and with `paired` when there is one (the
    pairing of the paper), and overrides `configure` and `adapt`. What it declares here it need not care for again:
    the settings of `presets` are in `self.hyper`, and networks and `remembers` are saved, loaded and reset.

    Args:
        model: The network to adapt, which is changed.
        statistics: What its predictions are normalised with; the method's own if left out.
        embed: What the embedding of a prediction is: `"probs"`, `"logits"` or `"features"`.
        seed: Of every random draw.
        preset: Whose hyper-parameters: `"official"`, or another one of `presets`.
        quirks: Oddities of the published code that are asked for, by name.
        prior: A name or an object; the method's own if left out.
        labels: What memory and statistics go by: `"filtered"` or `"raw"`.
        order_in_batch: Whether the samples of a batch came in the order of `"time"`, or in `"none"`.
        reset_every: Adaptations between two returns to the source.

    >>> import torch
    >>> from gotta.methods import methods
    >>> net = torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 3))
    >>> method = methods.get("tent")(net, lr=1e-4)
    >>> method.hyper.lr, method.predict(torch.rand(8, 4)).logits.shape
    (0.0001, torch.Size([8, 3]))
    """

    native: ClassVar[Statistics] = Source()
    paired: ClassVar[Statistics] = Source()
    native_prior: ClassVar[str] = "none"  # what the order of samples says of their classes
    native_labels: ClassVar[str] = "filtered"  # whether the memory goes by the scored prediction or the network's own
    native_reset_every: ClassVar[int | None] = None  # adaptations between two returns to the source
    uses_memory: ClassVar[bool] = True  # whether it adapts on samples, or reads them, at all
    reads_memory: ClassVar[bool] = False  # whether its predictions depend on the rows of the memory
    uses_order: ClassVar[bool] = (
        False  # whether its predictions gain by the order of samples, or the mix of their batch
    )
    averages: ClassVar[bool] = False  # whether its loss is a mean over samples, so that parts of a batch add up to it
    needs_features: ClassVar[bool] = False  # whether its predictions must come with features
    native_score: ClassVar[Literal["before", "after"]] = "before"  # which prediction of a batch it gives
    presets: ClassVar[Presets] = {"official": {}}  # the others name only what differs
    choices: ClassVar[Mapping[str, Iterable[str]]] = {}  # what hyper-parameters that are names may be
    inputs: ClassVar[Texts] = {}  # optional arguments that are data or functions, and what they are
    known_quirks: ClassVar[Texts] = {}  # oddities of the published code that can be asked for, and their effect
    remembers: ClassVar[Mapping[str, Reader]] = {}  # attributes that are state, each with what reads it from a file
    # State that only `adapt` reads. Its changes are written to `undo_log`, which saves a copy of it.
    large: ClassVar[tuple[str, ...]] = ()
    passing: ClassVar[tuple[str, ...]] = ("statistics", "keep_graph", "moving", "peek", "ahead")  # set for a while

    def __init__(
        self,
        model: nn.Module,
        statistics: Statistics | None = None,
        embed: str = "probs",
        seed: int = 0,
        preset: str = "official",
        quirks: str | Iterable[str] | None = (),
        prior: str | Prior | None = None,
        labels: str | None = None,
        order_in_batch: str = "time",
        reset_every: int | None = None,
        **hyper: Any,
    ) -> None:
        self.model, self.embed = model, embed
        self.calls = Calls()
        self.hyper = SimpleNamespace(**settings.hyper_parameters(type(self), preset, hyper))
        self.quirks = settings.choose_quirks(type(self), quirks)
        self.statistics = deepcopy(statistics or self.usual_statistics(False, preset))
        self.prior = make_prior(prior or self.native_prior, order_in_batch)
        self.labels = labels or self.native_labels
        check_known("labels", self.labels, LABELS)
        self.reset_every = settings.choose_reset_every(self, reset_every)
        self.generators = {name: seeds.torch_generator(seed, name) for name in ("augment", "method")}
        self.cost = Cost()
        self.moving = True  # but not while somebody only looks
        self.keep_graph = False  # while the batch that is predicted is the very batch to adapt on
        self.output_type: torch.dtype | None = None  # of what the network gave last, whatever is computed from it
        self.undo_log: list[Callable[[], object]] | None = None  # there while somebody may want changes back
        self.peek: Callable[[], MemoryBatch] | None = None  # at the memory it is joined with, if one lasts
        self.ahead: Ahead | None = None  # the next forward, where it was made together with that of other streams
        self._kept: Tensor | None = None  # of the forward that `predict_to_adapt` kept
        self.check(model)
        model.eval().requires_grad_(False)
        shield_group_norms(model)
        self.optimizer = self.configure()
        self.statistics.attach(self.predictor)
        if self.statistics.keeps_moments and type(self).adapt is not Method.adapt:
            raise GottaError(
                f"method '{self.name}' adapts on samples, and with statistics="
                f"'{self.statistics.name}' the memory holds none. Use a method that trains nothing, such as 'deskew', "
                "or other statistics, such as 'class'."
            )
        self.reset_state: Mapping[str, Any] = self.state_dict()  # where `reset` goes back to, never changed

    @classmethod
    def arguments(cls) -> list[str]:
        """The names of what it may be given: hyper-parameters, data and functions, and what every method takes."""
        taken = [name for name in inspect.signature(cls).parameters if name != "hyper"]
        return [*taken, *cls.presets["official"], *cls.inputs]

    @classmethod
    def usual_statistics(cls, has_memory: bool, preset: str = "official") -> Statistics:
        """What predictions are normalised with if nobody says otherwise. A preset may name its own."""
        usual = cls.paired if has_memory else cls.native
        return cls.own_statistics(settings.preset_of(cls, preset).get("statistics", usual.name), usual)

    @classmethod
    def own_statistics(cls, name: str, usual: Statistics) -> Statistics:
        """The statistics of this name as the method has them, if it has any."""
        own = [known for known in (usual, cls.native, cls.paired) if known.name == name]
        return own[0] if own else statistics.build(name)

    def check(self, model: nn.Module) -> None:
        """Refuse a model on which this method would do nothing."""

    def configure(self) -> torch.optim.Optimizer | None:
        """Exchange layers, make copies, mark what is trained and give its optimizer, if anything is."""
        return None

    def predict(self, x: Tensor) -> Prediction:
        """The logits of a batch; nothing changes that a later prediction depends on."""
        ahead = self.ahead
        if ahead is not None and ahead.x is x:
            self.ahead, self.prior.foreseen = None, ahead.foreseen
            return Prediction(ahead.logits, ahead.features, self.embed)
        keep = self.keep_graph and self.optimizer is not None and self.statistics.fed_by is None
        with torch.set_grad_enabled(keep), self._prediction_mode(self.predictor):
            logits, features = self.forward(x)
        self._kept = logits if keep else None
        return Prediction(logits.detach(), features, self.embed)

    def predict_to_adapt(self, x: Tensor) -> Prediction:
        """Predict the batch that is adapted on next, whole, so that `training_logits` can use this forward."""
        with temporarily(self, keep_graph=True):
            return self.predict(x)

    def only_predicting(self, statistics: Statistics | None = None) -> AbstractContextManager[None]:
        """Predictions inside keep no graph and move no statistics, and may use others than usual."""
        return temporarily(self, keep_graph=False, moving=False, statistics=statistics or self.statistics)

    def watch(self, x: Tensor, predict: Callable[[Tensor], Prediction]) -> Prediction:
        """Predict the next samples while the statistics look on."""
        made: list[Prediction] = []

        def once() -> Prediction:
            made[:] = [predict(x)]
            return made[0]

        if self.ahead is not None and self.ahead.x is x:
            self.statistics.note(self.ahead.seen)
        prediction = self.statistics.watch(self.predictor, x, once)
        if made and prediction is not made[0]:
            self._kept = None  # which is that of a trial
        return prediction

    def follow(self, raw: Prediction, starts: Starts | None = None) -> Prediction:
        """Move prior and statistics by the prediction that was watched, and give the one to use."""
        prediction = self.prior.follow(raw, starts, self.statistics.counts)
        if self.statistics.watches:
            self.statistics.learn(self.as_labels(prediction).label, raw.logits.shape[1])
        return prediction

    def know_home(self, x: Tensor) -> None:
        """See some clean samples, which the network was made for; `reset` comes back to this."""
        with self.only_predicting():
            for part in torch.split(x, 64):
                self.statistics.know_home(self.predictor, part, lambda part=part: self.predict(part))  # type: ignore[misc]
        self.reset_state = self.state_dict()

    def as_labels(self, prediction: Prediction) -> Prediction:
        """The prediction that memory and statistics take labels from."""
        return prediction if self.labels == "filtered" else prediction.raw

    def measure_stream(self) -> dict[str, float]:
        """What prior and statistics think of the stream, by name."""
        stickiness = self.prior.stickiness if self.prior.is_used else None
        return {**({} if stickiness is None else {"stickiness": stickiness}), **self.statistics.measure()}

    def owns(self) -> dict[str, Stateful]:
        return {"statistics": self.statistics, "prior": self.prior}

    def record(self) -> Back:
        """A call that brings back what is now, but for tensors that are changed in place and not told to `undo_log`."""
        self.undo_log = log = list[Callable[[], object]]()
        values = {name: getattr(self, name) for name in (*self.remembers, *self.passing)}
        states = {name: generator.get_state() for name, generator in self.generators.items()}
        bring_parts_back = super().record()

        def back() -> None:
            for call in reversed(log):
                call()
            set_values(self, values)
            for name, state in states.items():
                self.generators[name].set_state(state)
            bring_parts_back()
            self._kept = None

        return back

    def held(self) -> MemoryBatch | None:
        """For `predict`: a copy of the rows that the memory holds now, or None if there are none. No reading of it."""
        rows = None if self.peek is None else self.peek()
        return rows if rows else None

    @torch.no_grad()
    def consult(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """For `predict`: logits and features of other samples, such as the memory's, from which nothing is learned."""
        with self.only_predicting(), self.statistics.resting(), self._prediction_mode(self.predictor):
            return self.forward(x)

    def unaware_of_memory(self) -> AbstractContextManager[None]:
        """Predictions inside read no memory: for predicting its own rows."""
        return temporarily(self, peek=None)

    @torch.no_grad()
    def source_logits(self, x: Tensor) -> Tensor:
        """What the source would say: one forward with its weights and statistics. The method stays as it is."""
        here = self.model.state_dict()
        source = {name: value.to(here[name]) for name, value in self.source_state.items() if isinstance(value, Tensor)}
        self.cost.count(forwards=1, samples=len(x))
        with source_statistics(self.model):
            inputs, named = self.calls.arrange(x)
            output = torch.func.functional_call(self.model, source, inputs, named)
            return self.calls.read(self.calls.keep(x, output))

    @property
    def source_state(self) -> Mapping[str, Any]:
        """What the network was when this method took it over."""
        source: Mapping[str, Any] = self.reset_state["model"]
        return source

    @property
    def foreseeable(self) -> bool:
        """Whether a prediction is one forward of the network, which may be made together with that of other streams."""
        cls = type(self)
        plain = cls.predict is Method.predict and cls._prediction_mode is Method._prediction_mode
        return plain and self.optimizer is None

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        """One adaptation on what the memory holds. What was measured on the way, by name.

        Of the empty method: samples only feed running statistics, where these are what predicts; moments move levels.
        """
        if self.statistics.keeps_moments:
            self.statistics.read(batch)
        elif self.fed_by_memory:
            self.feed(batch.x)
        return {}

    def feed(self, x: Tensor) -> None:
        """Move the running statistics by one forward of these samples."""
        for net in self.networks().values():
            with torch.no_grad(), self.statistics.feeding(net):
                self.logits(x, net)

    def reset(self) -> None:
        """Back to the source, bit for bit."""
        self.load_state_dict(self.reset_state)

    def start_over(self) -> None:
        """Networks, optimizer and what is remembered as at the start; generators, levels and prior go on."""
        LOG.info("%s starts over", type(self).__name__)
        going_on = {name: part for name, part in self.state_dict().items() if name in ("generators", *self.owns())}
        self.load_state_dict({**self.reset_state, **going_on})

    def state_dict(self) -> dict[str, Any]:
        """Everything to go on from: nested dicts of tensors, numbers, text and None."""
        now = {
            **{name: dict(net.state_dict()) for name, net in self.networks().items()},
            "optimizer": None if self.optimizer is None else plain_state(self.optimizer),
            "generators": {name: generator.get_state() for name, generator in self.generators.items()},
            "remembers": {name: getattr(self, name) for name in self.remembers},
            **super().state_dict(),
        }
        return deepcopy(now)

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        self._kept = None
        state = deepcopy(dict(saved))
        for name, net in self.networks().items():
            load_network(net, state[name])
        if self.optimizer is not None:
            load_plain_state(self.optimizer, state["optimizer"])
        for name, generator in self.generators.items():
            generator.set_state(state["generators"][name].cpu())
        set_values(self, self.read_remembered(state["remembers"]))
        super().load_state_dict(state)

    def read_remembered(self, saved: Mapping[str, Any]) -> dict[str, Any]:
        """What a file says of `remembers`, checked: tensors that were there at the start have kept their shape."""
        found, start = read_each(self.remembers, saved), self.reset_state["remembers"]
        for name, value in found.items():
            fresh = start[name]
            if isinstance(fresh, Tensor) and (value.shape, value.dtype) != (fresh.shape, fresh.dtype):
                raise ValueError(f"{name} is of {value.dtype} and shape {list(value.shape)}")
        return found

    def check_remembered(self, values: Mapping[str, Any], known: Mapping[str, tuple[int, ...]]) -> None:
        """Raises unless these are of as many classes, and of such samples, as are known."""
        width = find_width(self.predictor)
        known = known if width is None else {**known, "features": (width,)}
        for name, value in values.items():
            read = self.remembers[name]
            if isinstance(read, Sized):
                read.check(name, value, known)

    def networks(self) -> dict[str, nn.Module]:
        """Every network this method owns, by name."""
        return {"model": self.model}

    def changing(self) -> list[Tensor]:
        """The parameters that `adapt` may change. Buffers, optimizer and `remembers` need not be named."""
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
        learning = self.statistics.watches and has_batch_norm(self.model)
        own = self.trained or self.remembers or self.moves_statistics
        return not (own or learning or self.prior.is_used or reading)

    @property
    def adapts(self) -> bool:
        """Whether it does anything with the samples it is given to adapt on."""
        reads = self.statistics.keeps_moments or (self.uses_memory and self.fed_by_memory)
        return reads or type(self).adapt is not Method.adapt

    @property
    def domain(self) -> int | None:
        """The domain that it trains for, by number. At home, 0, the network is the source's, and nothing is trained.

        None where it trains whatever comes: its statistics look for no domain, or there is no BatchNorm to tell.
        """
        return self.statistics.domain if type(self).adapt is not Method.adapt else None

    @property
    def needs_batch(self) -> bool:
        """Whether predictions are normalised by the batch they are in, so that one sample alone will not do."""
        return self.statistics.needs_batch and has_batch_norm(self.model)

    @property
    def trained(self) -> dict[str, nn.Parameter]:
        """The parameters that adaptation may change, by name."""
        return {name: p for name, p in self.model.named_parameters() if p.requires_grad}

    @property
    def moves_statistics(self) -> bool:
        """Whether running statistics in the network move with what is fed to it."""
        return self.statistics.fed_by is not None and has_batch_norm(self.model)

    @property
    def fed_by_memory(self) -> bool:
        return self.moves_statistics and self.statistics.fed_by == "memory"

    def forward(self, x: Tensor, net: nn.Module | None = None) -> tuple[Tensor, Tensor | None]:
        """Logits and, where they are wanted, features: one counted forward of the predictor, or another, as it is."""
        net = self.predictor if net is None else net
        if self.embed != "features" and not self.needs_features:
            return self.logits(x, net), None
        self.cost.count(forwards=1, samples=len(x))
        output, features = forward_with_features(net, x, self.calls)
        return self._read(output), features

    def logits(self, x: Tensor, net: nn.Module | None = None) -> Tensor:
        """One counted forward, in whatever mode the network is."""
        net = self.model if net is None else net
        self.cost.count(forwards=1, samples=len(x))
        try:
            return self._read(self.calls(net, x))
        except ValueError as error:
            if len(x) > 1 or not str(error).startswith(ONE_VALUE):
                raise
        # One row of 1 x 1 maps has no statistics of its own, so those there are must do.
        with running_statistics(net):
            return self._read(self.calls(net, x))

    def training_logits(self, x: Tensor, net: nn.Module | None = None, moving: bool = True) -> Tensor:
        """The logits to compute a loss on, under the statistics of these samples.

        Where prediction and adaptation see the same batch, the forward of the prediction is used and not done again.
        Unless `moving`, the forward leaves running statistics as they are.
        """
        net = self.model if net is None else net
        kept, self._kept = self._kept, None
        if kept is not None and net is self.model and len(kept) == len(x):
            return kept
        with torch.enable_grad(), self._training_mode(net, moving):
            return self.logits(x, net)

    def descend(self, loss: Tensor) -> dict[str, float]:
        """One step of the optimizer, or none where the loss is not finite. What `adapt` gives back."""
        if torch.isfinite(loss):
            self.backward(loss)
            self.step()
        return {"loss": float(loss.detach())}

    def backward(self, loss: Tensor) -> None:
        assert self.optimizer is not None
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.cost.count(backwards=1)

    def step(self) -> None:
        assert self.optimizer is not None
        self.optimizer.step()
        self.optimizer.zero_grad()

    def coast(self) -> None:
        """A step with gradient zero: what published code does where nothing was selected. Momentum still moves."""
        for parameter in self.trained.values():
            parameter.grad = torch.zeros_like(parameter)
        self.step()

    def drawn(self, name: str, draw: Callable[[], Tensor], place: int | None = None) -> Tensor:
        """A random draw, or what the caller has recorded in its stead (`draws`), at a place of it if there are many."""
        if self.hyper.draws is None:
            return draw()
        recorded = self.hyper.draws.get(name, ())
        if not len(recorded) or (place is not None and place >= len(recorded)):
            where = "" if place is None else f" number {place}"
            raise GottaError(f"draws has no '{name}'{where}. Record every draw, or leave draws out.")
        return torch.as_tensor(recorded if place is None else recorded[place]).clone()

    def make_optimizer(self, parameters: list[nn.Parameter], weight_decay: float = 0.0) -> torch.optim.Optimizer:
        return make_optimizer(self.hyper.optimizer, parameters, self.hyper.lr, weight_decay)

    def _read(self, output: Any) -> Tensor:
        self.output_type = self.calls.find(output).dtype
        return self.calls.read(output)

    def _prediction_mode(self, net: nn.Module) -> Lent:
        return self.statistics.predicting(net, self.moving)

    def _training_mode(self, net: nn.Module, moving: bool = True) -> Lent:
        return self.statistics.training(net, moving)
