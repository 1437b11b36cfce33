"""`gotta show`: all settings of a method, a memory or a data set, or the spec of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gotta.errors import GottaError, unknown

if TYPE_CHECKING:
    from gotta.experiment.sweep.store import Run


def show(
    name: Annotated[str, typer.Argument(help="A method, a memory, a data set (gotta ls), or a run: its folder or id.")],
    store: Annotated[Path, typer.Option(help="Where a run that is named by its id is kept.")] = Path("runs/single"),
) -> None:
    """Print what a method, memory or data set is and every setting it takes; or the complete spec of a run.

    Examples:

    - `gotta show rotta`

    - `gotta show fps`

    - `gotta show imagenet_c`

    - `gotta show 3f0c2a --store runs/mini > spec.yaml` : the beginning of an id will do; `gotta run spec.yaml` takes it
    """
    import yaml

    from gotta.data import DATASETS
    from gotta.experiment.spec.text import dump
    from gotta.memory import policies
    from gotta.methods import describe, methods

    if name in methods.names():
        described = describe(name)
    elif name in policies.names() or ":" in name:
        described = _memory(name, policies.take(name))
    elif name in DATASETS.names():
        described = _settings(name, DATASETS.get(name))
    elif (found := _run(name, store)) is not None:
        print(dump(found.spec), end="")
        return
    else:
        known = [*methods.names(), *policies.names(), *DATASETS.names()]
        raise unknown("method, memory, data set or run", name, known)
    print(yaml.safe_dump(described, sort_keys=False, allow_unicode=True, width=110), end="")


def _run(name: str, folder: Path) -> "Run | None":
    """The finished run in this folder, or the one in the store whose id begins so."""
    from gotta.experiment.sweep.store import Store

    path = Path(name)
    if (path / "spec.json").exists():
        return Store(path.resolve().parents[1]).read(path.resolve().name)
    runs = folder / "runs"
    found = sorted(run.name for run in runs.glob(f"{name}*")) if name.isalnum() and runs.is_dir() else []
    if len(found) > 1:
        raise GottaError(f"run '{name}' is not the only one in '{folder}' that begins so: {', '.join(found)}.")
    return Store(folder).read(found[0]) if found else None


def _settings(name: str, thing: Any) -> dict[str, Any]:
    import inspect

    parameters = inspect.signature(thing).parameters.values()
    return {
        "name": name,
        "summary": " ".join((inspect.getdoc(thing) or "").split()),
        "settings": {p.name: None if p.default is p.empty else p.default for p in parameters},
    }


def _memory(name: str, policy: Any) -> dict[str, Any]:
    return {
        **_settings(name, policy),
        "needs": list(getattr(policy, "needs", ())),
        "refresh_every": getattr(policy, "refresh_every", None),
    }
