"""What the priors do to deskew, and to a network that does not adapt: two tables of docs/deskew.md."""

from collections.abc import Sequence
from pathlib import Path

from gotta.report.cells import measure, number
from gotta.report.pairs import difference
from gotta.report.stored_run import Run
from pages.parts import between, grid, read
from pages.texts import tell_gap

PRIORS = ("none", "sticky", "patient")
STREAMS = {  # by order and gamma
    "Dirichlet 0.1": ("dirichlet", 0.1),
    "Dirichlet 0.01": ("dirichlet", 0.01),
    "sorted (there is one such order)": ("sorted", 0.1),
    "two classes alternating": ("pairs", 0.1),
    "i.i.d.": ("iid", 0.1),
}
WHOLE = "all of CIFAR-10-C, runs of up to 1,000"


def make(root: Path) -> dict[Path, str]:
    path, short, whole = root / "docs/deskew.md", read(root, "patient"), read(root, "full-norm")
    rows = {name: tell(pick_deskew([run for run in short if fits(run, *asked)])) for name, asked in STREAMS.items()}
    rows[WHOLE] = tell(pick_deskew(whole))
    text = between(
        path.read_text(encoding="utf-8"),
        "priors of deskew",
        grid("stream", ["no prior", "sticky", "patient", "gain over sticky"], rows),
        path,
    )
    source = [[run for run in whole if run.spec.method.name == "source" and run.prior == name] for name in PRIORS]
    alone = grid("stream", ["no prior", "sticky", "patient"], {WHOLE: [tell_accuracy(runs) for runs in source]})
    return {path: between(text, "priors alone", alone, path)}


def pick_deskew(runs: Sequence[Run]) -> list[list[Run]]:
    """The runs with each prior; class statistics alone are called Norm where they have no prior."""
    classes = [run for run in runs if run.spec.method.statistics == "class"]
    return [[run for run in classes if run.prior == name] for name in PRIORS]


def fits(run: Run, order: str, gamma: float) -> bool:
    return (run.stream.order, run.stream.gamma) == (order, gamma)


def tell(found: Sequence[Sequence[Run]]) -> list[str]:
    return [*map(tell_accuracy, found), tell_gap(difference(found[2], found[1]))]


def tell_accuracy(runs: Sequence[Run]) -> str:
    return f"{measure(runs, number('accuracy')).value:.1f}"
