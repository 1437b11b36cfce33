"""The numbers in the text of docs/deskew.md are those of the files it names; docs/pages/deskew.py makes its tables."""

import contextlib
import io
import re
import sys
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "tests")]

from pages.deskew import ROWS  # noqa: E402
from pages.parts import name_of, read  # noqa: E402
from test_benchmarks import load  # noqa: E402

from gotta.report.pairs import difference  # noqa: E402

TEXT = (ROOT / "docs/deskew.md").read_text(encoding="utf-8")
BENCHMARKS = ROOT / "benchmarks"
deskew, moments, harm = (load(BENCHMARKS / f"{name}.py") for name in ("deskew", "moments", "harm"))
BEFORE = deskew.read_lines(BENCHMARKS / "deskew.jsonl")


def says(sentence, *numbers):
    assert sentence.format(*(f"{number:.1f}" for number in numbers)) in " ".join(TEXT.split())


def test_the_limit_of_statistics():
    says("the five corruptions reach {} %", BEFORE["five", "iid", 201, "limit"]["accuracy"])


def test_like_with_like():
    runs = [run for run in read(ROOT, "same-prior") if run.prior == "patient"]
    best = [run for run in runs if name_of(run) == ("deskew", "none")]
    below = {
        name
        for name, row in ROWS.items()
        if name != "deskew" and difference(best, [run for run in runs if name_of(run) == row]).verdict
    }
    assert below == {f"{name}, running statistics without a memory" for name in ("Norm", "RoTTA")}
    assert "only Norm and RoTTA with running statistics are significantly below deskew" in TEXT
    bare = [run.accuracy for run in read(ROOT, "same-prior") if run.prior == "none" and name_of(run)[0] == "deskew"]
    norm = [run for run in read(ROOT, "study-a") if run.spec.method.name == "norm"]
    rows = {row: mean(run.accuracy for run in norm if name_of(run) == row) for row in map(name_of, norm)}
    says("deskew has {} on this stream, and Norm with the best memory {}.", mean(bare), max(rows.values()))


def test_class_statistics_beside_the_best_memory():
    runs = [run for run in read(ROOT, "full-norm") if run.prior == "none" and run.spec.method.name == "norm"]
    alone = next(run.accuracy for run in runs if run.spec.method.statistics == "class")
    memory = max(run.accuracy for run in runs if run.spec.memory.name != "none" and not run.spec.control)
    says("statistics alone have {}, the best memory {}: no verdict", alone, memory)


def test_the_tables_of_moments_are_what_its_lines_give():
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        moments.print_tables(moments.read_lines(BENCHMARKS / "moments.jsonl"))
    lines = [line for line in shown.getvalue().splitlines() if re.match(r"\| .*\d \(", line)]
    assert len(lines) == 15
    for line in lines:
        assert line in TEXT


def test_changes_are_found_as_often_as_the_text_says():
    lines = [line for line in (BENCHMARKS / "found.txt").read_text().splitlines() if "by 64:" in line]
    large = [line for line in lines if float(re.search(r"batch +([+-][\d.]+)", line)[1]) > 5]
    draws = [when for line in large for by in re.findall(r"by \d+: ([\w ]+?)(?:  |$)", line) for when in by.split()]
    found = sum(when != "never" and int(when) <= 128 for when in draws)
    sentence = f"in {len(large)} of {len(lines)} cases. Of these {len(draws)} draws {found} are found"
    assert sentence in " ".join(TEXT.split())


def test_harm_is_what_its_lines_give():
    done = {job: counts for job, counts in harm.read_lines(BENCHMARKS / "harm.jsonl").items() if job[3] == "default"}
    gains = {}
    for network, stream, *_ in done:
        parts = [counts for job, counts in done.items() if job[:2] == (network, stream)]
        gains[network, stream] = harm.compare(parts)[1]
    own = {stream: gain for (network, stream), gain in gains.items() if network == "resnet20"}
    below = {stream: gain for stream, gain in own.items() if gain < -2}
    worst = min(harm.compare([counts])[1] for job, counts in done.items() if job[0] == "resnet20")
    others = min(gain for (network, _), gain in gains.items() if network != "resnet20")
    assert f"{len(own)} streams with `resnet20`" in TEXT
    cats, trucks = "95 % gaussian_noise 5", "97 % impulse_noise 4"
    assert set(below) == {cats, trucks}
    lines = harm.read_lines(BENCHMARKS / "harm.jsonl")
    rotta = harm.compare([lines["resnet20", trucks, seed, "rotta + fps"] for seed in range(3)])[1]
    says("95 % cats in gaussian noise 5 ({}) and 97 % trucks in impulse noise 4 ({},", -below[cats], -below[trucks])
    says("where RoTTA + FPS loses {})", -rotta)
    says("Single seeds lose at worst {}", -worst)
    assert all(gain >= -1 for stream, gain in own.items() if harm.is_clean("resnet20", stream))
    says("The other networks lose at most {} on ten streams each", -others)
