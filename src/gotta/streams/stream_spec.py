"""What describes a stream: one frozen record, and the check that finds all of its mistakes at once."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from inspect import signature
from typing import Annotated, Any, Literal, TypeVar

from gotta.errors import GottaError, check_known, messages
from gotta.limits import Count, Positive, Share, Within, find_mistake, find_mistakes
from gotta.registry import Functions
from gotta.streams.order import ORDERS, FromOne, Underflow
from gotta.streams.schedule import AS_STORED, SCHEDULES, domain_order, name_list

NUMBERS = ("gamma", "beta", "run_length", "delta", "class_stay", "domain_stay", "class_imbalance", "domain_imbalance")
OF_MARKOV = ("class_stay", "domain_stay", "domain_imbalance", "again")
ONE_BY_ONE = ("continual", "one", "gradual", "recurring", "cdc", "walk")
OF_CDC = ("delta", "domain_slots")
LARGE_GAMMA = 1.0  # from here on a Dirichlet order looks as if it were meant to be i.i.d.
T = TypeVar("T")


@dataclass(frozen=True)
class StreamSpec:
    """Everything a stream depends on besides the data set. Fields that the chosen order does not use are ignored.

    `order` and `schedule` are names of `ORDERS` and `SCHEDULES`; `domain_order` is one of `DOMAIN_ORDERS`, or domains
    by name. Corruptions have a `severity`, a batch has `batch_size` samples, and all is drawn by `seed`. The others are
    explained beside them.

    >>> from gotta.streams import StreamSpec
    >>> StreamSpec(order="iid", severity=3).schedule
    'continual'
    """

    order: str = "dirichlet"
    gamma: Positive = 0.1  # dirichlet: smaller gives longer runs of one class; runs: fewer classes at a time
    run_length: FromOne | None = None  # runs: how many samples of one class follow one another on average; None is 10
    slots: Count | None = None  # dirichlet, runs: None is the number of classes, at most 100
    underflow: Underflow = "published"  # dirichlet: where a class goes whose draw underflowed; or one_slot
    beta: Positive = 0.1  # note
    min_chunk: Count = 10  # note
    update_every: Count | None = None  # note, note_iid: drop the samples beyond a whole number of these, per pool
    class_stay: Share | None = None  # markov: how probably the next sample is of the same class; None: independent
    domain_stay: Share | None = None  # markov, of a mixed pool: the same of its domain
    # markov, of a mixed pool: the first domain has so many times the samples of the last
    domain_imbalance: FromOne = 1.0
    again: bool = False  # markov: a class and domain that has shown all its images begins anew, as published

    schedule: str = "continual"
    domain_order: str | tuple[str, ...] = "standard"
    domains: str | tuple[str, ...] | None = None  # these, in this sequence, instead of domain_order
    severity: Annotated[int, Within(1, 5)] = 5
    repeats: Count = 1  # recurring
    delta: Positive = 1.0  # cdc: smaller leaves more domains in one piece
    domain_slots: Count = 3  # cdc: into how many pieces a domain is cut at most
    transitions: Count | None = None  # walk: from how many corruptions to the next; None is 8

    classes: tuple[int, ...] | None = None  # only images of these classes
    per_class: Count | None = None  # images (of video: clips) per class and domain, the same ones in every domain
    limit: Count | None = None  # images per domain, the same ones in every domain
    clips: Count | None = None  # of video, clips per domain, the same ones in every domain
    frames: Count | None = None  # of video, the first so many frames of each clip; shorter clips are shown whole
    # of video: does the prior know where clips begin? A run fills it in
    boundaries: Literal["told", "hidden"] | None = None
    # which images or clips per_class, limit and clips take; or random, or anew for every visit
    choose: Literal["first", "random", "anew"] = "first"
    # the share of samples that are of no class, of a data set that has such images
    foreign: Annotated[float, Within(0, 1, below=True)] = 0.0
    class_imbalance: FromOne = 1.0  # the first class has so many times the images of the last, in every domain
    head: Literal["first", "random"] = "first"  # or random: which class has how many images is drawn for each domain
    duplicates: Count = 1  # each image or clip so many times, before ordering
    redraws: Count = 1  # each image so many times, each time with other random draws of its corruption

    batch_size: Count = 64
    reset_at_domain: bool = False  # a batch never spans two domains
    drop_single: bool = False  # leave out a final batch of one sample, as RoTTA does
    seed: Annotated[int, Within(0)] = 0

    def __post_init__(self) -> None:
        for name in ("domain_order", "domains", "classes"):
            if isinstance(getattr(self, name), list):
                object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in (*NUMBERS, "foreign"):
            if not find_mistake(name, getattr(self, name), int):  # 1 and 1.0 are one stream
                object.__setattr__(self, name, float(getattr(self, name)))

    @classmethod
    def of(cls, **arguments: Any) -> "StreamSpec":
        """A spec from named arguments; an error for an unknown name suggests the nearest known one."""
        known = [field.name for field in fields(cls)]
        for name in arguments:
            check_known("argument of stream", name, known)
        return cls(**arguments)


def call(function: Callable[..., T], spec: StreamSpec, **given: Any) -> T:
    """Call an order or a schedule with what its signature names, of the given values and the fields of the spec."""
    values = {field.name: getattr(spec, field.name) for field in fields(spec)} | given
    return function(**{name: values[name] for name in signature(function).parameters if name in values})


def check(spec: StreamSpec) -> list[str]:
    """Every mistake that can be seen without the data set; empty if there is none.

    >>> from gotta.streams import StreamSpec, check
    >>> check(spec=StreamSpec(order="iid"))
    []
    """
    return [*find_mistakes(spec), *_names(spec), *_combinations(spec)]


def notes(spec: StreamSpec) -> list[str]:
    """What somebody who chose these settings may not know."""
    if spec.order != "dirichlet" or spec.gamma < LARGE_GAMMA:
        return []
    return [
        f"gamma={spec.gamma:g} does not make a Dirichlet order i.i.d., nor does any other: what a slot has of a class "
        "stays together. For an i.i.d. stream use order=iid."
    ]


def _names(spec: StreamSpec) -> list[str]:
    looked_up: list[Callable[[], object]] = [
        lambda: ORDERS.expect(spec.order),
        lambda: SCHEDULES.expect(spec.schedule),
        lambda: spec.domain_order == AS_STORED or domain_order(_as_tuple("domain_order", spec.domain_order)),
        lambda: spec.domains is None or _as_tuple("domains", spec.domains),
        lambda: _check_classes(spec.classes),
    ]
    return messages(looked_up)


def _combinations(spec: StreamSpec) -> list[str]:
    found = []
    counts = [name for name in ("per_class", "limit", "clips") if getattr(spec, name) is not None]
    if len(counts) > 1:
        found.append(f"{' and '.join(counts)} both choose images. Give one of them.")
    if spec.schedule == "recurring" and spec.repeats == 1:
        found.append("schedule 'recurring' with repeats=1 is 'continual'. Give repeats >= 2, or schedule='continual'.")
    found += _misplaced(spec, SCHEDULES, spec.schedule, "recurring", ("repeats",))
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


def _check_classes(values: object) -> None:
    numbers = isinstance(values, tuple) and values and not any(find_mistake("", value, int) for value in values)
    if values is not None and not numbers:
        raise GottaError(f"classes must be a list of one or more class numbers (got {values!r}).")


def _as_tuple(name: str, value: object) -> str | tuple[str, ...]:
    if isinstance(value, str) and name_list(value):
        return value
    if isinstance(value, tuple) and value and all(isinstance(part, str) and part.strip() for part in value):
        return value
    raise GottaError(f"{name} must be a comma list or a sequence of one or more names (got {value!r}).")
