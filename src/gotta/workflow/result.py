"""What came of a plan: its runs, their tables, a data frame, a report. What shows them is imported when it is asked."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gotta.errors import GottaError, import_extra
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.store import Store

if TYPE_CHECKING:
    import pandas

    from gotta.experiment.sweep.sweep import Event
    from gotta.report.cells import Table
    from gotta.report.compare import Comparisons
    from gotta.report.results import Chapter, Results
    from gotta.report.stored_run import Run


class Tables(tuple["Table", ...]):
    """The tables of each set-up. Printed, or shown in a notebook, they stand below one another."""

    __slots__ = ()

    def __str__(self) -> str:
        from gotta.report.tables.render import plain

        return "\n\n".join(plain(one).rstrip() for one in self)

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        from gotta.report.tables.render import markdown

        return "\n\n".join(markdown(one) for one in self)


@dataclass(frozen=True, repr=False)
class Result:
    """The finished runs of a plan. What failed is in `failures`, what could not be logged in `log_problems`.

    `specs` are the runs that were asked for, `store` is where they are.

    >>> import gotta, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = gotta.run({"method.name": "source", "stream.per_class": 2, "stream.domains": ["fog"]}, out=folder)
    ...     isinstance(result, gotta.Result), len(result.specs), len(result.failures)
    (True, 1, 0)
    """

    specs: tuple[RunSpec, ...]
    store: Store
    failures: "tuple[Event, ...]" = ()
    log_problems: dict[str, str] = field(default_factory=dict)

    @cached_property
    def _everything(self) -> "Results":
        """The whole store, read once."""
        from gotta.report.results import read_results

        return read_results(self.store)

    @cached_property
    def _asked(self) -> "Results":
        return self._everything.only({spec.id for spec in self.specs})

    @property
    def runs(self) -> "tuple[Run, ...]":
        """Each with its spec, its summary and its numbers by name."""
        return self._asked.runs

    @property
    def chapters(self) -> "tuple[Chapter, ...]":
        """What a report says about the runs, set-up by set-up."""
        if not self.runs:
            raise GottaError(f"no run is finished, so there is nothing to show.{self.told_failures(' ')}")
        return self._asked.chapters

    def table(self, metric: str = "accuracy") -> Tables:
        """`accuracy`, `error` or `seconds`: memories by methods for each set-up, then statistics and priors."""
        return Tables(table for chapter in self.chapters for table in chapter.tables(metric))

    def answers(self) -> list[str]:
        """For each set-up the sentence that says what it shows."""
        return [str(chapter.answer) for chapter in self.chapters]

    def compare(self, first: str, second: str) -> "Comparisons":
        """Two memories, methods or entries, paired on the same streams: `result.compare("fps", "cstu")`.

        One comparison for each method and set-up that has both; an error names what differs where nothing is alike.
        """
        from gotta.report.compare import compare

        return compare([chapter.panel for chapter in self.chapters], first, second)

    def frame(self) -> "pandas.DataFrame":
        """A row for each run, a column for each setting and number. Needs pandas."""
        from gotta.report.store.export import rows

        made: pandas.DataFrame = import_extra("pandas", "a frame needs pandas", "pandas").DataFrame(rows(self.runs))
        return made

    def report(self, pictures: bool = True) -> Path:
        """Write report.html, tables and figures of everything in the store; the path of the page."""
        from gotta.report.write import write_report

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
