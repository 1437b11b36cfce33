"""Running one spec with a recorder looking on."""

from gotta.data.cifar import CLASSES
from gotta.experiment.clocks import recording
from gotta.experiment.environment import environment
from gotta.experiment.record import Recorder, record_path
from gotta.experiment.run import run
from gotta.experiment.spec import RunSpec
from gotta.experiment.store import Store
from gotta.experiment.sweep import Event, Listener
from gotta.files import check_writable


def record_run(spec: RunSpec, store: Store, listen: Listener, device: str = "cpu") -> list[Event]:
    """Run it, finished before or not, for the same spec gives the same numbers. What is stored stays as it is."""
    path = record_path(store.root, spec.id)
    check_writable(path)
    listen(Event("started", spec.id))
    known = spec.data.name.startswith("cifar10") and not spec.data.name.startswith("cifar100")
    recorder = Recorder(spec.method.embedding, CLASSES if known else ())

    def moved(step: int, steps: int, accuracy: float) -> None:
        listen(Event("moved", spec.id, step, steps, accuracy))

    steps, summary = run(spec, moved, device=device, recording=recording(store.root, spec), recorder=recorder)
    store.write(spec.id, spec=spec.model_dump(), steps=steps, summary=summary, environment=environment())
    recorder.save(path)
    listen(Event("finished", spec.id, accuracy=summary["accuracy"]))
    return []
