"""Every number that README.md states is what the kept runs give; the table is checked with the other made pages."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from pages.parts import name_of, read  # noqa: E402
from pages.readme import columns, ours, tell_seeds  # noqa: E402
from pages.study import read_study  # noqa: E402

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BALANCED = ("cbfifo", "pbrs", "cstu", "cds", "fps")
WITH_PRIOR = (("deskew", "none"), ("note", "cstu"), ("rotta", "cstu"), ("norm", "cstu"))


def findings():
    """The numbers in each of the three findings."""
    lines = re.findall(
        r"^\d\. (.*)$", TEXT.partition("## Which memory?")[2].partition("## Where to go")[0], re.MULTILINE
    )
    return [[int(number) for number in re.findall(r"\d+", line)] for line in lines]


def accuracies(runs, method, memory="none"):
    return [run.accuracy for run in runs if name_of(run) == (method, memory)]


def same_prior(method, memory):
    runs = [run for run in read(ROOT, "same-prior") if run.spec.method.prior == "patient"]
    return mean(accuracies(runs, method, memory))


def test_the_findings_are_those_of_mini_and_of_like_with_like():
    runs = read(ROOT, "mini")
    source, none = (mean(accuracies(runs, method)) for method in ("source", "norm"))
    memory = {name: mean(accuracies(runs, "norm", name)) for name in (*BALANCED, "fifo", "reservoir")}
    balanced = [memory[name] for name in BALANCED]
    expected = [
        [source, none, min(memory.values()), max(memory.values())],
        [memory["fifo"], memory["reservoir"], min(balanced), max(balanced)],
        [mean(accuracies(runs, "deskew")), *(same_prior(*entry) for entry in WITH_PRIOR)],
    ]
    assert findings() == [[round(number) for number in line] for line in expected]
    assert {run.seed for run in runs} == {0, 1, 2}, "README says three seeds"


def test_the_table_is_of_the_setting_that_the_text_names():
    for column in columns(read_study(ROOT)).values():
        assert column.domains == (5,)
    assert "10,000 images of each\ncorruption" in TEXT
    assert "five of the 15 corruptions" in TEXT


def test_the_table_has_the_numbers_and_seeds_of_the_page_of_table_1():
    found = columns(read_study(ROOT))
    assert tell_seeds(found) in TEXT
    page = (ROOT / "docs/results/table1.md").read_text(encoding="utf-8")
    for method, column in found.items():
        assert f" {ours(column, 'fps')}" in page.replace("*", ""), method
    assert tell_seeds({name: replace(column, seeds=1) for name, column in found.items()}) == (
        "Seeds: one for Norm, NOTE and RoTTA."
    )
