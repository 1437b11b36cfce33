"""Building adapted models: the one place where a network, a method, a memory and a guard are joined."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gotta.core import saved
from gotta.core.adapted import Adapted
from gotta.core.background import QUEUE, Background
from gotta.core.guard import Guard
from gotta.core.inputs import check_alone, check_batch, check_method, check_network, copy_network, device_of
from gotta.core.pairing import check_settings_used, choose_statistics
from gotta.core.regime import Samples, Score
from gotta.core.replicas import Replica, SyncedBatchNorm, check_sync
from gotta.core.shadow import Shadow
from gotta.core.streams import Limits
from gotta.errors import GottaError, check_known, one_error
from gotta.limits import require
from gotta.memory import Memory
from gotta.memory.policy import Policy, check_owner
from gotta.methods import methods
from gotta.methods.parts.calls import Calls
from gotta.priors import Prior
from gotta.priors import priors as known_priors
from gotta.statistics import Statistics
from gotta.statistics import statistics as known_statistics
from gotta.statistics.normalization import replace_batch_norms
from gotta.types import Outcome

# Arguments that a saved state does not repeat.
OF_THIS_CALL = ("model", "on_step", "clean", "inplace", "aside", "hyper")
EMBEDDINGS = ("probs", "logits", "features")  # what a memory can compare samples by


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
    calls: Calls | None = None,
    shadow: bool = False,
    background: bool | int = False,
    sync: bool = False,
    **hyper: Any,
) -> Adapted:
    """Make the given network adapt. Every choice is made: `adapt` makes those that depend on one another."""
    check_known("embedding", embedding, EMBEDDINGS)
    if memory.policy.needs_probs and embedding != "probs":
        raise GottaError(f"memory {memory.policy!r} reads confidence from probabilities. Use embedding='probs'.")
    require("adapt_every", adapt_every, Samples | None)
    require("score", score, Score | None)
    if type(background) not in (bool, int) or background < 0:
        raise GottaError(f"background must be True, or how many batches may wait (got {background!r}).")
    if background:
        check_alone("background", guard=guard, shadow=shadow)
    source = None
    if guard is not None or shadow:  # from a copy that is made before the method exchanges layers
        source = methods.build("source", model=deepcopy(model), embed=embedding)
    built = methods.build(method, model=model, statistics=statistics, embed=embedding, seed=seed, **hyper)
    built.calls = calls or built.calls
    watcher = beside = None
    if source is not None:
        source.cost, source.calls = built.cost, built.calls  # one account, in which the guard has a phase of its own
        watcher, beside = guard and Guard(guard, source), Shadow(source) if shadow else None
    joined = (built, memory, adapt_every, score or built.native_score, watcher or None, beside)
    adapted = (Replica if sync else Adapted)(*joined)
    quick = built.statistics.keeps_moments or not (adapted.observes or built.moves_statistics)  # prior and levels are
    if not background or quick:
        return adapted
    return Background(*joined, queue=QUEUE if background is True else background)


@torch.inference_mode(False)  # parameters copied in inference mode could never be trained
@one_error("no model can be built of this")
def adapt(
    model: nn.Module,
    method: str = "deskew",
    memory: str | Policy | Memory = "none",
    capacity: int | None = None,
    num_classes: int | None = None,
    *,
    pairing: str = "safe",
    statistics: str | Statistics | None = None,
    fed_by: str | None = None,
    rate: float | None = None,
    prior: str | Prior | None = None,
    adapt_every: int | None = None,
    score: str | None = None,
    embedding: str = "probs",
    seed: int = 0,
    guard: str | None = None,
    shadow: bool = False,
    background: bool | int = False,
    sync: bool = False,
    on_step: Callable[[Outcome], object] | None = None,
    clean: Tensor | None = None,
    inplace: bool = False,
    head: Any = None,
    scale: float | None = None,
    sample: str | None = None,
    output: Any = None,
    streams: int = 1000,
    idle: float | None = None,
    aside: str | Path | None = None,
    **hyper: Any,
) -> Adapted:
    """Make a model adapt to the stream it predicts: `adapt(net)(x)`, or with a method and a memory of your choice.

    Args:
        model: A network that gives logits, or features if there is a `head`. A copy of it is adapted.
        method: How it adapts: a name (`gotta ls methods`), or `module:Class` of your own.
        memory: Which samples it adapts on: a name (`gotta ls memories`), a policy with its arguments such as
            `gotta.memory.FPS(epsilon=0.01)`, or a finished `gotta.Memory`. `"none"`: those of the batch.
        capacity: How many samples the memory holds.
        num_classes: How many classes there are. Without it the first batch tells.
        pairing: Which statistics go with a memory: `"safe"`, where no prediction depends on the mix of classes in its
            batch; `"paper"`, the method's own; `"memory"`, running ones that the memory moves.
        statistics: What predictions are normalised with, instead of what the pairing has: a name
            (`gotta ls statistics`), or an object such as `gotta.statistics.Running(rate=0.1)`.
        fed_by: What moves running statistics: `"batch"` or `"memory"`.
        rate: How far they move with one forward.
        prior: What the order of samples says of their classes: a name (`gotta ls priors`), or an object such as
            `gotta.priors.Patient()`. The method's own if left out.
        adapt_every: Samples between two adaptations. With a memory its capacity, else every batch.
        score: Whether a batch is predicted `"before"` or `"after"` it is adapted to. The method's own if left out.
        embedding: What the memory compares samples by: `"probs"`, `"logits"` or `"features"`.
        seed: Of every random draw.
        guard: What to do if the model looks worse than its source: `"warn"`, `"freeze"` or `"rollback"`.
        shadow: Answer as the source, with the adapted model beside it, until `promote()`; `report()` compares them.
        background: Predict at once with the last finished state, and adapt in a thread behind. A number says how many
            batches may wait for it; those beyond are predicted and not learned from.
        sync: Adapt as one with the other processes of a torch.distributed group, each on a part of every batch: moments
            of BatchNorm and gradients are averaged over them. For `norm` and `tent`.
        on_step: Called after each step with its outcome.
        clean: Some samples that the network was made for, 32 or more, without labels: class and gated statistics then
            know how far off the network is at home, and look for a change of domain beyond that only.
        inplace: Adapt the given network itself and not a copy.
        head: For a network that gives features: class embeddings [C, D], whose inner products with them are the logits.
        scale: With a head: the logits are so many times the cosine.
        sample: The name of the input that is the sample, such as `"pixel_values"`. Without it, it is the first tensor.
        output: Where the logits are in what the network gives, if it is neither a tensor nor has `logits`: a key, an
            attribute, a position; or a function of the output that gives them, and then they are all that comes back.
        streams: How many streams are held at once, where calls name them: `model(x, stream=camera)`. Of more, the least
            recently used one is dropped.
        idle: Seconds without a sample after which a stream is dropped.
        aside: A folder for streams that would be dropped: each goes on from there when it comes back.
        **hyper: The method's hyper-parameters (`gotta show tent`), `preset`, `quirks`, `reset_every`; with a prior
            `labels` (what memory and statistics go by: `"filtered"` or `"raw"`) and `order_in_batch` (`"time"` or
            `"none"`).

    >>> import gotta, torch
    >>> net = torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.Flatten(), torch.nn.Linear(48, 10))
    >>> memory, prior = gotta.memory.FPS(epsilon=0.01), gotta.priors.Patient()
    >>> model = gotta.adapt(net, "rotta", memory, capacity=64, prior=prior)
    >>> model(torch.rand(8, 3, 4, 4)).shape
    torch.Size([8, 10])
    """
    # All arguments: first of all, as long as nothing else has a name.
    given = {name: value for name, value in {**locals(), **hyper}.items() if name not in OF_THIS_CALL}
    calls, limits = Calls(sample, output), Limits(streams, idle, Path(aside) if isinstance(aside, str) else aside)
    check_network(model)
    source_hash = saved.fingerprint(model)
    held = memory if isinstance(memory, Memory) else Memory(memory, capacity, num_classes, seed)
    cls = methods.take(method)
    for part, known in ((statistics, known_statistics), (prior, known_priors)):
        if isinstance(part, str):  # whoever calls this may name classes of their own
            known.take(part)
    check_owner(hyper, method, cls.arguments(), memory if isinstance(memory, str) else None)
    preset = hyper.get("preset", "official")
    chosen = choose_statistics(cls, held.lasts, pairing, preset, statistics, fed_by, rate)
    check_settings_used(cls, method, type(held.policy).__name__.lower() if held.lasts else None, chosen, given)
    network = model if inplace else copy_network(model)
    if sync:
        check_sync(method, cls, chosen, source_hash, device_of(model))
        check_alone("sync", memory=held.lasts, guard=guard, shadow=shadow, background=background)
        replace_batch_norms(network, SyncedBatchNorm)
    if head is not None:
        from gotta.models.embedding import Embedding  # late: it reads the whole room of networks

        network = Embedding(network, head, scale)
    if held.lasts and adapt_every is None and not chosen.keeps_moments:
        adapt_every = held.capacity
    choices = {"shadow": shadow, "background": background, "sync": sync, "prior": prior, **hyper}
    adapted = build(network, method, held, chosen, adapt_every, score, embedding, seed, guard, calls, **choices)
    check_method(adapted.method)
    if clean is not None:
        check_batch(clean, None, False)
        if not chosen.watches:
            raise GottaError(f"clean samples are for class and gated statistics, and these are {chosen.name!r}.")
        adapted.method.know_home(clean)
    adapted.on_step = on_step
    adapted.limits = limits
    adapted.recipe, adapted.source_hash = {**given, "prior": prior or cls.native_prior}, source_hash
    return adapted


@torch.inference_mode(False)
def load(path: str | Path, model: nn.Module, *, inplace: bool = False, **again: Any) -> Adapted:
    """Go on where `save` left off, with the network that was given to `adapt`, on whatever device it is now.

    `again` gives the arguments of `adapt` that a state cannot hold: a function, a finished memory, `module:Class`, a
    file to store samples in. Loading runs no code that the state names.

    Args:
        path: The folder that `save` wrote.
        model: The network that was adapted, as it was before.
        inplace: Adapt this network itself and not a copy.

    >>> import gotta, tempfile, torch
    >>> net = torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.Flatten(), torch.nn.Linear(48, 10))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gotta.adapt(net, "tent").save(folder + "/state")
    ...     model = gotta.load(folder + "/state", net)
    >>> model(torch.rand(8, 3, 4, 4)).shape
    torch.Size([8, 10])
    """
    found = record, _ = saved.read(Path(path), saved.bytes_of(model), saved.MOST_ROWS)
    arguments = saved.to_recipe(path, record, again)
    saved.check_source(path, record, saved.fingerprint(model))
    with one_error(f"no model can be built from {path}"):
        adapted = adapt(model, inplace=inplace, **arguments)
    adapted.load(path, found)  # and not what another process has saved there meanwhile
    return adapted
