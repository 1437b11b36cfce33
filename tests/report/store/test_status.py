"""Looking at a store while others write to it."""

import json
import os
import subprocess
import sys

from made_runs import made, stored

from gotta.experiment.sweep.processes import machine, start_time
from gotta.report.store.status import look

NOW = 1_000_000.0


OTHER = {"node": "box", "machine": "00000000", "pid": 7, "started": "", "token": "t"}


def claim(root, id, age, number=1, progress=None, **who):
    folder = root / "leases" / id
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number:06}"
    heart = f".heart-00000000-7-{len(id)}" if progress else ""
    path.write_text(json.dumps({**OTHER, "heart": heart, **who}))
    os.utime(path, (NOW - age, NOW - age) if age is not None else (0, 0))
    if progress:
        (root / "leases" / heart).write_text(json.dumps({id: progress}))
        os.utime(root / "leases" / heart, (NOW - age, NOW - age))


def log(root, id, event):
    with (root / "leases" / "log.jsonl").open("a") as file:
        file.write(json.dumps({"time": NOW - 30, "id": id, "event": event}) + "\n")


def test_claims_are_told_by_their_last_sign(tmp_path):
    store = stored(tmp_path, [made()])
    claim(tmp_path, "works", 3, progress={"step": 30, "steps": 120, "accuracy": 51.23})
    claim(tmp_path, "again", 500, number=1)
    claim(tmp_path, "again", 2, number=2)  # taken over
    claim(tmp_path, "silent", 500)
    claim(tmp_path, "broken", None)
    log(tmp_path, "broken", "claimed")
    log(tmp_path, "broken", "failed")
    claim(tmp_path, "given-back", None)
    claim(tmp_path, made().id, 1)  # finished meanwhile
    found = look(store, NOW)
    states = {c.id: c.state for c in found.claims}
    expected = {"works": "running", "again": "running", "silent": "silent", "broken": "failed", "given-back": "waiting"}
    assert states == expected
    works = next(c for c in found.claims if c.id == "works")
    assert (works.progress, works.by, works.age) == ("step 30 of 120, accuracy 51.2", "box, process 7", 3.0)
    assert found.counts == ["2 running", "1 waiting", "1 silent", "1 failed"]


def test_folders_being_written_count_as_running(tmp_path):
    store = stored(tmp_path, [made()])
    for name, age in ((".abc.tmp-12-0123abcd-ff", 5), (".old.tmp-12-0123abcd-ff", 5000)):
        (tmp_path / "runs" / name).mkdir()
        os.utime(tmp_path / "runs" / name, (NOW - age, NOW - age))
    assert {c.id: c.state for c in look(store, NOW).claims} == {"abc": "running", "old": "silent"}


def test_damaged_logs_and_leases_stop_nothing(tmp_path):
    store = stored(tmp_path, [made()])
    claim(tmp_path, "x", 3)
    (tmp_path / "leases" / "x" / "000001").write_text("{")
    os.utime(tmp_path / "leases" / "x" / "000001", (NOW, NOW))
    (tmp_path / "leases" / "log.jsonl").write_text('{"id": "x"}\nhalf a li')
    (found,) = look(store, NOW).claims
    assert (found.state, found.by) == ("running", "?, process ?")


def test_what_is_no_lease_stops_nothing(tmp_path):
    store = stored(tmp_path, [made()])
    for id, pid in (("text", "seven"), ("list", [7]), ("none", None), ("huge", 10**30), ("all", -1), ("yes", True)):
        claim(tmp_path, id, 2, machine=machine(), pid=pid)
    claim(tmp_path, "noted", 2, progress={"step": "x", "steps": [], "accuracy": "y"})
    cell = tmp_path / "leases" / "odd"
    cell.mkdir()
    for name in ("²", "٣٣٣٣٣٣", "9" * 200, "1", "x"):
        (cell / name).write_text("{}")
    (cell / "000002").symlink_to(cell / "nowhere")
    pipe = tmp_path / "leases" / "pipe"
    pipe.mkdir()
    os.mkfifo(pipe / "000001")
    claim(tmp_path, "link", 2, heart="../../secret")
    claim(tmp_path, "piped", 2, heart=".heart-00000000-7-ff")
    os.mkfifo(tmp_path / "leases" / ".heart-00000000-7-ff")
    (tmp_path / "leases" / "log.jsonl").write_text('{"id": "odd", "time": "x"}\n[]\n' + "[" * 100_000 + "\n")
    found = {c.id: c.state for c in look(store, NOW).claims}
    assert found == {
        **dict.fromkeys(("text", "list", "none", "huge", "all", "yes", "noted", "link", "piped"), "running"),
        **dict.fromkeys(("odd", "pipe"), "waiting"),
    }


def test_a_log_that_is_a_pipe_is_not_waited_for(tmp_path):
    store = stored(tmp_path, [made()])
    claim(tmp_path, "x", 3)
    os.mkfifo(tmp_path / "leases" / "log.jsonl")
    assert look(store, NOW).counts == ["1 running"]


def test_a_process_of_this_machine_that_has_ended_is_told_at_once(tmp_path):
    store = stored(tmp_path, [made()])
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    claim(tmp_path, "mine", 2, machine=machine(), pid=os.getpid(), started=start_time(os.getpid()))
    claim(tmp_path, "reused", 2, machine=machine(), pid=os.getpid(), started="1")
    claim(tmp_path, "ended", 2, machine=machine(), pid=ended.pid)
    claim(tmp_path, "elsewhere", 2, machine="00000000", pid=ended.pid)
    states = {c.id: c.state for c in look(store, NOW).claims}
    assert states == {"mine": "running", "reused": "silent", "ended": "silent", "elsewhere": "running"}
