import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

from gotta import GottaError
from gotta.experiment.sweep import leases as module
from gotta.experiment.sweep.leases import Leases
from gotta.experiment.sweep.processes import machine, start_time

OTHER = {"node": "elsewhere", "machine": "00000000", "pid": 1, "started": "", "token": "t"}
HEART = ".heart-00000000-1-aa"


def plant(leases, id="cell", number=1, age=0.0, **who):
    """A lease as another process would have left it `age` seconds ago."""
    path = leases.folder / id / f"{number:06}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**OTHER, **who}))
    os.utime(path, (time.time() - age,) * 2)
    return path


def beat(leases, at):
    """A heartbeat of a process elsewhere, by a clock there that may show anything."""
    (leases.folder / HEART).write_text("{}")
    os.utime(leases.folder / HEART, (at, at))


@pytest.fixture
def clock(monkeypatch):
    """This process's own clock, which goes on when told to."""
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def ended_process():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def events(leases):
    return [line["event"] for line in leases.history()]


def test_a_cell_is_held_by_one_and_free_after_its_release(tmp_path):
    one, two = Leases(tmp_path), Leases(tmp_path)
    lease = one.claim("cell")
    assert lease is not None
    assert two.claim("cell") is None
    assert two.holder("cell").pid == os.getpid()
    one.release(lease, "failed")
    assert two.holder("cell") is None
    again = two.claim("cell")
    assert again.number == 2
    two.release(again, "finished")
    assert events(one) == ["claimed", "failed", "taken over", "finished"]
    assert [path.name for path in one.folder.iterdir()] == ["log.jsonl"]


def test_the_cell_of_a_process_known_dead_is_taken_over_at_once(tmp_path):
    leases = Leases(tmp_path)
    plant(leases, machine=machine(), pid=ended_process())
    assert leases.holder("cell") is None
    assert leases.claim("cell").number == 2


def test_a_process_id_that_is_used_again_is_not_the_holder(tmp_path):
    leases = Leases(tmp_path)
    plant(leases, machine=machine(), pid=os.getpid(), started="1")
    assert leases.claim("cell") is not None
    plant(leases, "mine", machine=machine(), pid=os.getpid(), started=start_time(os.getpid()))
    assert leases.claim("mine") is None


def test_a_holder_elsewhere_is_trusted_until_its_heart_was_silent_for_too_long(tmp_path, clock):
    leases = Leases(tmp_path, limit=60)
    plant(leases, heart=HEART)
    for at in (5e8, 4e8, 9e9):  # its clock is set back and forth
        beat(leases, at)
        assert leases.claim("cell") is None
        clock[0] += 59
    assert leases.claim("cell") is None
    clock[0] += 2
    assert leases.holder("cell") is None
    assert leases.claim("cell") is not None


def test_who_looks_for_the_first_time_watches_first(tmp_path, clock):
    """However old the files look: no clock of another machine is trusted."""
    leases = Leases(tmp_path, limit=60)
    plant(leases, age=1e6)
    assert leases.claim("cell") is None
    clock[0] += 61
    assert leases.claim("cell") is not None


def test_a_process_of_this_machine_lives_whatever_the_clocks_say(tmp_path, clock):
    mine = {"machine": machine(), "pid": os.getpid(), "started": start_time(os.getpid())}
    leases = Leases(tmp_path, limit=60)
    for age in (-3600, 3600):
        plant(leases, f"cell{age}", age=age, **mine)
        assert leases.claim(f"cell{age}") is None
    clock[0] += 3600
    assert leases.claim("cell3600") is None
    assert leases.holder("cell-3600") is not None


def test_a_claim_found_dead_is_given_back_so_that_others_need_not_watch_it(tmp_path, clock):
    leases = Leases(tmp_path, limit=60)
    plant(leases)
    assert not leases.free("cell")
    clock[0] += 61
    assert leases.free("cell")
    assert Leases(tmp_path).claim("cell").number == 3
    assert not leases.free("cell")
    assert leases.free("another")


