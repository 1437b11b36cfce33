"""What a policy is: hyper-parameters, and one method that decides where a new sample goes."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

from gotta.errors import GottaError
from gotta.limits import check_fields
from gotta.memory.table import Table as Table
from gotta.registry import Registry, has_method

T = TypeVar("T")
policies: Registry[Any] = Registry(
    "memory",
    "gotta.memory.builtin",
    has_method("place", "table", "new", "rng"),
    "a class with place(self, table, new, rng)",
)


@dataclass_transform(frozen_default=True)
def register(name: str) -> Callable[[type[T]], type[T]]:
    """For a class of `policies`: it becomes a frozen dataclass of hyper-parameters."""
    return lambda cls: policies.register(name)(dataclass(frozen=True)(cls))


Rng = np.random.Generator
REJECT = NOTHING = -1
OF_EVERY_MEMORY = ("capacity", "refresh_every", "storage")  # arguments
NO_DESCRIPTOR: NDArray[np.float64] = np.empty(0)


class Reason:
    """Why a sample was stored, or was not."""

    ROOM = "room"
    REPLACED_OLDEST = "replaced oldest"
    REPLACED_RANDOM = "replaced random"
    REPLACED_WORST = "replaced worst"
    REPLACED_NEAREST = "replaced nearest"
    REPLACED_REDUNDANT = "replaced redundant"
    REDUNDANT = "redundant"
    WORSE_THAN_NEAREST = "worse than nearest"
    CLASS_FULL = "class full"
    MEMORY_FULL = "memory full"
    COIN = "coin"
    UNCERTAIN = "uncertain"
    UNEXPLAINED = "unexplained"


class Candidate(NamedTuple):
    """What a policy knows of the sample on offer: no pixels, no true label.

    `label`, `uncertainty` and `embedding` are of its prediction.

    >>> import numpy as np
    >>> from gotta.memory import Candidate
    >>> Candidate(label=2, uncertainty=0.3, embedding=np.array([0.1, 0.0, 0.9])).label
    2
    """

    label: int
    uncertainty: float
    embedding: NDArray[np.float64]  # [D], read-only
    descriptor: NDArray[np.float64] = NO_DESCRIPTOR  # mean and deviation of each channel, where the policy asks for it


class Decision(NamedTuple):
    """The `slot` to write to (its old row, if any, leaves) or REJECT, and why.

    `clear` names a row that leaves although the newcomer does not enter; it goes with REJECT only. `group` is the
    newcomer's; `join` names two groups that become one.

    `reason` is counted in `Memory.stats` and written to the journal.

    >>> from gotta.memory import REJECT, Decision
    >>> Decision(REJECT, "too easy").slot == REJECT
    True
    """

    slot: int
    reason: str
    clear: int = NOTHING
    group: int = NOTHING
    join: tuple[int, int] | None = None


@cache
def reject(reason: str) -> Decision:
    return Decision(REJECT, reason)


class Policy:
    """The interface. Subclasses are frozen dataclasses of hyper-parameters with `place`; nothing is stored on them.

    `needs` names the columns that every `observe` must bring. `vectors` names numbers per class that the table keeps
    for the policy (all 0 at first) and that `after_read` may replace. `keeps` names what else the table keeps:
    `descriptor` and `group` of rows, the `mean` embedding of classes. `needs_probs` says that embeddings must
    be class probabilities. `holds_batch` is for `none` alone.

    >>> from gotta.memory import Decision, Memory, Policy
    >>> class Newest(Policy):
    ...     needs = ()
    ...     def place(self, table, new, rng):
    ...         return Decision(int(table.order[0]) if table.full else table.free(), "newest")
    >>> memory = Memory(Newest(), capacity=2, num_classes=3)
    >>> memory.observe([[1.0], [2.0], [3.0]]).tolist()
    [0, 1, 0]
    """

    needs: ClassVar[tuple[str, ...]] = ()
    needs_probs: ClassVar[bool] = False
    vectors: ClassVar[tuple[str, ...]] = ()
    keeps: ClassVar[tuple[str, ...]] = ()
    refresh_every: ClassVar[int | None] = None
    holds_batch: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Of a dataclass: its hyper-parameters are what their types say."""
        check_fields(self)

    def place(self, table: Table, new: Candidate, rng: Rng) -> Decision | int:
        raise NotImplementedError

    def __repr__(self) -> str:
        """What a saved state is compared by; a dataclass adds its hyper-parameters."""
        return f"{type(self).__qualname__}()"

    def after_read(self, table: Table) -> Mapping[str, NDArray[np.float64]]:
        """The vectors as they are after the memory was read once more. Most policies keep none."""
        return {}

    def notes(self, num_classes: int) -> list[str]:
        """What a reader of results should know of its setting for so many classes."""
        return []


def check_owner(hyper: Mapping[str, Any], method: str, known: Iterable[str], memory: str | None) -> None:
    """Complain of an argument given to a method that it does not know and a memory does."""
    for name in hyper.keys() - known:
        own = [other for other in policies.names() if not policies.is_user_part(other)]
        takers = [other for other in own if name in inspect.signature(policies.get(other)).parameters]
        if takers or name in OF_EVERY_MEMORY:
            taker = memory if memory and (memory in takers or not takers) else next(iter(takers), "fps")
            raise GottaError(
                f"'{name}' is an argument of memories ({', '.join(takers) or 'all'}), not of method '{method}'. Give "
                f"it to one of them: memory=gotta.Memory('{taker}', ..., {name}={hyper[name]!r})."
            )


class Adopted(Policy):
    """A policy written without the base class: whatever has `place`, with the defaults for the rest."""

    def __init__(self, policy: Any) -> None:
        for name in vars(Policy):
            if not name.startswith("_") and hasattr(policy, name):
                setattr(self, name, getattr(policy, name))
        self._name = repr(policy) if is_dataclass(policy) else f"{type(policy).__qualname__}()"

    def __repr__(self) -> str:
        return self._name


def make_policy(policy: Any, arguments: dict[str, Any]) -> Policy:
    """A policy from its name, from `module:Class`, or the given one."""
    if isinstance(policy, str):
        policies.take(policy)
        policy = policies.build(policy, **arguments)
    elif arguments:
        raise GottaError(f"{sorted(arguments)} given with a finished policy. Set them when building the policy.")
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, type) or not callable(getattr(policy, "place", None)):
        raise GottaError(f"a policy is an object with place(table, new, rng) -> slot; got {policy!r}.")
    return Adopted(policy)
