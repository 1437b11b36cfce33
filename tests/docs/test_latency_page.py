"""The table of latencies is made from what benchmarks/serve.py writes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

from pages.latency import tell

TIMES = {
    "requests": 1008,
    "p50": 10.0,
    "p99": 40.0,
    "bare_p50": 9.0,
    "bare_p99": 10.0,
    "dropped": 0.0,
    "cpu_p50": 9.5,
    "bare_cpu_p50": 9.0,
}


def row(method, batch, background, **times):
    return {"method": method, "batch": batch, "background": background, **TIMES, **times}


def test_each_size_has_a_table_and_what_is_too_slow_is_named():
    rows = [
        row("source", 16, False),
        row("tent", 16, False),
        row("tent", 16, True, p50=9.5, p99=12.0),
        row("cotta", 16, False),
        row("cotta", 16, True, p99=20.0, dropped=0.25, cpu_p50=19.0),
        row("eata", 16, False),
        row("eata", 16, True, p99=14.0, low=1.35, high=1.5),
        row("roid", 16, False),
        row("roid", 16, True, p99=13.5, low=1.2, high=1.4, alone_p50=9.25, alone_p99=11.0),
        row("tent", 1, False),
        row("tent", 1, True),
    ]
    told = tell({"processors": 2, "load": 0.1, "torch": "2.13.0", "rounds": 12, "rows": rows})
    assert (
        "take turns, 12 times or more for batches of 16; a ratio is that of all requests, up to 1,008 on each side"
        in told
    )
    verdict = (
        "1 of 4 methods have a p99 of at most 1.3 times the bare network's, 1 of them with their whole interval. "
        "The interval has 1.3 inside: roid. "
        "Above: cotta, eata. Of these, the prediction itself takes more than that: cotta."
    )
    assert told.index("**Batches of 1.**") < told.index(f"**Batches of 16.** {verdict}")
    assert "two machines" not in told
    rows.append(row("deyo", 16, False, bare_p50=18.0))
    assert "two machines" in tell({"processors": 2, "load": 0.1, "torch": "2.13.0", "rounds": 12, "rows": rows})
    assert "| source | 9.0 | 10.0 | 10.0 | 40.0 | - | - | - | - | - | - | - |" in told
    assert "| tent | 9.0 | 10.0 | 10.0 | 40.0 | - | - | 9.5 | 12.0 | 1.20 | - | 0% |" in told
    assert "| roid | 9.0 | 10.0 | 10.0 | 40.0 | 9.2 | 11.0 | 10.0 | 13.5 | 1.35 | 1.20 to 1.40 | 0% |" in told
    assert "| cotta | 9.0 | 10.0 | 10.0 | 40.0 | - | - | 10.0 | 20.0 | 2.00 | - | 25% |" in told
