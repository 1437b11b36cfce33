"""RunSpec: everything that decides a run's numbers, complete, frozen, and checked with all mistakes shown at once."""

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from gotta.errors import GottaError
from gotta.experiment.spec import user_parts
from gotta.experiment.spec.arguments import find_unknown
from gotta.experiment.spec.best_rates import settle_rate
from gotta.experiment.spec.completing import complete
from gotta.experiment.spec.identity import identity_of, run_id
from gotta.experiment.spec.sections import DataSpec, MemorySpec, MethodSpec, ModelSpec, RegimeSpec, Section
from gotta.experiment.spec.source_files import find_changed
from gotta.experiment.spec.spec_errors import SpecErrors, describe, without
from gotta.experiment.spec.wrong_settings import find_mistakes
from gotta.safe_text import one_line
from gotta.streams import StreamSpec


class RunSpec(Section):
    """One cell of a table for one seed. Build it with `RunSpec.of`, which fills in what was left open."""

    data: DataSpec = DataSpec()
    stream: dict[str, Any] = Field(default_factory=dict)
    model: ModelSpec = ModelSpec()
    memory: MemorySpec = MemorySpec()
    method: MethodSpec = MethodSpec()
    regime: RegimeSpec = RegimeSpec()
    pairing: str = "paper"
    control: str | None = None
    guard: Literal["warn", "freeze", "rollback"] | None = None
    seed: Annotated[int, Field(ge=0)] = 0

    @classmethod
    def of(cls, given: Mapping[str, Any], imports: Collection[str] = ()) -> "RunSpec":
        """A complete spec from a partial one. Arguments of a part stand beside the settings of its section.

        Nothing is imported. A `module:Class` in it is refused unless its module is among `imports`, or the caller has
        given it before; what is left open of such a part stays open until it is run.
        """
        if not isinstance(given, Mapping):
            raise GottaError(f"a spec is sections and settings such as seed: 0; got {given!r}.")
        user_parts.permit(given, imports)
        odd = find_unknown(given)
        given, without_rate = settle_rate(without(given, list(odd)))
        mistakes = [*odd.values(), *without_rate]
        try:
            spec = cls.model_validate(given)
        except ValidationError as error:
            mistakes += [describe(problem, cls) for problem in error.errors()]
            # The rest is looked at as well, so that nobody has to come back for one mistake after the other.
            wrong = [problem["loc"] for problem in error.errors()]
            spec = cls.model_validate(without(given, wrong))
            if ("memory", "capacity") in wrong:  # it was given, if not well
                spec = spec.model_copy(update={"memory": spec.memory.model_copy(update={"capacity": 1})})
        mistakes += find_mistakes(spec)
        if mistakes:
            raise SpecErrors(mistakes)
        return complete(spec)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What the name covers, as it was when first asked for: in a worker, by the driver."""
        return identity_of(self)

    @cached_property
    def id(self) -> str:
        return run_id(self.identity)

    def check_unchanged(self) -> None:
        """Complain if this process would compute something else than the name says."""
        for name, now in identity_of(self)["parts"].items():
            if self.identity["parts"].get(name) != now:
                told = f"the code or the defaults of its {name} are not those that the sweep began with"
                raise GottaError(f"{told}. Start it again.")
            if stale := find_changed(now.get("files", {})):
                raise GottaError(f"{', '.join(stale)} changed after it was imported. Start Python again.")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> "RunSpec":
        """A copy is another run, so it gets a name of its own."""
        copied = super().model_copy(update=update, deep=deep)
        for name in ("identity", "id"):
            copied.__dict__.pop(name, None)
        return copied

    @property
    def has_memory(self) -> bool:
        own = user_parts.find_own("memory", self.memory.name)  # a control's is none of ours, nor somebody's own
        return own is None or not own.holds_batch

    @property
    def label(self) -> str:
        return one_line(f"{self.method.name} + {self.control or self.memory.name}, seed {self.seed}")

    def stream_spec(self) -> StreamSpec:
        assert self.regime.batch_size is not None
        return StreamSpec.of(
            **self.stream,
            batch_size=self.regime.batch_size,
            reset_at_domain=self.regime.reset == "each_domain",
            drop_single=self.regime.batch_size > 1,
            seed=self.seed,
        )
