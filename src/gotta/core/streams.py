"""Many streams, one network: what belongs to a stream is exchanged as a whole, and the network stays."""

import logging
import shutil
from collections.abc import Iterable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import torch
from torch import Tensor

from gotta.core.saved import RECORD
from gotta.cost import Tally
from gotta.errors import GottaError
from gotta.limits import Count, Positive, check_fields
from gotta.memory import Memory
from gotta.methods.method import Ahead
from gotta.methods.parts.calls import join_outputs, tensors_of
from gotta.priors import Prior
from gotta.priors.prior import Starts
from gotta.safe_text import one_line
from gotta.state import set_values
from gotta.statistics import Statistics
from gotta.statistics.each_sample import NotSamples, normalised_each, normalises_each
from gotta.statistics.levels.look import Sight
from gotta.statistics.normalization import tracked_norms
from gotta.types import Outcome, Prediction

if TYPE_CHECKING:
    from gotta.core.adapted import Adapted
    from gotta.core.between_steps import BetweenSteps
    from gotta.core.undo import Undo

LOG = logging.getLogger(__name__)
Key = str | int
Batch = tuple[Tensor, Starts | None, list[float]]  # samples, which begin something new, the largest value of each
FOLDER = "stream-{}"
GONE = ".gone-"


@dataclass(frozen=True)
class Limits:
    """How many streams are held at once, and for how many seconds without a sample; None: for ever.

    The others are written into the folder `aside`, or dropped where there is none.
    """

    streams: Count = 1000
    idle: Positive | None = None
    aside: Path | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.aside is not None and not isinstance(self.aside, Path):
            raise GottaError(f"aside must be a folder for streams that make room, or None (got {self.aside!r:.80}).")


@dataclass(frozen=True)
class Held:
    """What of an adapted model belongs to one stream.

    Weights, optimizer and what a method remembers of them belong to all. Where nothing is trained, what the method
    remembers belongs to the stream.
    """

    statistics: Statistics
    prior: Prior
    memory: Memory
    counters: dict[str, Any]
    remembered: dict[str, Any]
    generators: dict[str, torch.Generator]
    buffers: list[Tensor]  # of the networks, where they move
    used: float = field(default_factory=lambda: monotonic())

    @property
    def num_bytes(self) -> int:
        """Of its tensors."""
        return sum(tensor.nbytes for _, tensor in tensors_of(state_of_stream(self)))


def hold(adapted: "BetweenSteps") -> Held:
    """What is in the model now. Whoever changes it changes this too, until something else is put there."""
    method, mine = adapted.method, not adapted.shares_weights
    return Held(
        method.statistics,
        method.prior,
        adapted.memory,
        {name: getattr(adapted, name) for name in _counted(adapted)},
        {name: getattr(method, name) for name in method.remembers} if mine else {},
        method.generators if mine else {},
        [held[name] for held, name in adapted.changeable.moving],  # type: ignore[misc]
    )


def put(adapted: "BetweenSteps", held: Held) -> None:
    method = adapted.method
    method.statistics, method.prior, adapted.memory = held.statistics, held.prior, held.memory
    method.peek = held.memory.peek if held.memory.lasts else None
    method.generators = held.generators or method.generators
    set_values(adapted, held.counters)
    set_values(method, held.remembered)
    for (buffers, name), value in zip(adapted.changeable.moving, held.buffers, strict=True):
        buffers[name] = value


def begin(adapted: "BetweenSteps") -> Held:
    """A stream without samples yet: as `reset` would leave the model."""
    method, start, mine = adapted.method, adapted.method.reset_state, not adapted.shares_weights
    statistics, prior = copy(method.statistics), deepcopy(method.prior)
    load_own(statistics, start["statistics"])
    prior.load_state_dict(start["prior"])
    fresh = adapted.counters_at_start()
    return Held(
        statistics,
        prior,
        adapted.memory.begin_anew(),
        {name: fresh[name] for name in _counted(adapted)},
        deepcopy(start["remembers"]) if mine else {},
        {name: torch.Generator().set_state(state.cpu()) for name, state in start["generators"].items()} if mine else {},
        _source_buffers(adapted),
    )


def _counted(adapted: "BetweenSteps") -> Iterable[str]:
    """Adaptations of shared weights are counted together: so many of them are a reset."""
    return [name for name in adapted.counters_at_start() if name != "adaptations" or not adapted.shares_weights]


def _source_buffers(adapted: "BetweenSteps") -> list[Tensor]:
    method = adapted.method
    saved = {
        id(buffer): method.reset_state[net_name].get(name)
        for net_name, net in method.networks().items()
        for name, buffer in net.named_buffers(remove_duplicate=False)
    }
    # There is none where it is part of no state dict.
    found: list[Any] = [(held[name], saved[id(held[name])]) for held, name in adapted.changeable.moving]
    return [now.clone() if source is None else source.to(now, copy=True) for now, source in found]


