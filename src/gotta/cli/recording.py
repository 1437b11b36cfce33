"""Running specs with a recorder looking on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gotta.experiment.run.environment import environment
from gotta.experiment.run.memory_film import is_recorded, record_path, recorder_of
from gotta.experiment.run.run import run
from gotta.experiment.run.step_costs import recording
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.store import Store
from gotta.experiment.sweep.sweep import Event, Listener
from gotta.files import check_writable

if TYPE_CHECKING:
    from gotta.cli.terminal import Console


def first_seed(specs: Sequence[RunSpec]) -> list[RunSpec]:
    """The cells that `gotta bench --record` records: recordings are large, and a second seed shows little more."""
    return [spec for spec in specs if spec.seed == specs[0].seed]


def unrecorded(specs: Sequence[RunSpec], store: Store) -> frozenset[str]:
    return frozenset(spec.id for spec in first_seed(specs) if not is_recorded(store.root, spec.id))


def tell_recording(console: "Console", specs: Sequence[RunSpec], lacking: frozenset[str], store: Store) -> None:
    """Say which runs are recorded, and what that means for them."""
    first = first_seed(specs)
    text = f"Recording {len(lacking)} of the {len(first)} runs of seed {first[0].seed}"
    text += f"; {len(first) - len(lacking)} were recorded before." if len(lacking) < len(first) else "."
    if again := sum(store.has(id) for id in lacking):
        text += f" {again} of them {'is' if again == 1 else 'are'} run again for it; the numbers stored before stay."
    if lacking:
        text += " A recorded run keeps no snapshots: one that is stopped starts anew."
    console.print(text, highlight=False, soft_wrap=True)


def record_run(spec: RunSpec, store: Store, listen: Listener, device: str = "cpu") -> list[Event]:
    """Run it, finished before or not, for the same spec gives the same numbers. What is stored stays as it is."""
    path = record_path(store.root, spec.id)
    check_writable(path)
    listen(Event("started", spec.id))
    recorder = recorder_of(spec)

    def moved(step: int, steps: int, accuracy: float) -> None:
        listen(Event("moved", spec.id, step, steps, accuracy))

    steps, summary = run(spec, moved, device=device, recording=recording(store.root, spec), recorder=recorder)
    content = {"spec": spec.model_dump(), "identity": spec.identity, "environment": environment()}
    store.write(spec.id, steps=steps, summary=summary, **content)
    recorder.save(path)
    listen(Event("finished", spec.id, accuracy=summary["accuracy"]))
    return []
