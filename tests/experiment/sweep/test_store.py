import json
import math
import os
import shutil
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from gotta.errors import GottaError
from gotta.experiment.spec.identity import FORMAT, run_id
from gotta.experiment.sweep import store as module
from gotta.experiment.sweep.processes import machine
from gotta.experiment.sweep.store import Run, Store
from gotta.report import series

FILES = ["environment.json", "identity.json", "spec.json", "steps.jsonl", "summary.json"]
AWKWARD = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 2**53 + 1.0, -0.0, float(np.float32(0.1))]


def named(name):
    """A spec for a run that a test calls so."""
    return {"seed": 0, "called": name}


def identity_of(name="r1"):
    return {"format": FORMAT, "settings": named(name), "parts": {}}


def id_of(name="r1"):
    return run_id(identity_of(name))


R1 = id_of()


def write(store, name="r1", steps=({"step": 0},), **changes):
    parts = {"summary": {"accuracy": 50.0}, "environment": {"python": "3"}, "identity": identity_of(name)}
    store.write(Run(id_of(name), **({"spec": named(name)} | parts | changes)), steps)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_run_is_four_files_and_reads_back(tmp_path):
    store = Store(tmp_path / "out", writable=True)
    assert not store.has(R1)
    write(store, steps=[{"step": 0}, {"step": 1}])
    assert store.has(R1)
    assert names(tmp_path / "out" / "runs") == [R1]
    assert names(tmp_path / "out" / "runs" / R1) == FILES
    run = store.read(R1)
    assert isinstance(run, Run)
    assert (run.id, run.spec, run.summary) == (R1, named("r1"), {"accuracy": 50.0})
    assert (run.environment, run.identity, run.recipe) == ({"python": "3"}, identity_of(), {})
    assert list(run.steps()) == [{"step": 0}, {"step": 1}]


def test_steps_are_written_and_read_one_by_one(tmp_path):
    store = Store(tmp_path)
    write(store, steps=({"step": i} for i in range(1000)))
    steps = store.read(R1).steps()
    assert next(steps) == {"step": 0}
    assert sum(1 for _ in steps) == 999


def test_a_run_without_steps(tmp_path):
    store = Store(tmp_path)
    write(store, steps=[])
    assert list(store.read(R1).steps()) == []
    assert list(Run("x", {}, {}, {}).steps()) == []


def test_floats_come_back_exactly(tmp_path):
    store = Store(tmp_path)
    write(store, summary={"values": AWKWARD}, steps=[{"values": AWKWARD}])
    run = store.read(R1)
    for values in (run.summary["values"], next(run.steps())["values"]):
        assert [value.hex() for value in values] == [value.hex() for value in AWKWARD]


def test_what_json_cannot_say_becomes_null(tmp_path):
    store = Store(tmp_path)
    write(store, summary={"a": math.nan, "b": [math.inf, 1.0], "c": np.float64("nan")}, steps=[{"a": -math.inf}])
    run = store.read(R1)
    assert run.summary == {"a": None, "b": [None, 1.0], "c": None}
    assert list(run.steps()) == [{"a": None}]
    assert "NaN" not in (tmp_path / "runs" / R1 / "summary.json").read_text()


def test_numpy_values_are_plain(tmp_path):
    store = Store(tmp_path)
    write(
        store,
        summary={"n": np.int64(3), "x": np.float32(0.1), "v": np.array([[1.5, np.nan]]), "t": (1, np.bool_(True))},
    )
    summary = store.read(R1).summary
    assert summary == {"n": 3, "x": float(np.float32(0.1)), "v": [[1.5, None]], "t": [1, True]}