def list_values(values: Any, times: int = 1) -> list[Any]:
    """Those in a list, an array or a tensor; a single one, so many times."""
    values = values.tolist() if hasattr(values, "tolist") else values
    single = isinstance(values, str | bytes | bytearray) or not isinstance(values, Sequence)
    return [values] * times if single else list(values)


def check_key(key: Any, kind: str) -> Key:
    """The name of a stream or a sample, as Python's own type."""
    found = key.item() if isinstance(key, np.generic | Tensor) and key.ndim == 0 else key
    if isinstance(found, bool) or not isinstance(found, str | int) or (kind == "stream" and found == ""):
        got = f"{type(found).__name__}: {one_line(repr(found))[:80]}"
        raise GottaError(f"a {kind} is named by a whole number or a text that is not empty (got {got}).")
    return str(found) if isinstance(found, str) else found


def rows_of(adapted: "BetweenSteps", stream: Any, samples: int) -> dict[Key, list[int]]:
    """The samples of each stream, in order of first appearance. Raises where these cannot be in one batch."""
    keys, limits = list_values(stream, samples), adapted.limits
    if len(keys) != samples:
        raise GottaError(f"stream names {len(keys)} streams for {samples} samples. Give one for each, or one for all.")
    rows: dict[Key, list[int]] = {}
    for row, key in enumerate(keys):
        rows.setdefault(check_key(key, "stream"), []).append(row)
    lone = "guard" if adapted.guard is not None else "storage" if adapted.memory.in_file else adapted.lone
    if lone:
        raise GottaError(f"a model with {lone}=... serves one stream. Leave out stream=, or build a model for each.")
    if len(rows) > limits.streams:
        raise GottaError(
            f"a batch of {len(rows)} streams, and at most {limits.streams} are held. Split it, or raise streams=."
        )
    alone = [key for key, own in rows.items() if len(own) == 1]
    if alone and adapted.method.needs_batch:
        raise GottaError(f"stream {alone[0]!r} has one sample in this batch. Give 2 of each, or statistics='running'.")
    return rows


def take_each(adapted: "Adapted", batch: Batch, rows: Mapping[Key, list[int]], undo: "Undo") -> Outcome:
    """A step of each stream in the batch, one after the other, after one forward for all where that will do."""
    (x, starts, largest), method, order = batch, adapted.method, [row for own in rows.values() for row in own]
    parts = torch.split(pick(x, order), [len(own) for own in rows.values()])
    streams = make_room(adapted.held_streams, adapted.limits, rows)
    adapted.let_go({key: state for key, state in adapted.held_streams.items() if key not in streams})
    home = undo.held = hold(adapted)
    held = [streams.pop(key) if key in streams else adapted.begin_stream(key) for key in rows]
    with method.cost.phase("predict"):
        ahead = predict_ahead(adapted, x, parts, held, order)
    outcomes: dict[Key, Outcome] = {}
    for (key, own), part, state, foreseen in zip(rows.items(), parts, held, ahead, strict=True):
        put(adapted, state)
        inner = undo.begin_part(state)
        method.ahead = foreseen
        largest_of, begins = [largest[row] for row in own], None if starts is None else starts[own]
        with method.calls.of_rows(own, part):
            outcome = adapted.take(part, begins, largest_of, inner)
            outcomes[key] = replace(outcome, output=adapted.answer(outcome.prediction))
        method.ahead = None
        streams[key] = hold(adapted)
    put(adapted, home)
    adapted.held_streams = streams
    whole = join(outcomes, order)
    return whole if ahead[0] is None else replace(whole, output=adapted.answer(whole.prediction))


def make_room(streams: Mapping[Key, Held], limits: Limits, now: Mapping[Key, Any]) -> dict[Key, Held]:
    """The streams that stay when those of `now` are to be held: the others by their last use."""
    since = -float("inf") if limits.idle is None else monotonic() - limits.idle
    staying = {key: held for key, held in streams.items() if key in now or held.used >= since}
    going = len(staying.keys() | now.keys()) - limits.streams
    for key in [key for key in staying if key not in now][: max(0, going)]:
        del staying[key]
    if len(staying) < len(streams):
        LOG.info("let go of streams: %d of %d stay", len(staying), len(streams))
    return staying


def pick(value: Tensor, order: Sequence[int], dim: int = 0) -> Tensor:
    """The rows of x in another order; x itself if it is their own."""
    return value if order == sorted(order) else value.index_select(dim, torch.tensor(order, device=value.device))


