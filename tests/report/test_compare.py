"""Like is compared with like, or what differs is named."""

import numpy as np
import pytest
from made_runs import made

from gotta.errors import GottaError
from gotta.report import panel as panels
from gotta.report.compare import compare
from gotta.report.panel import place
from gotta.report.statistics import estimate

BASE = (50.0, 60.0, 55.0, 65.0)


def runs(memory, gain, seeds=(0, 1, 2), spread=0.2, method="norm", **changes):
    rng = np.random.default_rng(len(memory))
    return [
        made(
            memory,
            method,
            tuple(b + gain + spread * w for b, w in zip(BASE, rng.normal(size=4), strict=True)),
            s,
            **changes,
        )
        for s in seeds
    ]


def compared(first, second, *groups):
    return compare(place([run for group in groups for run in group]).panels, first, second)


def test_a_difference_has_its_interval_and_its_pairs():
    (found,) = compared("fps", "cstu", runs("fps", 10), runs("cstu", 4))
    assert found.gap.mean == pytest.approx(6, abs=0.3)
    assert found.gap.half > 0
    assert (found.gap.pairs, found.gap.verdict, found.to_settle()) == (12, 1, {})
    assert "12 pairs: 3 seeds x 4 domains" in str(found)


def test_each_method_and_set_up_has_a_comparison_of_its_own():
    groups = [runs(m, g, method=method) for method in ("norm", "tent") for m, g in (("fps", 5), ("cstu", 1))]
    other = [runs(m, g, model__name="other") for m, g in (("fps", 5), ("cstu", 1))]
    found = compared("fps", "cstu", *groups, *other)
    assert [(one.first.column.method, one.second.column.method) for one in found] == [
        *(("norm", "norm"), ("norm", "norm"), ("tent", "tent"))
    ] or len(found) == 3
    assert all(one.where for one in found)
    (one,) = compared("norm + fps", "tent + cstu", *groups)  # whole names may differ in both
    assert one.second.column.method == "tent"
    assert len(compared("norm", "tent", *groups)) == 2  # with the same memory


def test_what_would_settle_it_is_guessed_and_holds():
    few = [runs("fps", 1.0, spread=1.5), runs("cstu", 0, spread=1.5)]
    (found,) = compared("fps", "cstu", *few)
    assert found.gap.verdict == 0
    more = found.to_settle()
    assert set(more) <= {"seed", "domain"}
    assert more
    assert "would settle it" in str(found)
    (one,) = compared("fps", "cstu", runs("fps", 3, seeds=[0]), runs("cstu", 0, seeds=[0]))
    assert (one.gap.half, one.to_settle()["seed"]) == (None, 1)
    assert "Too few for a verdict, which needs 5 pairs from 2 seeds." in str(one)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"regime__adapt_every": 64}, "steps of 32 and 64 samples"),
        ({"stream_hash": "another"}, "the streams differ"),
        ({"seeds": [7]}, "only one of the two was run"),
    ],
)
def test_what_differs_is_named(changes, told):
    with pytest.raises(GottaError, match=told):
        compared("fps", "cstu", runs("fps", 10), runs("cstu", 4, **changes))


def test_rates_are_not_mixed(monkeypatch):
    monkeypatch.setattr(panels, "best_rates", lambda: {("norm", "fps"): 0.2, ("norm", "cstu"): 0.1})
    every = [
        runs(memory, gain, method__rate=rate)
        for memory, rate, gain in (("fps", 0.05, 1), ("fps", 0.2, 9), ("cstu", 0.05, 0), ("cstu", 0.1, 3))
    ]
    found = compared("fps", "cstu", *every)
    assert [round(one.gap.mean) for one in found] == [1, 6]
    with pytest.raises(GottaError, match=r"rates 0\.2 and 0\.05"):
        compared("fps", "cstu", every[1], every[2], runs("cds", 0, method__rate=0.05))


def test_runs_of_other_streams_are_in_no_common_table():
    with pytest.raises(GottaError, match="were not run on the same data, network and stream"):
        compared("fps", "cstu", runs("fps", 1), runs("cstu", 0, model__name="other"))


def test_the_interval_is_that_of_the_tables():
    (found,) = compared("fps", "none", runs("fps", 2), runs("none", 0))
    gaps = [
        [a - b for a, b in zip(x.scores().values(), y.scores().values(), strict=True)]
        for x, y in zip(found.first.runs, found.second.runs, strict=True)
    ]
    assert found.found.estimate.half == estimate(gaps).half
