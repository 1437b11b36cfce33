"""`gotta show`: all settings of a part of any kind, or the spec of a run."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gotta.cli.options import AsJson, show_answer, to_plain
from gotta.errors import GottaError, one_error, unknown
from gotta.registry import about

if TYPE_CHECKING:
    from gotta.experiment.sweep.store import Run


def show(name: str, store: Path = Path("runs/single"), as_json: AsJson = False) -> None:
    """Print a part of any kind with every setting it takes; a protocol; or a run's spec.

    Examples:

    - `gotta show rotta`

    - `gotta show fps`

    - `gotta show imagenet_c`

    - `gotta show ptta-1`

    - `gotta show my_module:MyPolicy`

    - `gotta show 3f0c2a --store runs/mini > spec.yaml` : the beginning of an id will do; `gotta run spec.yaml` takes it

    Arguments:
        name: A part by name (gotta ls) or module:Class, or a run: its folder or id.

    Options:
        store: Where a run that is named by its id is kept.
    """
    from gotta.checks.parts import KINDS, find_kinds
    from gotta.experiment.recipe.protocol import protocols, text_of
    from gotta.experiment.spec.text import dump
    from gotta.json_yaml import parse_yaml

    if kinds := find_kinds(name):
        answer: Any = [_described(kind, name) for kind in kinds]
        text = "---\n".join(map(_written, answer))
    elif name in protocols():
        answer, text = parse_yaml(text_of(name)), text_of(name)
    elif (found := _run(name, store)) is not None:
        answer, text = found.spec, dump(found.spec)
    else:
        parts = {known for registry in KINDS.values() for known in registry.names()}
        raise unknown("part or run", name, parts | {*protocols()})
    show_answer(answer, as_json, text.removesuffix("\n"))


def _run(name: str, folder: Path) -> "Run | None":
    """The finished run in this folder, or the one in the store, or among kept lines, whose id begins so."""
    from gotta.experiment.sweep.kept import open_runs
    from gotta.experiment.sweep.store import Store

    path = Path(name)
    if (path / "spec.json").exists():
        return Store(path.resolve().parents[1]).read(path.resolve().name)
    runs = open_runs(folder)
    if not name.isalnum() or not runs.root.exists():
        return None
    known = [path.name for path in runs.folder.glob(f"{name}*")] if isinstance(runs, Store) else dict(runs.scan())
    found = sorted(id for id in known if id.startswith(name))
    if len(found) > 1:
        raise GottaError(f"run '{name}' is not the only one in '{folder}' that begins so: {', '.join(found)}.")
    return runs.read(found[0]) if found else None


def _described(kind: str, name: str) -> dict[str, Any]:
    """What there is to say of a part; whatever goes wrong with one of the caller's own is one message."""
    from gotta.checks.parts import KINDS
    from gotta.methods import describe

    part = KINDS[kind].take(name)
    with one_error(f"{kind} '{name}' cannot be described"):
        described = describe(name) if kind == "method" else _settings(kind, name, part)
        return {key: to_plain(value) for key, value in described.items()}


def _settings(kind: str, name: str, part: Any) -> dict[str, Any]:
    import inspect

    from gotta.streams import StreamSpec

    takes = inspect.signature(part).parameters.items()
    defaults = {name: None if one.default is one.empty else one.default for name, one in takes}
    if kind in ("order", "schedule"):  # they take their settings from the stream's; the rest comes with its data set
        stream = vars(StreamSpec())
        defaults = {name: stream[name] for name in defaults if name in stream}
    described = {"name": name, "summary": " ".join(about(part).split()), "settings": defaults}
    if kind != "memory":
        return {**described, "kind": kind}
    return {**described, "needs": getattr(part, "needs", ()), "refresh_every": getattr(part, "refresh_every", None)}


def _written(described: dict[str, Any]) -> str:
    """YAML in which the summary is text in lines, without quotes."""
    import textwrap

    import yaml

    rest = dict(described)
    name, summary = rest.pop("name"), rest.pop("summary", "")
    lines = textwrap.wrap(summary, 108, break_on_hyphens=False)
    folded = "".join(["summary: >-\n", *(f"  {line}\n" for line in lines)]) if lines else ""
    write = partial(yaml.safe_dump, sort_keys=False, allow_unicode=True, width=110)
    return f"{write({'name': name})}{folded}{write(rest)}"