@torch.no_grad()
def predict_ahead(
    adapted: "BetweenSteps", x: Tensor, parts: Sequence[Tensor], held: Sequence[Held], order: Sequence[int]
) -> Sequence[Ahead | None]:
    """One forward of the samples of all streams, x, each normalised as its stream does. `parts` are x[order] in pieces.

    None for each stream if the network or the method does not allow it; each then has a forward of its own.
    """
    method, alone = adapted.method, [None] * len(parts)
    net = method.predictor
    together = adapted.one_forward and method.foreseeable and not adapted.shares_weights and normalises_each(net)
    if len(parts) == 1 or not together:
        return alone
    levels = []
    for stream in held:
        if adapted.changeable.moving:
            put(adapted, stream)
        level = stream.statistics.levels_for(net)
        if level is None:
            return alone
        levels.append(level)
    mean, var = (torch.stack(part) for part in zip(*levels, strict=True))
    sizes, sight, normalised = [len(part) for part in parts], Sight(mean, var), len(tracked_norms(net))
    of_sample = torch.arange(len(parts)).repeat_interleave(torch.tensor(sizes))[torch.tensor(order).argsort()]
    try:
        with normalised_each(
            net, mean, var, of_sample.to(mean.device), sight.note if method.statistics.watches else None
        ):
            logits, features = method.forward(x)
    except NotSamples:
        adapted.one_forward = False
        return alone
    watches = method.statistics.watches and normalised > 0
    called = not watches or len(sight.moments) == normalised
    if len(logits) != len(x) or not called:
        adapted.one_forward = called
        return alone
    answers = torch.split(pick(logits, order), sizes)
    with_features = alone if features is None else torch.split(pick(features, order), sizes)
    seen: Sequence[Any] = alone
    if watches:
        seen = method.statistics.look_ahead(torch.cat(list(parts)), pick(sight.rows({}, len(x)), order, 1), sizes)
    foreseen = method.prior.foresee([stream.prior for stream in held], answers)
    return [Ahead(*one) for one in zip(parts, answers, with_features, seen, foreseen, strict=True)]


def join(outcomes: Mapping[Key, Outcome], order: Sequence[int]) -> Outcome:
    """What a batch of several streams gave, its samples in their order."""
    parts = list(outcomes.values())
    if len(parts) == 1:
        return replace(parts[0], streams={key: part.diagnostics for key, part in outcomes.items()})
    place = torch.tensor(order).argsort()
    cost: dict[str, Tally] = {}
    for part in parts:
        for phase, spent in part.cost.items():
            cost[phase] = cost.get(phase, Tally()).plus(Tally(**spent))
    undone = max((part.diagnostics.get("undone", 0.0) for part in parts), default=0.0)
    return Outcome(
        _join_predictions([part.prediction for part in parts], place),
        torch.cat([part.slots for part in parts])[place],
        sum(part.adaptations for part in parts),
        {phase: tally._asdict() for phase, tally in cost.items()},
        {"undone": undone} if undone else {},
        join_outputs([part.output for part in parts], [len(part.slots) for part in parts], place),
        {key: part.diagnostics for key, part in outcomes.items()},
    )


def _join_predictions(parts: Sequence[Prediction], place: Tensor) -> Prediction:
    logits = torch.cat([part.logits for part in parts])
    place = place.to(logits.device)
    features = [part.features for part in parts if part.features is not None]
    befores = [part.before_prior for part in parts if part.before_prior is not None]
    return Prediction(
        logits[place],
        torch.cat(features)[place] if len(features) == len(parts) else None,
        parts[0].embed if len(features) in (0, len(parts)) else "probs",
        _join_predictions(befores, place) if len(befores) == len(parts) else None,
    )


def load_own(statistics: Statistics, state: Mapping[str, Any]) -> None:
    """Put a stream's own part of the state there; what all streams share stays as it is."""
    now = statistics.state_dict()
    statistics.load_state_dict({**state, **{name: now[name] for name in statistics.shared}})


def state_of_stream(held: Held) -> dict[str, Any]:
    """What `read_stream` goes on from. What all streams share is not in it: the model has that."""
    memory, shared = held.memory, held.statistics.shared
    return {
        "counters": dict(held.counters),
        "statistics": {name: part for name, part in held.statistics.state_dict().items() if name not in shared},
        "prior": held.prior.state_dict(),
        "memory": memory.state_dict() if memory.knows_classes else None,
        "remembered": dict(held.remembered),
        "generators": {name: generator.get_state() for name, generator in held.generators.items()},
        "buffers": list(held.buffers),
    }


def is_aside(model: "BetweenSteps", key: Key) -> bool:
    """Whether a stream was put there, whole: a kill may leave a folder without its record."""
    return model.limits.aside is not None and (place(model, key) / RECORD).exists()


def drop_aside(model: "BetweenSteps", key: Key | None = None) -> bool:
    """Remove what was put aside of a stream, or of all. Whether there was anything."""
    folder = model.limits.aside
    if folder is None:
        return False
    found = folder.glob(FOLDER.format("*")) if key is None else [place(model, key)]
    there = [path for path in found if path.exists()]
    for path in there:  # renamed first, because an interrupt would leave half of a folder
        shutil.rmtree(path.rename(path.with_name(f"{GONE}{uuid4().hex}")))
    if key is None:
        for path in folder.glob(f"{GONE}*"):  # of calls that were cut off
            shutil.rmtree(path, ignore_errors=True)
        model.stale_aside = False
    return bool(there)


def place(model: "BetweenSteps", key: Key) -> Path:
    assert model.limits.aside is not None
    if model.stale_aside:  # a reset was cut off
        drop_aside(model)
    return model.limits.aside / FOLDER.format(sha256(repr(key).encode()).hexdigest()[:32])
