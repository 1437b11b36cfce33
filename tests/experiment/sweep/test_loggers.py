"""TensorBoard, Weights & Biases (offline) and MLflow (sqlite), for real; each is skipped where it is missing."""

import json
import shutil
import subprocess
import sys

import pytest
from experiment.tiny_sweep import sweep

from gotta import GottaError
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.loggers import LOGGERS, Log, make_logger
from gotta.experiment.sweep.store import Store
from gotta.experiment.sweep.sweep import Event

SPEC = RunSpec.of(
    {
        "method": {"name": "norm"},
        "memory": {"name": "fps", "capacity": 8},
        "stream": {"per_class": 2, "domains": ["snow"]},
    }
)
NAMES = {SPEC.id: "norm + fps"}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    made = Store(tmp_path_factory.mktemp("store"), writable=True)
    assert sweep([SPEC], made, 1, 1, lambda event: None) == []
    return made


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_for_real(store, tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = Log([f"tensorboard:{tmp_path}"], store, NAMES)
    assert log.problems == {}
    (folder,) = tmp_path.iterdir()
    assert SPEC.id in folder.name
    events = EventAccumulator(str(folder))
    events.Reload()
    run = store.read(SPEC.id)
    accuracy = events.Scalars("accuracy")
    assert [point.step for point in accuracy] == [step["step"] for step in run.steps()]
    assert accuracy[-1].value == pytest.approx(run.summary["accuracy"], abs=1e-4)
    assert events.Scalars("memory/occupancy")[-1].value == pytest.approx(run.summary["buffer"]["occupancy"])
    assert events.Scalars("summary/accuracy")[0].value == pytest.approx(run.summary["accuracy"], abs=1e-4)
    before = sorted(folder.iterdir())
    Log([f"tensorboard:{tmp_path}"], store, NAMES)
    assert sorted(folder.iterdir()) == before, "a run that was logged is not logged again"
    half = tmp_path / f".{folder.name}"
    folder.rename(half)  # as a sweep leaves it that is killed meanwhile
    (half / "half").touch()
    Log([f"tensorboard:{tmp_path}"], store, NAMES)
    assert list(tmp_path.iterdir()) == [folder]
    assert len(list(folder.iterdir())) == len(before)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of another program
def test_mlflow_for_real(store, tmp_path):
    mlflow = pytest.importorskip("mlflow")
    spot = tmp_path / "store"
    shutil.copytree(store.root, spot)
    assert Log(["mlflow"], Store(spot), NAMES).problems == {}
    client = mlflow.MlflowClient(f"sqlite:///{spot / 'mlflow.db'}")
    home = client.get_experiment_by_name("gotta")
    assert home.artifact_location == (spot / "mlflow").as_uri()
    (logged,) = client.search_runs([home.experiment_id])
    run = store.read(SPEC.id)
    assert (logged.info.status, logged.info.run_name) == ("FINISHED", NAMES[SPEC.id])
    assert logged.data.tags["gotta.id"] == SPEC.id
    assert logged.data.params["memory.name"] == "fps"
    assert logged.data.metrics["summary.accuracy"] == run.summary["accuracy"]
    accuracy = client.get_metric_history(logged.info.run_id, "accuracy")
    assert [point.step for point in accuracy] == [step["step"] for step in run.steps()]
    assert accuracy[-1].value == pytest.approx(run.summary["accuracy"])
    Log(["mlflow"], Store(spot), NAMES)
    assert len(client.search_runs([home.experiment_id])) == 1, "a run that was logged is not logged again"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_run_that_mlflow_has_half_of_is_logged_again(store, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    address = f"sqlite:///{tmp_path / 'own.db'}"
    with monkeypatch.context() as patch:
        patch.setattr(mlflow.MlflowClient, "set_terminated", lambda *given: 1 / 0)
        log = Log([f"mlflow:{address}"], store, NAMES)
    assert log.problems == {"MLflow": "ZeroDivisionError: division by zero"}
    assert Log([f"mlflow:{address}"], store, NAMES).problems == {}
    client = mlflow.MlflowClient(address)
    (home,) = [found.experiment_id for found in client.search_experiments() if found.name == "gotta"]
    assert sorted(run.info.status for run in client.search_runs([home])) == ["FINISHED", "RUNNING"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_an_address_that_mlflow_refuses_is_one_clear_error(tmp_path):
    pytest.importorskip("mlflow")
    with pytest.raises(GottaError, match=r"--log mlflow:nonsense://x cannot be used"):
        make_logger("mlflow:nonsense://x", tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_wandb_for_real(store, tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    spot = tmp_path / "store"
    shutil.copytree(store.root, spot)
    assert Log(["wandb:mine"], Store(spot), NAMES).problems == {}
    (folder,) = spot.glob(f"wandb/offline-run-*-{SPEC.id}")
    found = read_wandb(folder / f"run-{SPEC.id}.wandb")
    run = store.read(SPEC.id)
    assert (found["run"].project, found["run"].run_id, found["run"].display_name) == ("mine", SPEC.id, NAMES[SPEC.id])
    assert [row["_step"] for row in found["history"]] == [step["step"] for step in run.steps()]
    assert {"accuracy", "step_accuracy", "memory/occupancy"} <= found["history"][0].keys()
    assert found["summary"]["accuracy"] == run.summary["accuracy"]
    Log(["wandb:mine"], Store(spot), NAMES)
    assert list(spot.glob(f"wandb/offline-run-*-{SPEC.id}")) == [folder], "a run that was logged is not logged again"


def read_wandb(path):
    """What stands in the file that `wandb sync` would send."""
    from wandb.proto.wandb_internal_pb2 import Record

    found = {"history": [], "summary": {}}
    for record in map(Record.FromString, read_records(path.read_bytes())):
        kind = record.WhichOneof("record_type")
        if kind == "run":
            found["run"] = record.run
        elif kind == "history":
            found["history"].append({**read_items(record.history.item), "_step": record.history.step.num})
        elif kind == "summary":
            found["summary"] |= read_items(record.summary.update)
    return found


def read_items(items):
    return {item.key or item.nested_key[0]: json.loads(item.value_json) for item in items}


def read_records(data):
    """The records of a log in LevelDB's form, behind 7 bytes of a heading: parts in blocks of 32 KiB."""
    at, whole = 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:  # the rest of a block that no part fits into
            at += 32768 - at % 32768
            continue
        length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        whole += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # a whole one, or the last part of one
            yield whole
            whole = b""


class Kept:
    """A logger that keeps what it is told."""

    def __init__(self, where, root):
        self.runs = []

    def log(self, run, name):
        self.runs.append((run.id, name))


def test_runs_are_logged_as_they_finish(tmp_path, monkeypatch):
    monkeypatch.setitem(LOGGERS, "kept", Kept)
    store, heard = Store(tmp_path, writable=True), []
    log = Log(["kept"], store, NAMES)
    assert log.loggers[0].runs == []
    sweep([SPEC], store, 1, 1, log.listening(heard.append))
    assert log.loggers[0].runs == [(SPEC.id, NAMES[SPEC.id])]
    assert heard[-1].kind == "finished"


def test_trouble_of_a_logger_costs_no_run(store, monkeypatch):
    monkeypatch.setitem(LOGGERS, "kept", Kept)
    monkeypatch.setattr(Kept, "log", lambda self, run, name: 1 / 0)
    log = Log(["kept"], store, NAMES)
    log.listening(lambda event: None)(Event("finished", SPEC.id))
    assert log.problems == {"Kept": "ZeroDivisionError: division by zero"}


def test_unknown_and_missing_loggers(tmp_path, monkeypatch):
    with pytest.raises(GottaError, match="Did you mean 'tensorboard'"):
        make_logger("tensorbord", tmp_path)
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(GottaError, match=r"pip install 'gotta-tta\[wandb\]'"):
        make_logger("wandb", tmp_path)


def test_nothing_is_imported_unless_asked_for():
    code = (
        "import sys; import gotta.experiment.sweep.loggers as l; l.Log([], None, {}); "
        "print(*(m for m in ('tensorboard', 'wandb', 'mlflow') if m in sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""
