"""Pages of prose whose numbers are computed: the templates in docs/pages/texts, filled from kept runs."""

from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from gotta.methods import methods
from gotta.report.pairs import difference
from gotta.report.paper.numbers import lookup
from gotta.report.stored_run import Run
from pages.parts import join, mean, name_of, read, tell_gap
from pages.study import Study, claims_table, judge, read_study, rule, said, tell

MADE = "<!-- made by docs/make_pages.py from docs/pages/texts: edit it there -->"


class Numbers:
    """What the templates call: `acc` and `gap`, each for rows by their file, method and memory or control."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.read = cache(lambda name: tuple(read(root, name)))

    @cached_property
    def study(self) -> Study:
        return read_study(self.root)

    def claims(self, page: str) -> str:
        """What becomes of the paper's claims of a table that a page of prose stands for."""
        judged = judge(page, self.study)
        return join([rule(), tell(judged), claims_table(judged), said(judged)]).rstrip()

    def pick(self, file: str, method: str, row: str = "none", **asked: Any) -> list[Run]:
        """The runs of one cell; at the default rate, without a prior and in runs of classes unless asked otherwise."""
        asked = {"prior": "none", "order": "dirichlet", "rate": self.usual_rate(method), **asked}
        found = [run for run in self.read(file) if name_of(run) == (method, row) and _fits(run, asked)]
        assert found, f"{file} has no run of {method} with {row}, {asked}"
        return found

    def seeds(self, found: Sequence[Run]) -> int:
        return len({run.seed for run in found})

    def usual_rate(self, method: str) -> float | None:
        return getattr(methods.get(method).paired, "rate", None)

    def acc(self, file: str, method: str, row: str = "none", **asked: Any) -> str:
        return f"{self.value(file, method, row, **asked):.1f}"

    def value(self, file: str, method: str, row: str = "none", **asked: Any) -> float:
        return mean(self.pick(file, method, row, **asked)) or 0.0

    def gap(self, first: Sequence[Run], second: Sequence[Run]) -> str:
        """A paired difference with its interval, or its range where the runs are too few for one."""
        found = difference(first, second)
        assert found.estimate is not None, found.refused
        return tell_gap(found)

    def best(self, file: str, *rows: str, domain_order: str | None = None) -> str:
        """The rate at which Norm does best with each of these memories or controls; all of them if they differ."""
        rates = {self._best(file, row, domain_order) for row in rows}
        return " and ".join(f"{rate:g}" for rate in sorted(rates))

    def _best(self, file: str, row: str, domain_order: str | None) -> float:
        here = [run for run in self.read(file) if domain_order in (None, run.stream.domain_order)]
        found = {run.spec.method.rate: run.accuracy or 0.0 for run in here if name_of(run) == ("norm", row)}
        assert len(found) > 1, f"{file} has no rates of {row}"
        return max((rate for rate in found if rate), key=lambda rate: found[rate])

    def lost(self, file: str, rows: Sequence[str], rate: float) -> list[float]:
        """What another rate than the default costs Norm."""
        return [self.value(file, "norm", row) - self.value(file, "norm", row, rate=rate) for row in rows]

    def printed(self, method: str, memory: str, data: str = "cifar10-c", capacity: int = 32) -> float:
        """In the paper."""
        return lookup(method, memory, capacity, data=data)[0].value

    def span(self, values: Sequence[float]) -> str:
        return f"{min(values):.1f} to {max(values):.1f}"


def make(root: Path) -> dict[Path, str]:
    numbers = Numbers(root)
    engine = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    names = ("acc", "best", "claims", "gap", "lost", "pick", "printed", "seeds", "span", "value")
    engine.globals |= {name: getattr(numbers, name) for name in names}
    found = sorted((root / "docs/pages/texts").glob("*.md.j2"))
    return {
        root / "docs/results" / path.stem: f"{MADE}\n\n{engine.from_string(path.read_text(encoding='utf-8')).render()}"
        for path in found
    }


def _fits(run: Run, asked: dict[str, Any]) -> bool:
    rate = run.spec.method.rate
    same = run.prior == asked["prior"] and run.stream.order == asked["order"]
    placed = asked.get("domain_order") in (None, run.stream.domain_order)
    return same and placed and (rate is None or rate == asked["rate"])
