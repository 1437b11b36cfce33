"""Runs as lines: nothing is lost but the records of steps, and nothing damaged passes."""

import json
from dataclasses import replace

import pytest
from small_recipe import RECIPE

import gotta
from gotta.errors import GottaError
from gotta.experiment.spec.identity import identity_of
from gotta.experiment.sweep.kept import Kept, adopt, keep, line_of, open_runs, read_line
from gotta.experiment.sweep.store import DamagedRun, Store

SMALL = {**RECIPE, "cells": RECIPE["cells"][:2]}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Four cells of two seeds, computed on ten bundled images."""
    return gotta.bench(SMALL, out=tmp_path_factory.mktemp("runs")).store


@pytest.fixture
def lines(store, tmp_path):
    path = tmp_path / "small.jsonl"
    keep(store, path)
    return path


def test_a_line_holds_everything_of_a_run_but_its_steps(store, lines):
    found = dict(Kept(lines).scan())
    assert list(found) == sorted(run.id for run in store.runs())
    for run in store.runs():
        same = found[run.id]
        assert (same.spec, same.summary, same.environment) == (run.spec, run.summary, run.environment)
        assert (same.identity, same.recipe, same.finished) == (run.identity, run.recipe, int(run.finished))
        assert list(same.steps()) == []


def test_keeping_again_changes_nothing_and_keeping_more_only_adds_lines(store, tmp_path):
    path, part = tmp_path / "some.jsonl", Store(tmp_path / "part")
    ids = [run.id for run in store.runs()]
    adopt(store, ids[2:5], part)
    assert keep(part, path) == (3, 3)
    first = path.read_bytes()
    assert keep(part, path) == (0, 3)
    assert path.read_bytes() == first
    assert keep(store, path) == (len(ids) - 3, len(ids))
    assert set(first.splitlines()) < set(path.read_bytes().splitlines())
    assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == sorted(ids)


def test_runs_that_come_from_lines_give_the_same_lines(store, lines, tmp_path):
    back = Store(tmp_path / "back")
    adopt(Kept(lines), [run.id for run in Kept(lines).runs()], back)
    keep(back, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == lines.read_bytes()


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda text: text.replace('"accuracy":', '"accuracy":1', 1), "it was changed after it was written"),
        (lambda text: text.replace('"seed":0', '"seed":7').replace('"seed":1', '"seed":7'), "it was changed"),
        (lambda text: text[: len(text) // 2], "it is not valid JSON"),
        (lambda text: "[" * 10_000, "it is not valid JSON"),
        (lambda text: "7", "it holds no run"),
        (lambda text: "{}", "it holds no run"),
        (lambda text: text.replace('"recipe":{', '"recipe":7,"x":{', 1), "it holds no run"),
        (lambda text: text.replace('"accuracy":', '"accuracy":NaN,"x":', 1), "it is not valid JSON"),
    ],
)
def test_a_damaged_line_is_named_and_the_others_are_read(lines, edit, why):
    first, *others = lines.read_text().splitlines()
    lines.write_text("\n".join([edit(first), *others]) + "\n")
    problems = [(id, found) for id, found in Kept(lines).scan() if isinstance(found, str)]
    assert [id for id, _ in problems] == ["small.jsonl, line 1"]
    assert problems[0][1].startswith(why)
    assert len(Kept(lines).runs()) == len(others)


def test_a_line_whose_checksum_was_renewed_still_has_to_have_the_name_of_its_content(store):
    run = store.runs()[0]
    with pytest.raises(DamagedRun, match="it was renamed, copied or edited"):
        read_line(line_of(replace(run, identity={**run.identity, "settings": {}})).encode())
    for edited in ({"seed": 9}, {"regime": {**run.spec["regime"], "batch_size": 9}}):
        with pytest.raises(DamagedRun, match="its spec is not that of its name"):
            read_line(line_of(replace(run, spec={**run.spec, **edited})).encode())
    with pytest.raises(DamagedRun, match="it is of format None, and this version of gotta reads format 3"):
        read_line(line_of(replace(run, identity={})).encode())
    with pytest.raises(DamagedRun, match="what it holds is run"):
        read_line(line_of(replace(run, id="../up")).encode())


def test_what_is_damaged_is_refused_and_the_file_stays(store, lines, tmp_path):
    before = lines.read_bytes()
    hurt = Store(tmp_path / "hurt")
    adopt(store, [store.runs()[0].id], hurt)
    (hurt.folder / store.runs()[0].id / "summary.json").write_text("{}")
    with pytest.raises(GottaError, match=r"is damaged, and nothing was kept. Run it again, or delete it."):
        keep(hurt, lines)
    lines.write_bytes(before[:-10])
    with pytest.raises(GottaError, match=r"small.jsonl, line 8: it is not valid JSON"):
        keep(store, lines)
    assert lines.read_bytes() == before[:-10]
    with pytest.raises(GottaError, match=r"file that ends in .jsonl"):
        keep(store, tmp_path / "x.json")


def test_a_run_in_several_files_is_one_run_unless_its_numbers_differ(store, lines):
    second = lines.with_name("other.jsonl")
    second.write_bytes(lines.read_bytes())
    folder = open_runs(lines.parent)
    assert isinstance(folder, Kept)
    assert len(folder.runs()) == len(store.runs())
    run = store.runs()[0]
    second.write_text(line_of(replace(run, summary={**run.summary, "accuracy": 1.0})) + "\n")
    problems = dict(open_runs(lines.parent).scan())
    assert problems[run.id] == "it stands in several lines, with different numbers"


def test_a_folder_is_a_store_if_it_has_runs_and_lines_if_it_has_these(store, lines, tmp_path):
    assert isinstance(open_runs(store.root), Store)
    assert isinstance(open_runs(lines), Kept)
    assert isinstance(open_runs(tmp_path), Kept)
    with pytest.raises(GottaError, match=r"there is no file '.*none.jsonl'"):
        dict(open_runs(tmp_path / "none.jsonl").scan())


def test_a_sweep_that_starts_from_lines_runs_only_what_they_lack(store, lines, tmp_path):
    planned = gotta.plan({**SMALL, "seeds": [0, 1, 2]}, out=tmp_path / "new", start_from=lines)
    assert len(planned.taken_over) == 8
    assert {spec.seed for spec in planned.todo} == {2}
    assert f"Taken from {lines}: 8 finished runs." in planned.notices()
    assert not (tmp_path / "new").exists()
    heard = []
    result = planned.run(listen=lambda event: heard.append(event.id))
    assert set(heard) == {spec.id for spec in planned.todo}
    assert len(result.runs) == 12
    told = "8 of the 12 runs are kept without records of their steps, so curves over the stream are left out."
    assert told in result.chapters[0].setup


def test_a_kept_run_of_another_version_of_a_part_is_told_and_run_again(lines, tmp_path, monkeypatch):
    def other(spec):
        made = identity_of(spec)
        if spec.method.name == "norm" and spec.memory.name == "fps":
            made["parts"]["method"]["version"] = 2
        return made

    monkeypatch.setattr("gotta.experiment.spec.run_spec.identity_of", other)
    planned = gotta.plan(SMALL, out=tmp_path / "new", start_from=lines)
    assert [spec.label for spec in planned.todo] == ["norm + fps, seed 0", "norm + fps, seed 1"]
    told = "2 runs there have the same settings and another version of method: they are run again."
    assert told in planned.notices()


def test_kept_runs_of_other_data_are_refused(store, tmp_path):
    path = tmp_path / "other.jsonl"
    run = store.runs()[0]
    path.write_text(line_of(replace(run, summary={**run.summary, "data_sha256": "0" * 64})) + "\n")
    with pytest.raises(GottaError, match=r"1 finished runs in .*other.jsonl' used other data"):
        gotta.plan(SMALL, out=tmp_path / "new", start_from=path)
    with pytest.raises(GottaError, match="there is no folder"):
        gotta.plan(SMALL, out=tmp_path / "new", start_from=tmp_path / "none")
