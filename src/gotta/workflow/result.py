"""What came of a plan: its runs, their tables, a data frame, a report."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gotta.errors import GottaError
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.store import Store
from gotta.experiment.sweep.sweep import Event
from gotta.report.part import Part
from gotta.report.results import Results, read_results
from gotta.report.store.export import rows
from gotta.report.stored_run import Run
from gotta.report.tables.cells import Table
from gotta.report.tables.render import markdown, plain
from gotta.report.write import write_report

if TYPE_CHECKING:
    import pandas


class Tables(tuple[Table, ...]):
    """A table for each set-up. Printed, or shown in a notebook, they stand below one another."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n\n".join(plain(one).rstrip() for one in self)

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        return "\n\n".join(markdown(one) for one in self)


@dataclass(frozen=True, repr=False)
class Result:
    """The finished runs of a plan. What failed is in `failures`, what could not be logged in `log_problems`."""

    specs: tuple[RunSpec, ...]
    store: Store
    failures: tuple[Event, ...] = ()
    log_problems: dict[str, str] = field(default_factory=dict)

    @cached_property
    def _everything(self) -> Results:
        """The whole store, read once."""
        return read_results(self.store)

    @cached_property
    def _asked(self) -> Results:
        return self._everything.only({spec.id for spec in self.specs})

    @property
    def runs(self) -> tuple[Run, ...]:
        """Each with its spec, its summary and its numbers by name."""
        return self._asked.runs

    @property
    def parts(self) -> tuple[Part, ...]:
        """What a report tells of the runs, set-up by set-up."""
        if not self.runs:
            raise GottaError(f"no run is finished, so there is nothing to show.{self.told_failures(' ')}")
        return self._asked.parts

    def table(self, metric: str = "accuracy") -> Tables:
        """`accuracy`, `error` or `seconds`: methods by memories, one table for each set-up."""
        return Tables(part.table(metric) for part in self.parts)

    def answers(self) -> list[str]:
        """For each set-up the sentence that says what can be told from it."""
        return [str(part.answer) for part in self.parts]

    def frame(self) -> "pandas.DataFrame":
        """A row for each run, a column for each setting and number. Needs pandas."""
        try:
            import pandas
        except ImportError:
            raise GottaError(
                "a data frame needs pandas: pip install 'gotta[pandas]'. Without it: result.table(), or gotta export."
            ) from None
        return pandas.DataFrame(rows(self.runs))

    def report(self, pictures: bool = True) -> Path:
        """Write report.html, tables and figures of everything in the store; the path of the page."""
        return write_report(self._everything, pictures)

    def told_failures(self, before: str = "") -> str:
        """What failed, as text; nothing if nothing did."""
        if not self.failures:
            return ""
        lines = "\n".join(f"  - {failure.label}: {failure.message}" for failure in self.failures)
        return f"{before}{len(self.failures)} runs failed; the others are kept:\n{lines}"

    def __str__(self) -> str:
        shown: list[Any] = [self.table(), *self.answers()] if self.runs else ["no run is finished"]
        return "\n".join(str(part) for part in (*shown, self.told_failures()) if str(part))

    __repr__ = __str__  # so that a notebook shows it