def test_a_holder_that_was_taken_over_finds_out_that_it_lost(tmp_path, monkeypatch):
    slow, quick = Leases(tmp_path, beat=1000), Leases(tmp_path)
    lease = slow.claim("cell")
    with monkeypatch.context() as patch:
        patch.setattr(module, "alive", lambda pid, since: False)
        assert quick.claim("cell") is not None
    lease.check()
    assert lease.lost
    slow.release(lease, "failed")
    assert quick.holder("cell") is not None
    assert events(slow)[-1] == "lost"


def test_a_holder_whose_files_are_gone_finds_out(tmp_path):
    leases = Leases(tmp_path, beat=1000)
    lease = leases.claim("cell")
    (leases.folder / "cell" / "000001").unlink()
    lease.check()
    assert lease.lost


def test_one_heart_beats_for_all_cells_and_tells_their_progress(tmp_path):
    leases = Leases(tmp_path, beat=0.05)
    held = [leases.claim(f"cell{number}") for number in range(3)]
    (heart,) = leases.folder.glob(".heart-*")
    before = heart.stat().st_mtime_ns
    held[1].progress = {"step": 3, "steps": 9, "accuracy": 50.0}
    for _ in range(100):
        time.sleep(0.05)
        if leases.progress():
            break
    assert leases.progress() == {"cell1": held[1].progress}
    assert heart.stat().st_mtime_ns != before
    for lease in held:
        assert heart.exists()
        leases.release(lease, "finished")
    assert not heart.exists()


def test_the_heart_of_a_killed_process_is_removed_by_the_next(tmp_path):
    leases = Leases(tmp_path)
    leases.folder.mkdir()
    dead, elsewhere = f".heart-{machine()}-{ended_process()}-aa", HEART
    for name in (dead, elsewhere):
        (leases.folder / name).touch()
    leases.tidy()
    assert [path.name for path in leases.folder.iterdir()] == [elsewhere]


@pytest.mark.parametrize("stale", [False, True])
def test_of_many_exactly_one_wins(tmp_path, stale):
    ready, won = threading.Barrier(16), []
    if stale:
        plant(Leases(tmp_path), machine=machine(), pid=ended_process())

    def work():
        leases = Leases(tmp_path)
        ready.wait()
        if lease := leases.claim("cell"):
            won.append(lease.number)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [2 if stale else 1]


def _grab(root, seed):
    """Claim, note, finish or die, over and over."""
    import random

    rng, leases = random.Random(seed), Leases(root)
    for _ in range(40):
        id = f"cell{rng.randrange(4)}"
        if not (lease := leases.claim(id)):
            continue
        guard = root / f"{id}.busy"
        try:
            guard.mkdir()  # fails if somebody else is at it
        except FileExistsError:
            (root / "clash").touch()
        time.sleep(rng.random() / 500)
        guard.rmdir()
        if rng.random() < 0.02:
            os._exit(1)
        leases.release(lease, rng.choice(["finished", "failed"]))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_that_come_and_die_never_hold_a_cell_together(tmp_path):
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_grab, args=(tmp_path, seed)) for seed in range(6)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert not (tmp_path / "clash").exists()
    assert Counter(events(Leases(tmp_path)))["taken over"] > 0


