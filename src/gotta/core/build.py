"""Building adapted models: the one place where a network, a method, a memory and a guard are joined."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gotta.core import saved
from gotta.core.adapted import Adapted
from gotta.core.guard import Guard
from gotta.core.pairing import check_memory_used, check_settings_used, choose_statistics
from gotta.core.regime import Regime
from gotta.errors import GottaError, one_error
from gotta.memory import Memory
from gotta.memory.choice import MemoryChoice, check_owner
from gotta.methods import Statistics, methods
from gotta.models.embedding import Embedding


def build(
    model: nn.Module,
    method: str,
    memory: Memory,
    statistics: Statistics | None = None,
    adapt_every: int | None = None,
    score: str | None = None,
    embedding: str = "probs",
    seed: int = 0,
    guard: str | None = None,
    **hyper: Any,
) -> Adapted:
    """Make the given network adapt. Every choice is made: `adapt` makes those that depend on one another."""
    if memory.policy.needs_probs and embedding != "probs":
        raise GottaError(f"memory {memory.policy!r} reads confidence from probabilities. Use embedding='probs'.")
    Regime(adapt_every=adapt_every, score=score or "before")  # type: ignore[arg-type]  # complains before anything is done
    watcher = None
    if guard is not None:  # from a copy that is made before the method exchanges layers
        watcher = Guard(guard, methods.build("source", model=deepcopy(model), embed=embedding))
    built = methods.build(method, model=model, statistics=statistics, embed=embedding, seed=seed, **hyper)
    if watcher is not None:
        watcher.source.cost = built.cost  # one account, in which the guard has a phase of its own
    return Adapted(built, memory, adapt_every, score or built.native_score, watcher)


@torch.inference_mode(False)  # parameters copied in inference mode could never be trained
@one_error("no model can be built of this")
def adapt(
    model: nn.Module,
    method: str = "deskew",
    memory: str | MemoryChoice | Memory = "none",
    capacity: int | None = None,
    num_classes: int | None = None,
    *,
    pairing: str = "safe",
    statistics: str | None = None,
    fed_by: str | None = None,
    rate: float | None = None,
    adapt_every: int | None = None,
    score: str | None = None,
    embedding: str = "probs",
    seed: int = 0,
    guard: str | None = None,
    inplace: bool = False,
    policy: dict[str, Any] | None = None,
    head: Any = None,
    scale: float | None = None,
    **hyper: Any,
) -> Adapted:
    """Make a model adapt to the stream it predicts: `adapt(net)(x)`, or with a method and a memory of your choice.

    A copy of the model is adapted unless `inplace`. `hyper` are the method's hyper-parameters and the prior it is to
    have (`prior`, `labels`, `order_in_batch`). A memory with arguments of its own is
    `memory=gotta.Memory.spec("fps", epsilon=0.1)`, or the name with `policy={"epsilon": 0.1}`.
    A model that gives features only takes a frozen `head`, a matrix of class embeddings [C, D]: the logits are their
    inner products with the features, or with `scale` so many times the cosine.
    Without `num_classes` the first batch tells. `guard` is "warn", "freeze" or "rollback": what to do on collapse.
    """
    if head is None and scale is not None:
        raise GottaError(f"scale={scale} is for a head of class embeddings, and there is none. Give head=...")
    if isinstance(memory, MemoryChoice):
        memory, capacity, policy = memory.unfold(capacity, policy)
    source_hash = saved.fingerprint(model)
    given = {
        name: value for name, value in locals().items() if name not in ("model", "inplace", "hyper", "source_hash")
    }
    if isinstance(memory, str):
        own = {"seed": seed, **(policy or {})}
        late = num_classes is None
        memory = Memory.late(memory, capacity, **own) if late else Memory(memory, capacity, num_classes, **own)
    cls, preset = methods.take(method), hyper.get("preset", "official")
    check_owner(hyper, method, cls.arguments(), given["memory"] if isinstance(given["memory"], str) else None)
    if memory.lasts:
        check_memory_used(cls, method, type(memory.policy).__name__.lower())
    named = {"statistics": statistics, "fed_by": fed_by, "rate": rate}
    chosen = choose_statistics(cls, memory.lasts, pairing, preset, **named)
    check_settings_used(cls, method, memory.lasts, chosen, {**given, **hyper})
    network = model if inplace else deepcopy(model)
    adapted = build(
        network if head is None else Embedding(network, head, scale),
        method,
        memory,
        chosen,
        memory.capacity if memory.lasts and adapt_every is None else adapt_every,
        score,
        embedding,
        seed,
        guard,
        **hyper,
    )
    prior = {} if cls.native_prior == "none" else {"prior": hyper.get("prior") or cls.native_prior}
    adapted.recipe, adapted.source_hash = {**given, **hyper, **prior}, source_hash
    return adapted


@torch.inference_mode(False)
def load(path: str | Path, model: nn.Module, *, inplace: bool = False, **again: Any) -> Adapted:
    """Go on where `save` left off, with the network that was given to `adapt`, on whatever device it is now.

    `again` gives the arguments of `adapt` that a state cannot hold: a function, a finished memory, `module:Class`, a
    file to store samples in. Loading runs no code that the state names.
    """
    record, _ = saved.read(Path(path))
    arguments = saved.to_recipe(path, record, again)
    saved.check_source(path, record, saved.fingerprint(model))
    with one_error(f"no model can be built from {path}"):
        adapted = adapt(model, inplace=inplace, **arguments)
    adapted.load(path)
    return adapted