def test_runs_are_sorted_and_damaged_ones_reported(tmp_path):
    store = Store(tmp_path)
    for id in ("c", "a", "b", "d", "e", "f", "g", "h", "i"):
        write(store, id, steps=[{"step": 0}, {"step": 1}])
    folder = tmp_path / "runs"

    def of(name):
        return folder / id_of(name)

    text = (of("b") / "summary.json").read_text()
    (of("b") / "summary.json").write_text(text[: len(text) // 2])
    (of("d") / "environment.json").unlink()
    (of("e") / "steps.jsonl").write_text('{"step": 0}\n{"st')
    (of("f") / "spec.json").write_text("[]")
    (of("g") / "steps.jsonl").write_text('{"step": 0}\n')  # cut between two lines
    (of("h") / "summary.json").write_text('{"accuracy": NaN}')
    (of("i") / "summary.json").write_text('{"online": 3}')
    (folder / "notes.txt").write_text("not a run")
    (folder / "a copy").mkdir()
    assert sorted(run.spec["called"] for run in store.runs()) == ["a", "c"]
    assert [run.id for run in store.runs()] == sorted(run.id for run in store.runs())
    called = {id_of(name): name for name in "bdefghi"}
    damaged = {called.get(id, id): reason for id, reason in store.damaged()}
    assert sorted(damaged) == ["a copy", "b", "d", "e", "f", "g", "h", "i"]
    assert damaged["a copy"] == "no run has such a name"
    assert damaged["b"].startswith("summary.json is not valid JSON")
    assert damaged["d"] == "environment.json is missing"
    assert damaged["e"] == "steps.jsonl changed after it was stored"
    assert damaged["g"] == damaged["e"]
    assert damaged["f"] == "spec.json is not valid JSON (it holds no object)"
    assert damaged["h"] == "summary.json is not valid JSON (NaN is not a number)"
    assert damaged["i"] == "its summary has no results under 'online'"
    assert [store.has(id_of(name)) for name in "abcdef"] == [True, False, True, False, False, False]
    with pytest.raises(GottaError, match=rf"'{id_of('d')}'.*environment\.json is missing"):
        store.read(id_of("d"))


def test_a_missing_run_is_an_error_and_an_empty_store_is_empty(tmp_path):
    store = Store(tmp_path / "nowhere")
    assert store.runs() == store.damaged() == []
    with pytest.raises(GottaError, match="no such run"):
        store.read(R1)


def test_the_first_complete_run_stays(tmp_path):
    store = Store(tmp_path)
    write(store, summary={"accuracy": 1.0})
    write(store, summary={"accuracy": 2.0})
    assert store.read(R1).summary == {"accuracy": 1.0}
    assert names(tmp_path / "runs") == [R1]


def test_a_damaged_run_is_replaced(tmp_path):
    store = Store(tmp_path)
    write(store, summary={"accuracy": 1.0})
    (tmp_path / "runs" / R1 / "summary.json").unlink()
    write(store, summary={"accuracy": 2.0})
    assert store.read(R1).summary == {"accuracy": 2.0}
    assert names(tmp_path / "runs") == [R1]


def test_a_file_in_the_place_of_a_run_is_replaced(tmp_path):
    store = Store(tmp_path, writable=True)
    (tmp_path / "runs" / R1).write_text("")
    write(store)
    assert store.has(R1)
    assert names(tmp_path / "runs") == [R1]


def test_steps_of_wrong_bytes_are_one_message(tmp_path):
    store = Store(tmp_path)
    write(store)
    path, run = tmp_path / "runs" / R1 / "steps.jsonl", store.read(R1)
    path.write_bytes(b"\xff" * (path.stat().st_size - 1) + b"\n")
    with pytest.raises(GottaError, match=r"steps\.jsonl of run '\w+' cannot be read.*run it again"):
        list(run.steps())
    with pytest.raises(GottaError, match=r"steps\.jsonl changed after it was stored.*run it again"):
        store.read(R1)


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize("name", [name for name in FILES if name != "steps.jsonl"])
def test_a_run_with_an_edited_file_is_damaged(tmp_path, name):
    store = Store(tmp_path)
    write(store)
    edit(tmp_path / "runs" / R1 / name, accuracy=99.0)
    assert store.runs() == []
    assert not store.has(R1)
    ((id, reason),) = store.damaged()
    assert id == R1
    renamed = name == "identity.json"  # another identity is another run
    assert reason.startswith("what it holds is run ") if renamed else reason == f"{name} changed after it was stored"
    write(store)
    assert store.has(R1)
    assert store.read(R1).summary == {"accuracy": 50.0}


def test_a_number_edited_together_with_nothing_else_is_found_though_the_size_and_the_date_are_as_before(tmp_path):
    store = Store(tmp_path)
    write(store, steps=[{"correct": 10}])
    path = tmp_path / "runs" / R1 / "steps.jsonl"
    assert store.has(R1)
    before = path.stat()
    path.write_text('{"correct": 99}\n')
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert store.damaged() == [(R1, "steps.jsonl changed after it was stored")]


@pytest.mark.parametrize("name", ["copy", "0" * 16, R1 + "-2"])
def test_a_folder_whose_name_is_not_its_id_is_damaged(tmp_path, name):
    store = Store(tmp_path)
    write(store)
    shutil.copytree(tmp_path / "runs" / R1, tmp_path / "runs" / name)
    assert [run.id for run in store.runs()] == [R1]
    assert store.damaged() == [(name, f"what it holds is run {R1}: it was renamed, copied or edited")]
    assert not store.has(name)


def test_a_run_whose_checksum_or_identity_was_taken_away_is_not_taken_for_a_good_one(tmp_path):
    store = Store(tmp_path)
    write(store)
    write(store, "r2")
    (tmp_path / "runs" / id_of("r2") / "identity.json").unlink()
    path = tmp_path / "runs" / R1 / "summary.json"
    path.write_text(json.dumps({"accuracy": 99.0}))
    assert store.runs() == []
    assert dict(store.damaged())[R1] == "summary.json has no checksum"
    assert dict(store.damaged())[id_of("r2")] == "identity.json is missing"


def test_a_recipe_is_kept_beside_the_spec_and_does_not_change_the_name(tmp_path):
    store = Store(tmp_path)
    write(store, recipe={"name": "mini", "title": "A title"})
    assert store.read(R1).recipe == {"name": "mini", "title": "A title"}
    assert "recipe" not in store.read(R1).spec
    (tmp_path / "runs" / R1 / "recipe.json").unlink()
    assert store.damaged() == [(R1, "recipe.json changed after it was stored")]


def test_a_run_of_another_format_is_refused_in_one_sentence(tmp_path):
    store = Store(tmp_path)
    write(store, "old", identity={"format": 2, "parts": {}})
    ((_, reason),) = store.damaged()
    assert reason == f"it is of format 2, and this version of gotta reads format {FORMAT}"


def test_concurrent_writers_leave_one_complete_run(tmp_path):
    ready, failures = threading.Barrier(8), []

    def steps(writer):
        yield {"writer": writer}
        ready.wait()  # all are half-written at the same time
        yield {"writer": writer}

    def work(writer):
        try:
            write(Store(tmp_path), steps=steps(writer), summary={"writer": writer})
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(writer,)) for writer in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert names(tmp_path / "runs") == [R1]
    run = Store(tmp_path).read(R1)
    assert {step["writer"] for step in run.steps()} == {run.summary["writer"]}


KILLED = """
import os, sys
from gotta.experiment.sweep.store import Run, Store
def steps():
    yield {"step": 0}
    os._exit(9)
Store(sys.argv[1], writable=True).write(Run("r1", {}, {}, {}), steps())
"""


def test_a_killed_writer_leaves_no_run(tmp_path):
    write(Store(tmp_path), "done")
    assert subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False).returncode == 9
    store = Store(tmp_path, writable=True)
    assert len(names(store.folder)) == 2
    assert not store.has(R1)
    assert [run.id for run in store.runs()] == [id_of("done")]
    assert store.damaged() == []
    store.sweep_leftovers()
    assert names(store.folder) == [id_of("done")]
    write(store, "r1")
    assert store.has(R1)