def test_without_hard_links_creation_is_exclusive_all_the_same(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(module.errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(module.os, "link", refused)
    leases = Leases(tmp_path)
    assert leases.claim("cell") is not None
    assert Leases(tmp_path).claim("cell") is None


def test_a_lost_answer_of_the_file_server_does_not_lose_the_lease(tmp_path, monkeypatch):
    link = os.link

    def twice(source, target):
        link(source, target)
        raise FileExistsError(module.errno.EEXIST, "File exists")

    monkeypatch.setattr(module.os, "link", twice)
    assert Leases(tmp_path).claim("cell") is not None


def test_a_full_disk_is_one_message(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(module.errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module.Path, "write_bytes", full)
    with pytest.raises(GottaError, match="No space left on device"):
        Leases(tmp_path).claim("cell")


def test_a_damaged_log_is_read_as_far_as_it_goes(tmp_path):
    leases = Leases(tmp_path)
    leases.release(leases.claim("cell"), "finished")
    with (leases.folder / "log.jsonl").open("a") as log:
        log.write('{"time": 1, "ev')
    assert events(leases) == ["claimed", "finished"]


@pytest.mark.parametrize("pid", ["seven", [7], None, -1, 0, 10**30, True, 1.5])
def test_a_process_id_that_is_none_keeps_nobody_out_for_long(tmp_path, pid, clock):
    leases = Leases(tmp_path, limit=60)
    plant(leases, machine=machine(), pid=pid)
    assert leases.claim("cell") is None, "its heart is waited for"
    clock[0] += 61
    assert leases.holder("cell") is None
    assert leases.claim("cell").number == 2


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"pid": ' + "1" * 5000 + "}", "null", "[1]", '{"pid": NaN}', "x" * 10**6]
)
def test_a_lease_that_no_program_should_hold_is_old_one_day(tmp_path, text, clock):
    leases = Leases(tmp_path, limit=60)
    plant(leases).write_text(text)
    assert leases.claim("cell") is None
    clock[0] += 61
    assert leases.claim("cell").number == 2


@pytest.mark.parametrize("kind", ["dangling", "loop", "link", "pipe"])
def test_what_is_no_file_is_no_lease(tmp_path, kind):
    leases = Leases(tmp_path)
    path = leases.folder / "cell" / "000001"
    path.parent.mkdir(parents=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        living = plant(leases, "other")
        path.symlink_to({"dangling": tmp_path / "nowhere", "loop": path, "link": living}[kind])
    assert leases.holder("cell") is None
    lease = leases.claim("cell")
    assert lease.number == 2
    leases.release(lease, "finished")
    assert not path.parent.exists()


def test_names_that_no_claim_has_are_passed_over(tmp_path):
    leases = Leases(tmp_path)
    (leases.folder / "cell").mkdir(parents=True)
    for name in ("²", "٣٣٣٣٣٣", "1", "0000001", "9" * 200, "-00001", " 00001"):
        (leases.folder / "cell" / name).write_text("")
    assert leases.holder("cell") is None
    assert leases.claim("cell").number == 1


def test_the_log_is_never_written_elsewhere(tmp_path):
    leases, outside = Leases(tmp_path / "store"), tmp_path / "outside"
    outside.write_text("")
    leases.folder.mkdir(parents=True)
    (leases.folder / "log.jsonl").symlink_to(outside)
    leases.release(leases.claim("cell"), "finished")
    assert outside.read_text() == ""
    (leases.folder / "log.jsonl").unlink()
    os.mkfifo(leases.folder / "log.jsonl")
    leases.release(leases.claim("cell"), "finished")


@pytest.mark.parametrize("damage", ["bytes", "folder", "to come"])
def test_a_damaged_lease_keeps_nobody_out_for_long(tmp_path, damage, clock):
    leases = Leases(tmp_path, limit=60)
    path = plant(leases, age=-1000 if damage == "to come" else 0)
    if damage == "bytes":
        path.write_bytes(b"\xff\xfe\x00")
    if damage == "folder":
        path.unlink()
        path.mkdir()
    assert leases.claim("cell") is None, "its holder may live"
    clock[0] += 61
    assert leases.holder("cell") is None
    lease = leases.claim("cell")
    assert lease.number == 2
    leases.release(lease, "finished")
    assert not path.exists()


@pytest.mark.parametrize("name", ["leases", "leases/cell"])
def test_a_file_in_the_place_of_a_folder_is_one_message(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("")
    leases = Leases(tmp_path)
    assert leases.holder("cell") is None
    with pytest.raises(GottaError, match="cannot claim a run"):
        leases.claim("cell")
