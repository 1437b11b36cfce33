"""Everything that a report writes beside the runs."""

import os

import pytest
from made_runs import made, stored
from made_store import many_runs, with_recording, write

from gotta.errors import GottaError
from gotta.experiment.sweep.store import Store
from gotta.report import write as writing
from gotta.report.latex import tex
from gotta.report.page.webpage import choose_recordings, page
from gotta.report.results import read_results
from gotta.report.write import write_report


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    root = tmp_path_factory.mktemp("store")
    made_here = write(root, many_runs())
    with_recording(root, "norm-fps-0")
    return made_here


def test_everything_is_written_and_the_same_each_time(store):
    path = write_report(read_results(store))
    names = {p.name for p in store.root.iterdir() if p.is_file()}
    assert names == {"report.html", "tables.md", "tables.tex", "tables.csv"}
    drawn = sorted(p.name for p in (store.root / "figures").iterdir())
    assert {"cost.svg", "cost.png", "stream-norm.svg", "diagnostics-tent.png"} <= set(drawn)
    before = path.read_bytes()
    assert write_report(read_results(store)).read_bytes() == before


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(GottaError, match="no runs"):
        write_report(read_results(Store(tmp_path)))
    assert list(tmp_path.iterdir()) == []


def test_runs_without_steps_have_tables_and_no_figures(tmp_path):
    path = write_report(read_results(stored(tmp_path, [made(), made(seed=1)])))
    assert path == tmp_path / "report.html"
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "report.html",
        "runs",
        "tables.csv",
        "tables.md",
        "tables.tex",
    ]


def test_figures_of_an_earlier_state_go_and_other_files_stay(tmp_path):
    store = write(tmp_path, [made("fps"), made("none")])
    folder = tmp_path / "figures"
    write_report(read_results(store))
    assert (folder / "cost.svg").exists()
    for name in ("notes-of-mine.svg", "cost.txt"):
        (folder / name).write_text("mine")
    write(tmp_path, [made("fps", model__name="other"), made("none", model__name="other")])
    write_report(read_results(store))
    names = {path.name for path in folder.iterdir()}
    assert {"1-cost.svg", "2-cost.png", "notes-of-mine.svg", "cost.txt"} <= names
    assert not {"cost.svg", "cost.png", "stream-norm.svg"} & names
    assert len(store.runs()) == 4


def test_a_cell_without_effect_says_so_everywhere(tmp_path):
    pointless = {"no_effect": "this model has no BatchNorm layers."}
    runs = [made("fps"), made("none"), *(made(memory, "tent", summary=pointless) for memory in ("fps", "none"))]
    results = read_results(write(tmp_path, runs))
    text = page(results)
    assert text.count('<abbr title="without effect: this model has no BatchNorm layers.">†</abbr>') == 6  # 3 readings
    assert "<li>† without effect: this model has no BatchNorm layers.</li>" in text
    assert r"53.0\rlap{$^{\dagger}$}" in tex(results)
    assert r"$^\dagger$ without effect: this model has no BatchNorm layers." in tex(results)


def test_recordings_that_do_not_fit_stay_out(store):
    assert list(choose_recordings(read_results(store))) == ["norm-fps-0"]
    assert choose_recordings(read_results(store), room=10) == {}
    damaged = store.root / "records" / "norm-fifo-0.json"
    damaged.write_text("{")
    try:
        assert list(choose_recordings(read_results(store))) == ["norm-fps-0"]
    finally:
        damaged.unlink()


def test_recordings_give_way_to_the_rest_of_the_page(store, monkeypatch):
    assert 'id="record-norm-fps-0"' in write_report(read_results(store), pictures=False).read_text(encoding="utf-8")
    monkeypatch.setattr(writing, "LARGEST", len(page(read_results(store)).encode()) + 10)
    assert 'id="record-' not in write_report(read_results(store), pictures=False).read_text(encoding="utf-8")


def test_what_is_no_file_below_records_is_passed_over(store, tmp_path):
    folder = store.root / "records"
    ids = [run.id for run in store.runs() if run.id != "norm-fps-0"][:5]
    (tmp_path / "outside.json").write_text('{"format": 1}')
    odd = [folder / f"{id}.json" for id in ids]
    odd[0].symlink_to(tmp_path / "outside.json")
    odd[1].symlink_to(tmp_path / "nowhere")
    odd[2].symlink_to(odd[2])
    os.mkfifo(odd[3])
    odd[4].mkdir()
    try:
        assert list(choose_recordings(read_results(store))) == ["norm-fps-0"]
        assert "norm-fps-0" in write_report(read_results(store), pictures=False).read_text()
    finally:
        for path in odd:
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": ' + "1" * 5000 + "}", '{"format": 1, "x": NaN}', "[1]"])
def test_a_recording_that_no_program_should_hold_stays_out(store, text):
    path = store.root / "records" / "norm-fifo-0.json"
    path.write_text(text)
    try:
        assert list(choose_recordings(read_results(store))) == ["norm-fps-0"]
    finally:
        path.unlink()


def test_a_report_is_not_written_through_a_link(tmp_path):
    made_here = write(tmp_path / "store", many_runs(seeds=(0,)))
    (tmp_path / "outside").mkdir()
    (made_here.root / "figures").symlink_to(tmp_path / "outside")
    with pytest.raises(GottaError, match="figures' is a link"):
        write_report(read_results(made_here))
    assert list((tmp_path / "outside").iterdir()) == []