def test_sweeping_spares_what_may_still_be_written(tmp_path):
    store = Store(tmp_path, writable=True)
    sleeper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        alive = store.folder / f".a.tmp-{sleeper.pid}-{machine()}-00"
        elsewhere = store.folder / ".b.tmp-1-00000000-00"
        old = store.folder / ".c.tmp-1-00000000-01"
        for path in (alive, elsewhere, old):
            path.mkdir()
        os.utime(old, (time.time() - 2 * module.A_DAY,) * 2)

        def steps():
            store.sweep_leftovers()
            yield {}

        write(store, "r1", steps=steps())
        assert store.has(R1)
        assert names(store.folder) == sorted([alive.name, elsewhere.name, R1])
    finally:
        sleeper.communicate(b"\n")


def test_an_interrupted_writer_cleans_up(tmp_path):
    def steps():
        yield {}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(Store(tmp_path), steps=steps())
    assert names(tmp_path / "runs") == []


def test_a_full_disk_is_one_message_and_leaves_nothing(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(GottaError, match="No space left on device") as caught:
        write(Store(tmp_path))
    assert str(tmp_path / "runs") in str(caught.value)
    assert names(tmp_path / "runs") == []


def test_a_root_that_cannot_be_written_is_refused_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(GottaError, match=r"cannot write .*out"):
        Store(tmp_path / "file" / "out", writable=True)
    for writable in (False, True):
        with pytest.raises(GottaError, match="is a file"):
            Store(tmp_path / "file", writable=writable)
    assert names(tmp_path) == ["file"]


def test_trying_to_write_leaves_nothing(tmp_path):
    Store(tmp_path, writable=True)
    assert names(tmp_path) == ["runs"]
    assert names(tmp_path / "runs") == []
    Store(tmp_path / "other")
    assert names(tmp_path) == ["runs"]


@pytest.mark.parametrize("id", ["", "../x", "a/b", ".hidden", "a b"])
def test_ids_are_folder_names(tmp_path, id):
    with pytest.raises(GottaError, match="not a folder name"):
        Store(tmp_path).write(Run(id, {}, {}, {}), [])
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "deep", "huge number", "infinite"])
def test_documents_that_no_program_should_hold_are_damage(tmp_path, name, kind):
    store = Store(tmp_path / "store")
    write(store)
    path = store.folder / R1 / name
    kept = path.rename(tmp_path / "kept")
    if kind in ("link", "dangling"):
        path.symlink_to(kept if kind == "link" else tmp_path / "nowhere")
    elif kind == "pipe":
        os.mkfifo(path)
    elif name == "steps.jsonl":
        return
    else:
        path.write_text(
            {"deep": "[" * 100_000, "huge number": '{"a": ' + "1" * 5000 + "}", "infinite": "[1e999]"}[kind]
        )
    assert not store.has(R1)
    assert [id for id, _ in store.damaged()] == [R1]


