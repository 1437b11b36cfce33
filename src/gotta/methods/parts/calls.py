"""How a network is called and what it gives back: which of its inputs is the sample, and which output the logits."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import is_dataclass, replace
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor, nn

from gotta.errors import GottaError
from gotta.state import temporarily

Path = tuple[Any, ...]  # keys, positions and names, from the outside inwards
LABELS = "labels"  # what Hugging Face calls the true labels: they make a loss, and no logits
OUTPUT = (
    "Expected a tensor [B, C], a tuple that holds one, or `logits` in a dict or an object. Otherwise say where they "
    "are: output='scores', output=1, or a function of the output."
)


class Calls:
    """Calls a network with a batch of samples, in the way in which the caller has called the adapted model.

    `sample` names the input that is the sample; without it, it is the first tensor [B, ...]. `output` says where the
    logits are: a key, attribute or position, or a function of the output; then the logits are all that comes back.
    """

    def __init__(self, sample: str | None = None, output: Any = None) -> None:
        if sample is not None and not isinstance(sample, str):
            raise GottaError(f"sample must be the name of an input, such as 'pixel_values' (got {sample!r}).")
        if not (output is None or callable(output) or (isinstance(output, str | int) and output is not True)):
            raise GottaError(f"output must be a name, a position or a function of the output (got {output!r}).")
        self.sample, self.output = sample, output
        self._usual: tuple[Any, Path] | None = None  # the last call, without what belonged to its samples
        # Of the call that goes on, if there is one:
        self._batch: Tensor | None = None
        self._call: tuple[Any, Path] = ((), {}), ()
        self._beside: list[str] = []  # inputs that have a row for each sample
        self._given: list[Any] = []

    @contextmanager
    def taking(self, net: nn.Module, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> Iterator[Tensor]:
        """The samples of a call. Inside, forwards of as many samples are called with its other inputs, too."""
        whole = (inputs, dict(named))
        path = self._find_sample(net, *whole)
        x = look_up(whole, path)
        whole = map_tensors(whole, lambda value: value.clone() if value.is_inference() else value.detach())
        batch, call, beside = look_up(whole, path).as_subclass(Tensor), put(whole, path, None), []
        if x.ndim and (len(inputs) > 1 or named or path != (0, 0)):
            (left, by_name), names = call, parameters_of(net)
            others = tensors_of([dict(zip_longest(names[: len(left)], left)), by_name])
            beside = [name for name, value in others if value.ndim and len(value) == len(x)]
        if not beside:
            self._usual = call, path
        with temporarily(self, _batch=batch, _call=(call, path), _beside=beside, _given=[]):
            yield batch

    def of_rows(self, rows: list[int], part: Tensor) -> AbstractContextManager[None]:
        """Inside, the call is of some of its samples only, `part`, and so are the inputs beside them."""
        call, path = self._call
        if self._beside:
            total, places = len(self._batch), torch.tensor(rows)  # type: ignore[arg-type]
            call = map_tensors(call, lambda value: value[places] if value.ndim and len(value) == total else value)
        return temporarily(self, _batch=part, _call=(call, path), _given=[])

    @property
    def batch_like(self) -> list[str]:
        """The inputs beside the sample that a memory does not hold."""
        return [name for name in self._beside if name != LABELS]

    @property
    def alone(self) -> bool:
        """Whether the network is given the sample and nothing else."""
        (inputs, named), path = self._now()
        return path == (0, 0) and len(inputs) == 1 and not named

    def arrange(self, x: Tensor) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The inputs of a network whose samples are x."""
        call, path = self._now()
        batch = self._batch
        if batch is not None and self._beside:
            if len(x) != len(batch) and self.batch_like:
                raise GottaError(
                    f"this method looks at {len(x)} samples beside the batch of {len(batch)}, for which the network "
                    f"lacks {', '.join(self.batch_like)}. Leave out adapt_every, or use a method such as 'deskew'."
                )
            if not self._is_batch(x):
                call = drop_labels(call)
        inputs, named = put(call, path, x)
        return inputs, named

    def __call__(self, net: nn.Module, x: Tensor) -> Any:
        """One forward: all that the network gives."""
        inputs, named = self.arrange(x)
        return self.keep(x, net(*inputs, **named))

    def keep(self, x: Tensor, output: Any) -> Any:
        """Remember what the network gave of the samples of this call."""
        if not isinstance(output, Tensor) and self._is_batch(x):
            self._given.append(map_tensors(output, Tensor.detach))
        return output

    def answer(self, logits: Tensor, raw: Tensor) -> Any:
        """What the network gave, with these logits in the place of its own, which were `raw` or became that."""
        if not self._given or callable(self.output):
            return logits
        same = [output for output in self._given if self.find(output).data_ptr() == raw.data_ptr()]
        output = (same or self._given)[0]
        return put(output, self._where(output), logits)

    def find(self, output: Any) -> Tensor:
        """The logits in a network's output."""
        found = self.output(output) if callable(self.output) else look_up(output, self._where(output))
        if not isinstance(found, Tensor):
            where = "" if self.output is None else f" at {self.output!r}"
            raise GottaError(f"the model gives back {type(output).__name__} without logits{where}. {OUTPUT}")
        return found

    def read(self, output: Any) -> Tensor:
        """The logits, where half precision becomes float32: entropies of confident rows would vanish in eight bits."""
        found = self.find(output)
        return found.float() if found.dtype in (torch.float16, torch.bfloat16) else found

    def _where(self, output: Any) -> Path:
        fields = getattr(output, "_fields", ())  # of a named tuple
        named = "logits" if self.output is None else self.output
        if named in fields:
            return (fields.index(named),)
        if self.output is None and isinstance(output, Tensor):
            return ()
        if self.output is None and isinstance(output, tuple | list):
            tensors = [(at, part) for at, part in enumerate(output) if isinstance(part, Tensor)]
            # A loss may come first.
            return (next((at for at, part in tensors if part.ndim == 2), tensors[0][0] if tensors else 0),)
        return (named,)

    def _now(self) -> tuple[Any, Path]:
        if self._batch is not None:
            return self._call
        if self._usual is not None:
            return self._usual
        return (((None,), {}), (0, 0)) if self.sample is None else (((), {self.sample: None}), (1, self.sample))

    def _is_batch(self, x: Tensor) -> bool:
        batch = self._batch
        return batch is not None and x.shape == batch.shape and x.data_ptr() == batch.data_ptr()

    def _find_sample(self, net: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> Path:
        """Where the sample is among the inputs: positions first, then names in the order of the network's own."""
        if len(inputs) == 1 and isinstance(inputs[0], Tensor) and not named and self.sample is None:
            return (0, 0)
        order = parameters_of(net)
        ranked = sorted(named, key=lambda name: order.index(name) if name in order else len(order))
        listed: list[tuple[str, Any, Path]] = [
            *((order[at] if at < len(order) else "", value, (0, at)) for at, value in enumerate(inputs)),
            *((name, named[name], (1, name)) for name in ranked),
        ]
        for _, value, path in listed:  # which grows meanwhile by what is inside
            listed += [(key if isinstance(key, str) else "", part, (*path, key)) for key, part in parts_of(value)]
        tensors = [(name, value, path) for name, value, path in listed if isinstance(value, Tensor)]
        if self.sample is not None:
            tensors = [found for found in tensors if found[0] == self.sample]
        elif len(tensors) > 1:
            tensors = [found for found in tensors if found[0] != LABELS and found[1].ndim > 1] or tensors
        if not tensors:
            what = "a tensor" if self.sample is None else f"a tensor {self.sample!r}, which `sample` names,"
            got = ", ".join([type(value).__name__ for value in inputs] + list(named)) or "nothing"
            raise GottaError(f"expected {what} among the inputs of the network, the samples [B, ...] (got {got}).")
        return tensors[0][2]


def parameters_of(net: nn.Module) -> list[str]:
    """The names of a network's inputs, in its own order."""
    try:
        return list(inspect.signature(unwrap(net).forward).parameters)
    except (TypeError, ValueError):
        return []


class CalledAsNetwork:
    """A `forward` whose signature is the network's: a Trainer of Hugging Face drops what it does not find there."""

    def __init__(self, own: Callable[..., Any], adapted: Any = None) -> None:
        self.own, self.adapted = own, adapted

    def __get__(self, adapted: Any, owner: Any = None) -> Callable[..., Any]:
        return self.own if adapted is None else CalledAsNetwork(self.own, adapted)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        return self.own(self.adapted, *inputs, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(unwrap(self.adapted.model).forward)


def unwrap(net: nn.Module) -> nn.Module:
    """The network that was compiled, or made data-parallel."""
    parallel = (nn.DataParallel, nn.parallel.DistributedDataParallel)
    while hasattr(net, "_orig_mod") or isinstance(net, parallel):
        net = net._orig_mod if hasattr(net, "_orig_mod") else net.module  # type: ignore[assignment]
    return net


def check_own(net: nn.Module, **own: Any) -> None:
    """Refuse arguments of gotta's own that could as well be meant for the network."""
    given = [name for name, value in own.items() if value is not None]
    for name in {*given}.intersection(parameters_of(net) if given else ()):
        way_out = "Give the network's by position, or wrap the network in a module that calls it otherwise."
        raise GottaError(f"{name!r} is an argument of gotta's own, and the network takes one of that name. {way_out}")


def look_up(structure: Any, path: Path) -> Any:
    """What is at this place; None if there is no such place."""
    for step in path:
        inside = isinstance(structure, Mapping | tuple | list)
        try:
            structure = structure[step] if inside else getattr(structure, step)
        except (LookupError, AttributeError, TypeError):
            return None
    return structure


def put(structure: Any, path: Path, value: Any) -> Any:
    """A copy that has another value at this place."""
    if not path:
        return value
    step, *rest = path
    value = put(look_up(structure, (step,)), tuple(rest), value)
    if isinstance(structure, tuple | list):
        return with_parts(structure, {step % len(structure): value})
    if isinstance(structure, Mapping):
        return with_parts(structure, {step: value})
    if is_dataclass(structure) and not isinstance(structure, type):
        return replace(structure, **{step: value})
    changed = copy(structure)
    setattr(changed, step, value)
    return changed


def parts_of(structure: Any) -> Iterable[tuple[Any, Any]]:
    """What is in a dict, list or tuple, each by its key or position; of anything else nothing."""
    if isinstance(structure, Mapping):
        return structure.items()
    return enumerate(structure) if isinstance(structure, tuple | list) else ()


def with_parts(structure: Any, parts: Mapping[Any, Any]) -> Any:
    """A copy of a dict, list, tuple or named tuple with these parts in the place of its own."""
    if isinstance(structure, Mapping):
        changed: Any = copy(structure)
        for key, part in parts.items():  # the outputs of Hugging Face have no `update`
            changed[key] = part
        return changed
    values = [parts.get(at, part) for at, part in enumerate(structure)]
    return type(structure)(*values) if hasattr(structure, "_fields") else type(structure)(values)


def map_tensors(structure: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """A copy whose tensors are changed, through dicts, lists and tuples. What is none of these stays."""
    if isinstance(structure, Tensor):
        return change(structure)
    inside = [(key, part) for key, part in parts_of(structure) if isinstance(part, Tensor | tuple | list | Mapping)]
    return with_parts(structure, {key: map_tensors(part, change) for key, part in inside}) if inside else structure


def tensors_of(structure: Any, name: str = "another tensor") -> Iterator[tuple[str, Tensor]]:
    """All tensors inside, each with its innermost name."""
    if isinstance(structure, Tensor):
        yield name, structure
    for key, part in parts_of(structure):
        yield from tensors_of(part, key if isinstance(key, str) else name)


def drop_labels(structure: Any) -> Any:
    """Without what is called `labels`, which belongs to the samples of one batch."""
    if isinstance(structure, tuple):
        return with_parts(structure, {at: drop_labels(part) for at, part in enumerate(structure)})
    if isinstance(structure, Mapping) and LABELS in structure:
        changed = copy(structure)
        del changed[LABELS]  # type: ignore[attr-defined]
        return changed
    return structure


def join_outputs(parts: Sequence[Any], sizes: Sequence[int], place: Tensor) -> Any:
    """One output of those of several pieces of a batch: rows in the order of `place`, numbers as their average."""
    first = parts[0]
    if isinstance(first, Tensor) and first.ndim:
        by_row = all(len(part) == size for part, size in zip(parts, sizes, strict=True))
        return torch.cat(list(parts))[place.to(first.device)] if by_row else first
    if isinstance(first, Tensor):
        return sum(part * size for part, size in zip(parts, sizes, strict=True)) / sum(sizes)
    if isinstance(first, tuple | list):
        joined = [join_outputs(same, sizes, place) for same in zip(*parts, strict=True)]
        return with_parts(first, dict(enumerate(joined)))
    if not isinstance(first, Mapping) and (callable(first) or not hasattr(first, "__dict__")):
        return first  # a number, a text, a type
    names = list(first) if isinstance(first, Mapping) else list(vars(first))
    for name in names:
        first = put(first, (name,), join_outputs([look_up(part, (name,)) for part in parts], sizes, place))
    return first
