"""What describes a stream: one frozen record, and the check that finds all of its mistakes at once."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from inspect import signature
from math import isfinite
from numbers import Integral, Real
from typing import Any, TypeVar

from gotta.errors import GottaError, messages, unknown
from gotta.registry import Functions
from gotta.streams.imbalance import HEADS
from gotta.streams.order import ORDERS, UNDERFLOW
from gotta.streams.schedule import AS_STORED, SCHEDULES, domain_order, name_list

CHOICES = ("first", "random", "anew")
NUMBERS = ("gamma", "beta", "run_length", "delta", "class_stay", "domain_stay", "class_imbalance", "domain_imbalance")
OF_MARKOV = ("class_stay", "domain_stay", "domain_imbalance", "again")
ONE_BY_ONE = ("continual", "one", "gradual", "recurring", "cdc", "walk")
OF_CDC = ("delta", "domain_slots")
BOUNDARIES = ("told", "hidden")
LARGE_GAMMA = 1.0  # from here on a Dirichlet order looks as if it were meant to be i.i.d.
T = TypeVar("T")


@dataclass(frozen=True)
class StreamSpec:
    """Everything a stream depends on besides the data set. Fields that the chosen order does not use are ignored."""

    order: str = "dirichlet"
    gamma: float = 0.1  # dirichlet: smaller gives longer runs of one class; runs: fewer classes at a time
    run_length: float | None = None  # runs: how many samples of one class follow one another on average; None is 10
    slots: int | None = None  # dirichlet, runs: None is the number of classes, at most 100
    underflow: str = "published"  # dirichlet: where a class goes whose draw underflowed; or one_slot
    beta: float = 0.1  # note
    min_chunk: int = 10  # note
    update_every: int | None = None  # note, note_iid: drop the samples beyond a whole number of these, per pool
    class_stay: float | None = None  # markov: how probably the next sample is of the same class; None: independent
    domain_stay: float | None = None  # markov, of a mixed pool: the same of its domain
    domain_imbalance: float = 1.0  # markov, of a mixed pool: the first domain has so many times the samples of the last
    again: bool = False  # markov: a class and domain that has shown all its images begins anew, as published

    schedule: str = "continual"
    domain_order: str | tuple[str, ...] = "standard"
    domains: str | tuple[str, ...] | None = None  # these, in this sequence, instead of domain_order
    severity: int = 5
    repeats: int = 1  # recurring
    delta: float = 1.0  # cdc: smaller leaves more domains in one piece
    domain_slots: int = 3  # cdc: into how many pieces a domain is cut at most
    transitions: int | None = None  # walk: from how many corruptions to the next; None is 8

    classes: tuple[int, ...] | None = None  # only images of these classes
    per_class: int | None = None  # images (of video: clips) per class and domain, the same ones in every domain
    limit: int | None = None  # images per domain, the same ones in every domain
    clips: int | None = None  # of video, clips per domain, the same ones in every domain
    frames: int | None = None  # of video, the first so many frames of each clip; shorter clips are shown whole
    boundaries: str | None = None  # of video: where clips begin is told to a prior, or hidden (also if left open)
    choose: str = "first"  # which images or clips per_class, limit and clips take; or random, or anew for every visit
    foreign: float = 0.0  # the share of samples that are of no class, of a data set that has such images
    class_imbalance: float = 1.0  # the first class has so many times the images of the last, in every domain
    head: str = "first"  # or random: which class has how many images is drawn for each domain
    duplicates: int = 1  # each image or clip so many times, before ordering
    redraws: int = 1  # each image so many times, each time with other random draws of its corruption

    batch_size: int = 64
    reset_at_domain: bool = False  # a batch never spans two domains
    drop_single: bool = False  # leave out a final batch of one sample, as RoTTA does
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("domain_order", "domains", "classes"):
            if isinstance(getattr(self, name), list):
                object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in (*NUMBERS, "foreign"):
            if _whole(getattr(self, name)):  # 1 and 1.0 are one stream
                object.__setattr__(self, name, float(getattr(self, name)))

    @classmethod
    def of(cls, **arguments: Any) -> "StreamSpec":
        """A spec from named arguments; an error for an unknown name suggests the nearest known one."""
        known = [field.name for field in fields(cls)]
        for name in arguments:
            if name not in known:
                raise unknown("argument of stream", name, known)
        return cls(**arguments)


def call(function: Callable[..., T], spec: StreamSpec, **given: Any) -> T:
    """Call an order or a schedule with what its signature names, of the given values and the fields of the spec."""
    values = {field.name: getattr(spec, field.name) for field in fields(spec)} | given
    return function(**{name: values[name] for name in signature(function).parameters if name in values})


def check(spec: StreamSpec) -> list[str]:
    """Every mistake that can be seen without the data set; empty if there is none."""
    return [*_names(spec), *_numbers(spec), *_combinations(spec)]


def notes(spec: StreamSpec) -> list[str]:
    """What somebody who chose these settings may not know."""
    if spec.order != "dirichlet" or spec.gamma < LARGE_GAMMA:
        return []
    return [
        f"gamma={spec.gamma:g} does not make a Dirichlet order i.i.d., nor does any other: what a slot has of a class "
        "stays together. For an i.i.d. stream use order=iid."
    ]


def require_valid(spec: StreamSpec) -> None:
    mistakes = check(spec)
    if mistakes:
        raise GottaError("\n".join(mistakes))


def _names(spec: StreamSpec) -> list[str]:
    looked_up: list[Callable[[], object]] = [
        lambda: ORDERS.expect(_text("order", spec.order)),
        lambda: SCHEDULES.expect(_text("schedule", spec.schedule)),
        lambda: spec.domain_order == AS_STORED or domain_order(_as_tuple("domain_order", spec.domain_order)),
        lambda: spec.domains is None or _as_tuple("domains", spec.domains),
        lambda: _one_of("underflow", spec.underflow, UNDERFLOW),
        lambda: _one_of("choose", spec.choose, CHOICES),
        lambda: _one_of("head", spec.head, HEADS),
        lambda: _one_of("boundaries", "told" if spec.boundaries is None else spec.boundaries, BOUNDARIES),
    ]
    return messages(looked_up)


def _numbers(spec: StreamSpec) -> list[str]:
    found = []
    for name in ("min_chunk", "repeats", "domain_slots", "duplicates", "redraws", "batch_size"):
        found += _count(spec, name, least=1)
    for name in ("slots", "update_every", "per_class", "limit", "clips", "frames", "transitions"):
        found += [] if getattr(spec, name) is None else _count(spec, name, least=1)
    for name in ("gamma", "beta", "delta"):
        if not _number(value := getattr(spec, name)) or value <= 0:
            found.append(f"{name} must be a number above 0, got {value!r}.")
    share: Any = spec.foreign
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
        found.append(f"foreign must be a share from 0 to below 1, got {share!r}.")
    for name in ("run_length", "class_imbalance", "domain_imbalance"):
        value = getattr(spec, name)
        if not (_number(value) and value >= 1) and not (value is None and name == "run_length"):
            found.append(f"{name} must be a number of at least 1, got {value!r}.")
    for name in ("class_stay", "domain_stay"):
        value = getattr(spec, name)
        if value is not None and not (_number(value) and 0 < value <= 1):
            found.append(f"{name} must be a probability above 0 and up to 1, got {value!r}.")
    for name in ("again", "reset_at_domain", "drop_single"):
        if not isinstance(getattr(spec, name), bool):
            found.append(f"{name} must be true or false, got {getattr(spec, name)!r}.")
    if spec.classes is not None and not _whole_numbers(spec.classes):
        found.append(f"classes must be a list of one or more class numbers, got {spec.classes!r}.")
    found += _count(spec, "severity", least=1, most=5)
    return found + _count(spec, "seed", least=0)


def _combinations(spec: StreamSpec) -> list[str]:
    found = []
    counts = [name for name in ("per_class", "limit", "clips") if getattr(spec, name) is not None]
    if len(counts) > 1:
        found.append(f"{' and '.join(counts)} both choose images. Give one of them.")
    if spec.schedule == "recurring" and spec.repeats == 1:
        found.append("schedule 'recurring' with repeats=1 is 'continual'. Give repeats >= 2, or schedule='continual'.")
    if spec.schedule != "recurring" and spec.repeats != 1:
        found.append(f"repeats={spec.repeats} is for schedule 'recurring', not '{spec.schedule}'.")
    found += _misplaced(spec, ORDERS, spec.order, "markov", OF_MARKOV)
    found += _misplaced(spec, SCHEDULES, spec.schedule, "cdc", OF_CDC)
    found += _misplaced(spec, SCHEDULES, spec.schedule, "walk", ("transitions",))
    of_domains = [name for name in ("domain_stay", "domain_imbalance") if _changed(spec, name)]
    if spec.order == "markov" and of_domains and spec.schedule in ONE_BY_ONE:
        found.append(
            f"{of_domains[0]} is about the domains of one pool, and schedule '{spec.schedule}' has them one by one. "
            "Use schedule 'mixed'."
        )
    if spec.head != "first" and (spec.class_imbalance == 1 or spec.order == "markov"):
        found.append("head='random' is for class_imbalance above 1, and not for order 'markov'. Leave it out.")
    if spec.schedule == "mixed" and spec.reset_at_domain is True:
        found.append("schedule 'mixed' has no domain borders to reset at. Use 'continual', or reset_at_domain=False.")
    if spec.schedule == "one" and spec.domains is None and spec.domain_order != AS_STORED:
        found.append("schedule 'one' needs a domain. Name it, as in domains='snow'.")
    if spec.drop_single is True and spec.batch_size == 1:
        found.append("drop_single leaves out batches of one sample, and batch_size=1 has no others. Choose one.")
    return found


def _misplaced(spec: StreamSpec, known: Functions[Any], chosen: str, name: str, settings: tuple[str, ...]) -> list[str]:
    """Settings of a part of ours that is not chosen. What somebody else's part makes of them is not known here."""
    if chosen == name or chosen not in known.names() or not known.module_of(chosen).startswith("gotta."):
        return []
    return [
        f"{setting}={getattr(spec, setting)} is for {known.kind} '{name}', not '{chosen}'."
        for setting in settings
        if _changed(spec, setting)
    ]


def _changed(spec: StreamSpec, name: str) -> bool:
    return bool(getattr(spec, name) != getattr(StreamSpec, name))


def _count(spec: StreamSpec, name: str, least: int, most: int | None = None) -> list[str]:
    value = getattr(spec, name)
    if _whole(value) and value >= least and (most is None or value <= most):
        return []
    expected = f"at least {least}" if most is None else f"in {least}..{most}"
    return [f"{name} must be a whole number {expected}, got {value!r}."]


def _number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and isfinite(value)


def _whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _whole_numbers(values: object) -> bool:
    return isinstance(values, tuple) and len(values) > 0 and all(_whole(value) for value in values)


def _as_tuple(name: str, value: object) -> str | tuple[str, ...]:
    if isinstance(value, str) and name_list(value):
        return value
    if isinstance(value, tuple) and value and all(isinstance(part, str) and part.strip() for part in value):
        return value
    raise GottaError(f"{name} must be a comma list or a sequence of one or more names, got {value!r}.")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise GottaError(f"{name} must be a name, got {value!r}.")
    return value


def _one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    if _text(name, value) not in choices:
        raise unknown(name, _text(name, value), choices)
