"""Finished runs for the viewers people have: TensorBoard, Weights & Biases, MLflow; imported only if asked for.

Runs are logged from the store, when they are finished, by the process that leads the sweep: the workers know nothing of
it, and a sweep that is continued logs each run once.
"""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from time import time
from typing import Any

from gotta.errors import check_known, import_extra, one_error
from gotta.experiment.spec.dotted import flatten
from gotta.experiment.sweep.store import Run, Store
from gotta.experiment.sweep.sweep import Event, Listener

Numbers = dict[str, float]
NEEDS = "--log needs the package {}"
EXPERIMENT, TAG = "gotta", "gotta.id"  # names in MLflow
DONE = "logged-by-gotta"  # a file beside what wandb has written of a run


class TensorBoard:
    """One folder of events per run, below `where`, whole or not at all; a run whose folder is there is left alone."""

    def __init__(self, where: str, root: Path) -> None:
        self.folder = Path(where or root / "tensorboard")
        self.module = import_extra("torch.utils.tensorboard", NEEDS.format("tensorboard"), "tensorboard")

    def log(self, run: Run, name: str) -> None:
        folder = self.folder / (re.sub(r"[^\w+=.]", "-", name.replace(" ", "")) + f"-{run.id}")
        if folder.exists():
            return
        aside = folder.with_name(f".{folder.name}")
        shutil.rmtree(aside, ignore_errors=True)  # what a killed sweep has left
        with self.module.SummaryWriter(str(aside)) as writer:
            writer.add_text("spec", "\n".join(f"    {key}: {value}" for key, value in flatten(run.spec).items()))
            for step, key, value in _points(run):
                writer.add_scalar(key, value, step)
        aside.rename(folder)


class WandB:
    """One run of Weights & Biases per run, by the same id, in the project `where`; offline with WANDB_MODE=offline.

    A run that was logged to its end before, here, is left alone.
    """

    def __init__(self, where: str, root: Path) -> None:
        self.project, self.folder = where or EXPERIMENT, root
        self.module = import_extra("wandb", NEEDS.format("wandb"), "wandb")

    def log(self, run: Run, name: str) -> None:
        if any(self.folder.glob(f"wandb/*-{run.id}/{DONE}")):
            return
        logged = self.module.init(
            project=self.project,
            id=run.id,
            name=name,
            config=run.spec,
            dir=str(self.folder),
            settings=self.module.Settings(silent=True, console="off"),  # the terminal shows the sweep
        )
        folder = Path(logged.dir).parent
        for step, numbers in _steps(run):
            logged.log(numbers, step=step)
        logged.summary.update(_summary(run))
        logged.finish()
        (folder / DONE).touch()


class MLflow:
    """One run of MLflow per run, tagged by its id; `where` is a tracking address, by default a database in the store.

    A run that was logged to its end before is left alone.
    """

    def __init__(self, where: str, root: Path) -> None:
        self.module = import_extra("mlflow", NEEDS.format("mlflow"), "mlflow")
        home = root.absolute()
        self.client = self.module.MlflowClient(where or f"sqlite:///{(home / 'mlflow.db').as_posix()}")
        found = self.client.get_experiment_by_name(EXPERIMENT)
        files = None if where else (home / "mlflow").as_uri()
        self.experiment = found.experiment_id if found else self.client.create_experiment(EXPERIMENT, files)

    def log(self, run: Run, name: str) -> None:
        finished = f"tags.`{TAG}` = '{run.id}' and attributes.status = 'FINISHED'"
        if self.client.search_runs([self.experiment], finished, max_results=1):
            return
        id = self.client.create_run(self.experiment, tags={TAG: run.id}, run_name=name).info.run_id
        now, kinds = int(1000 * time()), self.module.entities
        settings = [kinds.Param(key, str(value)) for key, value in flatten(run.spec).items()]
        points = [kinds.Metric(key.replace("/", "."), value, now, step) for step, key, value in _points(run)]
        self.client.log_batch(id, metrics=points, params=settings)
        self.client.set_terminated(id)


Logger = TensorBoard | WandB | MLflow  # each logs everything of one finished run
LOGGERS: dict[str, type[Logger]] = {"tensorboard": TensorBoard, "wandb": WandB, "mlflow": MLflow}


def check_logger(text: str) -> None:
    """Raises where nobody knows the logger in `name` or `name:where`."""
    check_known("logger", text.partition(":")[0], LOGGERS)


def make_logger(text: str, root: Path) -> Logger:
    """A logger from `name` or `name:where`."""
    check_logger(text)
    name, _, where = text.partition(":")
    with one_error(f"--log {text} cannot be used"):  # an address that does not answer, a wrong version
        return LOGGERS[name](where, root)


class Log:
    """Logs the runs of a sweep: those that are finished already at once, the others as they finish.

    What goes wrong in another program must not cost a sweep, so it is kept in `problems`, the first for each logger.
    """

    def __init__(self, texts: Sequence[str], store: Store, names: Mapping[str, str]) -> None:
        """`names` is what to call each run of the sweep, by its id."""
        self.loggers = [make_logger(text, store.root) for text in texts]
        self.store, self.names = store, names
        self.problems: dict[str, str] = {}
        for id in names if texts else ():
            if store.has(id):
                self.log(id)

    def log(self, id: str) -> None:
        run = self.store.read(id)
        for logger in self.loggers:
            try:
                logger.log(run, self.names[id])
            except Exception as error:
                self.problems.setdefault(type(logger).__name__, f"{type(error).__name__}: {error}")

    def listening(self, listen: Listener) -> Listener:
        """The listener of a sweep, with logging."""

        def heard(event: Event) -> None:
            listen(event)
            if event.kind == "finished":
                self.log(event.id)

        return heard if self.loggers else listen


def _points(run: Run) -> Iterator[tuple[int, str, float]]:
    """Each number of the steps, and at step 0 those of the whole run."""
    summary = {f"summary/{key}": value for key, value in _summary(run).items()}
    for step, numbers in chain(_steps(run), [(0, summary)]):
        yield from ((step, key, value) for key, value in numbers.items())


def _steps(run: Run) -> Iterator[tuple[int, Numbers]]:
    """Accuracy so far and of the step, what the memory looks like, and the method's own measurements."""
    right = seen = 0
    for step in run.steps():
        right, seen = right + step["correct"], seen + step["samples"]
        own = {key: value for key, value in step.items() if key not in ("step", "correct", "samples", "accuracy")}
        accuracies = {"accuracy": 100 * right / seen, "step_accuracy": step["accuracy"]}
        yield step["step"], accuracies | _numbers(step["memory"], "memory/") | _numbers(own, "method/")


def _summary(run: Run) -> Numbers:
    kept = ("accuracy", "error", "seconds", "adaptations", "missed")
    domains = {f"domain/{domain['name']}": domain["accuracy"] for domain in run.summary["online"]["domains"]}
    own = _numbers({key: run.summary.get(key) for key in kept} | domains)
    return own | _numbers(run.summary["buffer"], "memory/")


def _numbers(section: dict[str, Any], prefix: str = "") -> Numbers:
    return {f"{prefix}{key}": float(value) for key, value in section.items() if isinstance(value, int | float)}