def test_a_run_that_is_a_link_is_damage_and_is_replaced(tmp_path):
    store, other = Store(tmp_path / "store"), Store(tmp_path / "other")
    write(other)
    store.folder.mkdir(parents=True)
    (store.folder / R1).symlink_to(other.folder / R1)
    assert store.damaged() == [(R1, "it is a link, not a folder")]
    write(store)
    assert store.has(R1)
    assert other.has(R1), "what the link led to is not touched"
    assert [path.name for path in store.folder.iterdir()] == [R1]


@pytest.mark.parametrize("name", ["runs", "leases", "snapshots", "records", "figures"])
def test_a_store_is_not_written_through_a_link(tmp_path, name):
    (tmp_path / "outside").mkdir()
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / name).symlink_to(tmp_path / "outside")
    with pytest.raises(GottaError, match=f"{name}' is a link"):
        Store(tmp_path / "store", writable=True)


def test_steps_that_no_program_should_hold_are_one_message(tmp_path):
    store = Store(tmp_path)
    write(store)
    run = store.read(R1)
    for line in ("[" * 100_000, '{"a": ' + "1" * 5000 + "}", "[1]", '{"a": NaN}'):
        (run.folder / "steps.jsonl").write_text(line + "\n")
        with pytest.raises(GottaError, match="cannot be read"):
            list(run.steps())
        series._read.cache_clear()
        with pytest.raises(GottaError, match="cannot be read"):
            series.series(SimpleNamespace(stored=run))
