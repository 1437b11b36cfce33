"""Every number of README.md and docs/results is made from kept runs (test_pages.py, test_readme.py) or checked here."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "tests")]

from make_pages import NAMES, make  # noqa: E402
from test_benchmarks import load  # noqa: E402

TYPED = (  # by hand, around parts that are made
    *("README.md", "docs/index.md", "docs/memories.md"),
    *(f"docs/results/{name}.md" for name in ("imagenet500", "mini", "short", "teaser")),
    *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs/pages/texts").glob("*.md.j2"))),
)
BY_SCRIPT = ("docs/results/harm.md",)
MEASURED = re.compile(r"[+-]?\d+\.\d+|± ?\d+|\d+ %")
SETTINGS = {"0.005", "0.02", "0.05", "0.1", "0.2", "95 %"}  # epsilon, rates, gamma, the level of intervals
ALSO = {
    "README.md": {
        "2605.19890",
        "3.11",
        "46 %",
        "22 %",
        "57 %",
        "65 %",
        "81 %",
        *("97 %", "95 %", "93 %", "91 %"),
    },  # findings: test_readme.py
    "docs/memories.md": {"0.33", "0.66", "0.99"},  # thresholds of HUS
    "docs/pages/texts/signs.md.j2": {"0.10", "0.38"},  # how strong the noise is, by its definition
}


def typed(text):
    """Without parts that are made or computed, and without code."""
    parts = (
        r"<!-- (\w+)(?: of [^>]*)? -->.*?<!-- end of \1 -->",
        r"\{\{.*?\}\}|\{%.*?%\}",
        r"```.*?```|`[^`]*`|<!--.*?-->",
    )
    for part in (*parts, r"(?m:^ {4}.*$)|\]\([^)]*\)"):
        text = re.sub(part, " ", text, flags=re.DOTALL)
    return text


@pytest.mark.parametrize("page", TYPED)
def test_no_measured_number_is_typed(page):
    """Compute it in docs/pages, or say it in words."""
    found = set(MEASURED.findall(typed((ROOT / page).read_text(encoding="utf-8"))))
    assert found <= SETTINGS | ALSO.get(page, set())


def test_a_typed_number_is_found():
    text = "{{ acc }} and 65.4 ± 2 above <!-- table of x -->\n71.2\n<!-- end of table -->, 82 % in `0.3`"
    assert MEASURED.findall(typed(text)) == ["65.4", "± 2", "82 %"]


def test_every_page_of_results_is_made_or_checked():
    made = {
        path.relative_to(ROOT).as_posix() for name in NAMES if name not in ("choosing", "teaser") for path in make(name)
    }
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs/results").glob("*.md")}
    assert pages - made == {*BY_SCRIPT, "docs/results/imagenet500.md", "docs/results/teaser.md"}


def test_the_page_of_harm_is_what_its_lines_give(tmp_path):
    """Else: python benchmarks/harm.py --page docs/results/harm.md."""
    harm = load(ROOT / "benchmarks/harm.py")
    harm.write_page(harm.read_lines(ROOT / "benchmarks/harm.jsonl"), tmp_path / "harm.md")
    assert (ROOT / "docs/results/harm.md").read_text(encoding="utf-8") == (tmp_path / "harm.md").read_text()


def test_the_guard_is_as_far_below_as_its_tables_say():
    text = (ROOT / "docs/results/guard.md").read_text(encoding="utf-8")
    for table in text.split("Streams ")[2:]:
        cells = [line.split("|")[1:-1] for line in table.splitlines() if re.match(r"\| .*\d", line)]
        rows = [[float(cell) for cell in row[3:7]] for row in cells]
        assert len(rows) == 12
        for source, alone, guarded, below in rows:
            assert below == pytest.approx(max(0.0, max(source, alone) - guarded), abs=0.11)
        healthy = [row for row in rows if row[1] >= row[0]]
        near, kept = sum(row[3] <= 3 for row in rows), sum(row[3] <= 0.5 for row in healthy)
        assert f"Within 3 points of the better: {near} of 12." in table
        assert f"At most 0.5 lost where adapting does no harm: {kept} of {len(healthy)}." in table
