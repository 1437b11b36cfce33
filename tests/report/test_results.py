"""A store is read once and its runs are placed once."""

import json
import sys
from collections import Counter

import numpy as np
import pytest
from changed_fields import changed
from made_runs import made, stored
from made_store import many_runs, write

from gotta.cli.__main__ import main
from gotta.experiment.recipe.recipe import load_recipe
from gotta.experiment.sweep.store import CHECKSUM, FILES, Store, _checksum
from gotta.experiment.sweep.store import Run as StoredRun
from gotta.report import results as reading
from gotta.report.results import read_results
from gotta.report.write import write_report


@pytest.fixture
def calls(monkeypatch):
    """How often runs are placed, and how often each is read from the disk."""
    placed, read = [], []
    place, load = reading.place, Store._load

    def counting_place(runs):
        placed.append(len(runs))
        return place(runs)

    def counting_load(store, id):
        read.append(id)
        return load(store, id)

    monkeypatch.setattr(reading, "place", counting_place)
    monkeypatch.setattr(Store, "_load", counting_load)
    return placed, read


def test_all_files_of_a_report_come_from_one_placing_and_one_reading(tmp_path, calls):
    placed, read = calls
    results = read_results(
        stored(tmp_path, [made(memory, memory__capacity=m) for memory in ("none", "fps") for m in (8, 16)])
    )
    write_report(results)
    assert placed == [4]
    assert len(read) == len(set(read)) == 4


def test_a_bench_with_nothing_left_to_run_places_once(tmp_path, calls, monkeypatch, capsys):
    placed, _ = calls
    specs = load_recipe("mini").runs()
    assert len(specs) == 45
    store = Store(tmp_path)
    for spec in specs:
        parts = {"spec": spec.model_dump(), "summary": made().stored.summary, "identity": spec.identity}
        store.write(StoredRun(spec.id, environment={}, **parts), [])
    assert all(store.has(spec.id) for spec in specs)
    monkeypatch.setattr(sys, "argv", ["gotta", "bench", "mini", "--out", str(tmp_path), "--jobs", "1"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 0
    assert "Report: " in capsys.readouterr().out
    assert placed == [45]


def test_a_part_of_the_runs_is_placed_by_itself(tmp_path, calls):
    placed, _ = calls
    results = read_results(stored(tmp_path, [made(), made(memory__capacity=8), made("none")]))
    assert results.only({run.id for run in results.runs}) is results
    few = results.only({made().id, "another"})
    assert [[row.name for row in part.panel.rows] for part in few.chapters] == [["fps"]]
    assert [part.title for part in few.chapters] == [""]
    assert [part.title for part in results.chapters] == ["capacity 8", "capacity 32"]
    assert placed == [1, 3]


def try_changed_stores(numbers, root):
    """A run with one field changed is among the damaged ones, or is a run that a report can show."""
    store = write(root, list(many_runs(seeds=(0, 1)))[:6])
    folders, found = sorted(store.folder.iterdir()), Counter()
    for number in numbers:
        rng = np.random.default_rng([31, number])
        folder = folders[rng.integers(len(folders))]
        documents = {name: json.loads((folder / name).read_text()) for name in list(FILES.values())[:4]}
        before = {name: (folder / name).read_bytes() for name in documents}
        name = list(documents)[rng.integers(len(documents))]
        documents[name], place = changed(documents[name], rng)
        is_sealed = number % 4 > 0
        (folder / name).write_text(json.dumps(documents[name]))
        if is_sealed and isinstance(documents["summary.json"], dict):
            said = {key: value for key, value in documents["summary.json"].items() if key != CHECKSUM}
            (folder / "summary.json").write_text(json.dumps({**said, CHECKSUM: _checksum(folder, said)}))
        try:
            results = read_results(Store(root))
            assert is_sealed or len(results.damaged) == 1 or documents[name] == json.loads(before[name])
            found["damaged" if results.damaged else "shown"] += 1
            for part in results.chapters:
                assert part.panel.title is not None
                assert part.answer.headline
                assert part.tables("accuracy")
        except Exception as error:
            raise AssertionError((number, name, place)) from error
        for name, content in before.items():
            (folder / name).write_bytes(content)
    return found


def test_a_changed_field_of_a_run_is_damage_or_can_be_shown(tmp_path):
    found = try_changed_stores(range(60), tmp_path)
    assert found["damaged"] > 15


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
def test_two_thousand_four_hundred_changed_fields(part, tmp_path):
    found = try_changed_stores(range(100 + 400 * part, 500 + 400 * part), tmp_path)
    assert found["damaged"] > 100
    assert found["shown"] > 100
