"""Stores on object storage: what several machines see of one another there, on a store in memory and on a local S3."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from experiment import tiny_sweep
from experiment.sweep.test_store import R1, id_of, named, write
from experiment.tiny_sweep import driver, numbers

from gotta import GottaError
from gotta.experiment.sweep import bucket as module
from gotta.experiment.sweep.bucket import Bucket, bucket_of, claims_of, name_of, pack, place_of
from gotta.experiment.sweep.cell import Work, execute
from gotta.experiment.sweep.kept import adopt, existing_runs, open_runs
from gotta.experiment.sweep.leases import Folder, Leases
from gotta.experiment.sweep.store import Run, Store
from gotta.report.store.status import look

OTHER = {"node": "elsewhere", "machine": "00000000", "pid": 1, "started": "", "token": "t"}


@pytest.fixture(autouse=True)
def machines(tmp_path, monkeypatch):
    """A function that goes to another machine: one with another folder of copies."""

    def go_to(name):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))

    go_to("first")
    return go_to


@pytest.fixture
def memory(request):
    from fsspec.implementations.memory import MemoryFileSystem

    yield f"memory://{request.node.name[:40].replace('[', '-').strip(']')}"
    MemoryFileSystem.store.clear()


@pytest.fixture(scope="module")
def s3_server():
    """A server of S3 on this machine, and nothing else that could be asked."""
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


@pytest.fixture
def s3(s3_server, monkeypatch, request):
    import boto3

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    name = f"b{abs(hash(request.node.name)) % 10**9}"
    boto3.client("s3").create_bucket(Bucket=name)
    return f"s3://{name}/runs"


@pytest.fixture(params=["memory", "s3"])
def address(request):
    return request.getfixturevalue(request.param)


def test_an_address_stands_for_a_folder_of_ours_and_nothing_else_does(tmp_path):
    place = place_of("s3://bucket/x/")
    assert place == place_of("s3:/bucket/x"), "as a Path writes it"
    assert place.parent == tmp_path / "first" / "gotta" / "stores"
    assert bucket_of(place).address == name_of(module.Path("s3://bucket/x")) == "s3://bucket/x"
    assert name_of(tmp_path) == str(tmp_path)
    assert place_of("runs/mini") == place_of(tmp_path / "runs" / "mini").relative_to(tmp_path)
    assert bucket_of(tmp_path / "s3%3A%2F%2Fbucket%2Fx") is None
    assert str(place_of("C:/runs")) == "C:/runs"


def test_a_run_that_one_machine_stores_is_a_run_on_every_machine(address, machines):
    store = Store(address, writable=True)
    write(store, steps=[{"step": 0}, {"step": 1}])
    kept = store.read(R1)
    machines("second")
    other = Store(address)
    assert other.root != store.root
    assert other.has(R1)
    run = other.read(R1)
    assert (run.spec, run.summary, list(run.steps())) == (kept.spec, kept.summary, list(kept.steps()))
    assert run.finished == pytest.approx(kept.finished, abs=1)
    write(other, "r2")
    machines("third")
    assert sorted(id for id, _ in Store(address).scan()) == sorted([R1, id_of("r2")])
    assert [run.id for run in existing_runs(module.Path(address)).runs()] == sorted([R1, id_of("r2")])


def test_of_two_who_store_a_run_the_first_is_what_all_have(address, machines):
    first = Store(address, writable=True)
    machines("second")
    second = Store(address, writable=True)
    identity = {"format": 3, "settings": named("r1"), "parts": {}}
    machines("first")
    assert first.write(Run(R1, named("r1"), {"accuracy": 1.0}, {}, identity=identity), [])
    machines("second")
    assert not second.write(Run(R1, named("r1"), {"accuracy": 2.0}, {}, identity=identity), [])
    assert second.read(R1).summary == {"accuracy": 1.0}


def test_a_damaged_object_is_stored_anew(memory, machines, tmp_path):
    store = Store(memory, writable=True)
    write(store)
    bucket, name = Bucket(memory), f"runs/{R1}.tar.gz"
    whole = bucket.read(name)[0]
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / "passwd").write_text("x")
    for number, content in enumerate((whole[: len(whole) // 2], b"", b"x", pack(hostile))):
        machines(f"other {number}")
        bucket.replace(name, content)
        if number == 3:
            with pytest.raises(GottaError, match="'passwd' is not a file of a run"):
                Store(memory).has(R1)
            continue
        again = Store(memory, writable=True)
        assert not again.has(R1)
        write(again)
        assert again.has(R1)
        machines(f"third {number}")
        assert Store(memory).has(R1)


def test_of_many_who_claim_one_cell_one_has_it(address):
    bucket = Bucket(address)
    assert isinstance(claims_of(place_of(address)), Bucket)
    barrier = threading.Barrier(8)

    def claim(_):
        leases = Leases(place_of(address), files=bucket)
        barrier.wait()
        return leases.claim("cell")

    with ThreadPoolExecutor(8) as pool:
        found = [lease for lease in pool.map(claim, range(8)) if lease]
    assert len(found) == 1
    assert Leases("", files=bucket).numbers("cell") == [1]
    Leases(place_of(address), files=bucket).release(found[0], "stopped")
    assert Leases(place_of(address), files=bucket).claim("cell").number == 2


def test_a_holder_elsewhere_lives_as_long_as_its_heart_beats(memory, monkeypatch):
    bucket, now = Bucket(memory), [100.0]
    monkeypatch.setattr("gotta.experiment.sweep.leases.time.monotonic", lambda: now[0])
    heart = ".heart-00000000-1-aa"
    bucket.replace("leases/cell/000001", json.dumps({**OTHER, "heart": heart}).encode())
    bucket.replace(f"leases/{heart}", b"{}")
    leases = Leases(place_of(memory), limit=60, files=bucket)
    for _ in range(3):
        assert leases.claim("cell") is None
        now[0] += 50
        bucket.replace(f"leases/{heart}", b'{"cell": {"step": 1, "steps": 2, "accuracy": 50.0}}')
    assert leases.claim("cell") is None
    assert leases.progress()["cell"]["step"] == 1
    assert [(claim.id, claim.state, claim.progress) for claim in look(Store(memory)).claims] == [
        ("cell", "running", "step 1 of 2, accuracy 50.0")
    ]
    now[0] += 61
    assert leases.claim("cell").number == 2
    assert Leases("", files=bucket).cells() == {"cell": [1, 2]}


def test_where_nothing_is_created_exclusively_the_folder_of_the_engine_has_the_claims(memory, monkeypatch):
    monkeypatch.setattr(Bucket, "create", lambda self, name, content: self.replace(name, content) is None)
    assert isinstance(claims_of(place_of(memory)), Folder)
    assert Bucket(memory).names("") == [], "the probe is gone"


def test_cells_of_a_sweep_are_stored_and_claims_are_given_back(memory, machines, monkeypatch):
    tiny_sweep.use_tiny(monkeypatch)
    (spec,) = tiny_sweep.specs(1)
    work = Work(str(place_of(memory)))
    assert execute(spec, work, lambda event: None).kind == "finished"
    machines("second")
    elsewhere = Work(str(place_of(memory)))
    events = []
    assert execute(spec, elsewhere, events.append).kind == "finished"
    assert [event.kind for event in events] == ["finished"], "it is not computed again"
    assert Bucket(memory).names("runs") == [f"{spec.id}.tar.gz"]
    assert Leases("", files=Bucket(memory)).cells() == {}


def test_two_machines_share_a_sweep_on_s3_and_one_is_killed(s3, machines, tmp_path):
    calm = driver(tmp_path / "calm", 5)
    drivers = []
    for name in ("second", "third"):
        machines(name)
        drivers.append(driver(place_of(s3), 5, pause=0.05))
    while not Store(s3).bucket.names("runs"):
        time.sleep(0.05)
    drivers[0].kill()
    for process in (calm, *drivers):
        process.join(120)
    assert [calm.exitcode, drivers[1].exitcode] == [0, 0]
    machines("fourth")
    assert numbers(s3) == numbers(tmp_path / "calm")
    assert len(numbers(s3)) == 5


def test_a_folder_is_compared_with_an_address(memory):
    from cli.shell import gotta

    kept = open_runs(Path(__file__).parents[3] / "results" / "sample.jsonl")
    adopt(kept, [run.id for run in kept.runs()][:2], Store(memory))
    told = gotta("compare", kept.root, memory)
    assert f"B: {memory}\n" in told
    assert gotta("compare", memory, kept.root).startswith(f"A: {memory}\n")


@pytest.mark.parametrize("address", ["nosuch://bucket/x", "s3://no-such-bucket-here/x"])
def test_what_cannot_be_opened_is_one_message(address, request):
    if address.startswith("s3"):
        request.getfixturevalue("s3")
    with pytest.raises(GottaError, match=r"cannot (open|write to) '(nosuch|s3)://"):
        Store(address, writable=True)
