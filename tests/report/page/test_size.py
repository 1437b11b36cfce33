"""The page of a whole table of the paper is a file that can be sent to somebody."""

import json
import os
import random

import pytest
from made_runs import domains_of, made, stored

from gotta.experiment.run.memory_film import record_path
from gotta.report.results import read_results
from gotta.report.rows import CONTROLS, MEMORIES, METHODS
from gotta.report.write import write_report
from gotta.types import CORRUPTIONS

pytestmark = pytest.mark.thorough

STEPS, SAMPLES = 100, 1500  # as many values as the page shows of a run, over 15 x 10,000 samples
RECORDING = 700_000  # bytes, as of a run that was recorded


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Every method with every memory and three seeds, the controls, and eight recordings."""
    rng = random.Random(0)
    named = [(memory, method, None) for method in METHODS for memory in (MEMORIES if method != "source" else ["none"])]
    named += [("none", "norm", control) for control in CONTROLS]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)  # a thousand small files need not survive a power cut
        runs = [run_of(rng, *cell, seed) for seed in range(3) for cell in named]
        store = stored(tmp_path_factory.mktemp("large"), runs, lambda run: steps_of(rng))
        for run in runs[:8]:
            path = record_path(store.root, run.id)
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps({"format": 1, "sprite": "x" * RECORDING}))
    return store


def run_of(rng, memory, method, control, seed):
    scores = [rng.uniform(20, 80) for _ in CORRUPTIONS]
    domains = domains_of(scores, [f"{name}-5" for name in CORRUPTIONS])
    return made(memory, method, scores, seed, control=control, summary={"online": {"domains": domains}})


def steps_of(rng):
    names = ("purity", "balance", "coverage", "near_duplicates", "age_mean")
    for k in range(STEPS):
        domains = {f"{CORRUPTIONS[k * len(CORRUPTIONS) // STEPS]}-5": SAMPLES}
        state = {name: rng.random() for name in names}
        yield {"step": k, "samples": SAMPLES, "correct": rng.randrange(SAMPLES), "domains": domains, "memory": state}


def test_a_whole_table_with_recordings_stays_below_5_mb(large):
    text = write_report(read_results(large), pictures=False).read_text(encoding="utf-8")
    assert text.count('id="run"') == 1
    assert f"{len(large.runs())} finished runs" in text
    assert len(large.runs()) >= 252
    assert text.count('id="record-') == 2
    assert len(text.encode()) < 5_000_000
