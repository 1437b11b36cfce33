"""Every number that README.md states is what the kept runs give; the table is checked with the other made pages."""

import re
import sys
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from pages.parts import read  # noqa: E402
from pages.readme import STUDY, accuracies, tell_seeds  # noqa: E402

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BALANCED = ("cbfifo", "pbrs", "cstu", "cds", "fps")
WITH_PRIOR = (("deskew", "none"), ("note", "cstu"), ("rotta", "cstu"), ("norm", "cstu"))


def findings():
    """The numbers in each of the three findings."""
    lines = re.findall(
        r"^\d\. (.*)$", TEXT.partition("## Which memory?")[2].partition("## Where to go")[0], re.MULTILINE
    )
    return [[int(number) for number in re.findall(r"\d+", line)] for line in lines]


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
    runs = read(ROOT, STUDY)
    assert len(runs) > 20
    assert {run.spec.model.name for run in runs} == {"resnet20"}
    assert {run.spec.memory.capacity for run in runs if run.spec.has_memory} == {32}
    for run in runs:
        assert [domain.samples for domain in run.domains.values()] == [10_000] * 5
    assert "10,000 images of each\ncorruption" in TEXT
    assert "five of the 15 corruptions" in TEXT


def test_seeds_are_counted_by_method():
    runs = read(ROOT, STUDY)
    assert tell_seeds(runs) in TEXT
    first = [run for run in runs if run.seed == 0]
    assert tell_seeds(first) == "Seeds: one for Norm, NOTE and RoTTA."
    more = [run for run in runs if run.seed == 0 or (run.spec.method.name, run.spec.memory.name) == ("norm", "fps")]
    assert tell_seeds(more) == "Seeds: one to three for Norm, one for NOTE and RoTTA."
