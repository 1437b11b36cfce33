"""Recordings by name, and which of them a page takes."""

from made_runs import made
from made_store import many_runs, with_recording, write

from gotta.experiment.run.memory_film import record_path
from gotta.report.page.webpage import choose_recordings, films_of
from gotta.report.results import read_results
from gotta.report.write import write_report


def recorded(root, runs, ids):
    store = write(root, runs)
    for id in ids:
        with_recording(root, id)
    return store


def test_the_best_cells_and_fps_come_first_and_what_has_no_memory_last(tmp_path):
    runs = [
        made("none", "deskew", (90.0,) * 4, method__prior="sticky"),
        made("cds", scores=(70.0, 71.0, 72.0, 73.0)),
        made("fifo", scores=(60.0, 61.0, 62.0, 63.0)),
        made("fps", scores=(50.0, 51.0, 52.0, 53.0)),
        made("none", scores=(40.0, 41.0, 42.0, 43.0)),
        made("none", control="running_statistics"),
    ]
    store = recorded(tmp_path, runs, [run.id for run in runs])
    (part,) = read_results(store).chapters
    assert [(film.name, film.why) for film in films_of(part, {run.id for run in runs})] == [
        ("deskew with sticky prior, seed 0", "the best of the table"),
        ("norm + cds, seed 0", "the best memory"),
        ("norm + fps, seed 0", ""),
        ("norm + fifo, seed 0", ""),
        ("norm + running statistics (control), seed 0", ""),
        ("norm without a memory, seed 0", ""),
    ]


def test_first_seeds_go_before_others(tmp_path):
    store = recorded(tmp_path, many_runs(), ["tent-fps-1", "norm-fifo-0"])
    assert list(choose_recordings(read_results(store))) == ["norm-fifo-0", "tent-fps-1"]


def test_recordings_of_memories_go_before_those_of_runs_without(tmp_path):
    store = recorded(tmp_path, many_runs(seeds=(0,)), ["norm-none-0", "norm-fps-0"])
    path = record_path(tmp_path, "norm-fps-0")
    size = path.stat().st_size
    path.write_text(path.read_text() + " " * 100)  # larger, and first all the same
    assert list(choose_recordings(read_results(store), room=3 * size)) == ["norm-fps-0", "norm-none-0"]
    assert list(choose_recordings(read_results(store), room=size + 100)) == ["norm-fps-0"]


def test_only_what_is_inside_is_named_and_marked(tmp_path, monkeypatch):
    store = recorded(tmp_path, many_runs(seeds=(0,)), ["norm-fps-0", "norm-fifo-0", "norm-none-0"])
    size = record_path(tmp_path, "norm-fps-0").stat().st_size
    text = write_report(read_results(store), pictures=False).read_text(encoding="utf-8")
    marks = text.count("its memory can be watched")
    monkeypatch.setattr("gotta.report.write.ROOM", size + 100)
    fewer = write_report(read_results(store), pictures=False).read_text(encoding="utf-8")
    assert fewer.count('id="record-') == 1
    assert fewer.count("its memory can be watched") == 5  # one cell in five readings
    assert marks > 10
    assert '<li><a href="#run=norm-fps-0">norm + fps, seed 0</a>' in fewer
    assert '<li><a href="#run=norm-fifo-0">' not in fewer
    assert "2 more were recorded" in fewer
