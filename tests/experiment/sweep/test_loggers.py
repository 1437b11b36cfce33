"""TensorBoard is used for real; Weights & Biases and MLflow are stand-ins that keep what they are called with."""

import subprocess
import sys
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

import pytest

from gotta import GottaError
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.loggers import Log, make_logger
from gotta.experiment.sweep.store import Store
from gotta.experiment.sweep.sweep import Event, sweep

SPEC = RunSpec.of(
    {
        "method": {"name": "norm"},
        "memory": {"name": "fps", "capacity": 8},
        "stream": {"per_class": 2, "domains": ["snow"]},
    }
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    made = Store(tmp_path_factory.mktemp("store"), writable=True)
    assert sweep([SPEC], made, 1, 1, lambda event: None) == []
    return made


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_for_real(store, tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = Log([f"tensorboard:{tmp_path}"], store, [SPEC])
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
    Log([f"tensorboard:{tmp_path}"], store, [SPEC])
    assert sorted(folder.iterdir()) == before, "a run that was logged is not logged again"
    half = tmp_path / f".{folder.name}"
    folder.rename(half)  # as a sweep leaves it that is killed meanwhile
    (half / "half").touch()
    Log([f"tensorboard:{tmp_path}"], store, [SPEC])
    assert list(tmp_path.iterdir()) == [folder]
    assert len(list(folder.iterdir())) == len(before)


@pytest.fixture
def wandb(monkeypatch):
    calls = SimpleNamespace(init=[], log=[], summary={}, finished=0)

    class Logged:
        summary = calls.summary

        def log(self, numbers, step):
            calls.log.append((step, numbers))

        def finish(self):
            calls.finished += 1

    module = ModuleType("wandb")
    module.init = lambda **arguments: calls.init.append(arguments) or Logged()
    monkeypatch.setitem(sys.modules, "wandb", module)
    return calls


@pytest.fixture
def mlflow(monkeypatch):
    calls = SimpleNamespace(address=None, params={}, metrics=[], tags=None, finished=[])

    @contextmanager
    def start_run(run_name, tags):
        calls.tags = tags
        yield
        calls.finished.append(tags["gotta.id"])

    def search_runs(experiment_names, filter_string, max_results, output_format):
        assert (experiment_names, max_results, output_format) == (["gotta"], 1, "list")
        _, id, _, status, _ = filter_string.split("'")
        assert (filter_string, status) == (f"tags.`gotta.id` = '{id}' and attributes.status = 'FINISHED'", "FINISHED")
        return [found for found in calls.finished if found == id]

    module = ModuleType("mlflow")
    module.set_tracking_uri = lambda address: setattr(calls, "address", address)
    module.set_experiment = lambda name: None
    module.start_run = start_run
    module.search_runs = search_runs
    module.log_params = calls.params.update
    module.log_metrics = lambda numbers, step=None: calls.metrics.append((step, numbers))
    monkeypatch.setitem(sys.modules, "mlflow", module)
    return calls


def test_wandb(store, wandb):
    Log(["wandb:mine"], store, [SPEC])
    assert (wandb.init[0]["project"], wandb.init[0]["id"]) == ("mine", SPEC.id)
    assert wandb.init[0]["config"]["memory"]["name"] == "fps"
    assert [step for step, _ in wandb.log] == [0, 1, 2]
    assert {"accuracy", "step_accuracy", "memory/occupancy"} <= wandb.log[0][1].keys()
    assert wandb.summary["accuracy"] == store.read(SPEC.id).summary["accuracy"]
    assert wandb.finished == 1


def test_mlflow(store, mlflow):
    Log(["mlflow"], store, [SPEC])
    assert mlflow.address.startswith("file:")
    assert mlflow.tags == {"gotta.id": SPEC.id}
    assert mlflow.params["memory.name"] == "fps"
    assert [step for step, _ in mlflow.metrics] == [0, 1, 2, None]
    assert not any("/" in key for _, numbers in mlflow.metrics for key in numbers if not key.startswith("summary."))
    Log(["mlflow"], store, [SPEC])
    assert mlflow.finished == [SPEC.id], "a run that was logged is not logged again"


def test_runs_are_logged_as_they_finish(tmp_path, wandb):
    store, heard = Store(tmp_path, writable=True), []
    log = Log(["wandb"], store, [SPEC])
    assert wandb.init == []
    sweep([SPEC], store, 1, 1, log.listening(heard.append))
    assert len(wandb.init) == 1
    assert heard[-1].kind == "finished"


def test_trouble_of_a_logger_costs_no_run(store, wandb, monkeypatch):
    monkeypatch.setattr(sys.modules["wandb"], "init", lambda **arguments: 1 / 0)
    log = Log(["wandb"], store, [SPEC])
    log.listening(lambda event: None)(Event("finished", SPEC.id))
    assert log.problems == {"WandB": "ZeroDivisionError: division by zero"}


def test_unknown_and_missing_loggers(tmp_path, monkeypatch):
    with pytest.raises(GottaError, match="Did you mean 'tensorboard'"):
        make_logger("tensorbord", tmp_path)
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(GottaError, match=r"Install gotta\[wandb\]"):
        make_logger("wandb", tmp_path)


def test_nothing_is_imported_unless_asked_for():
    code = (
        "import sys; import gotta.experiment.sweep.loggers as l; l.Log([], None, []); "
        "print(*(m for m in ('tensorboard', 'wandb', 'mlflow') if m in sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""
