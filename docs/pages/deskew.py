"""Tables of docs/deskew.md: what the priors do, like with like, and the rule of before beside that of now."""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

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
ROWS = {
    "deskew": ("deskew", "none"),
    "NOTE + CSTU": ("note", "cstu"),
    "NOTE, running statistics without a memory": ("note", "running_statistics"),
    "NOTE + FPS": ("note", "fps"),
    "RoTTA + CSTU": ("rotta", "cstu"),
    "RoTTA + FPS": ("rotta", "fps"),
    "Norm + CSTU": ("norm", "cstu"),
    "Norm + FPS": ("norm", "fps"),
    "Norm, running statistics without a memory": ("norm", "running_statistics"),
    "source": ("source", "none"),
}
CAUTION = {  # as benchmarks/deskew.py calls them
    "Dirichlet 0.1": "dirichlet-0.1",
    "i.i.d.": "iid",
    "two classes alternating": "pairs",
    "sorted (there is one such order)": "sorted",
    "Dirichlet 0.01": "dirichlet-0.01",
    "Dirichlet 1": "dirichlet-1",
    "mixed domains": "mixed",
    "gradual domains": "gradual",
    "recurring domains": "recurring",
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
    text = between(text, "priors alone", alone, path)
    text = between(text, "like with like", like_with_like(read(root, "same-prior")), path)
    return {path: between(text, "cost of caution", caution(root), path)}


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


def like_with_like(runs: Sequence[Run]) -> str:
    """Every row with the patient prior, and how far deskew is above it."""
    found = {name: [run for run in runs if _row(run) == row and run.prior == "patient"] for name, row in ROWS.items()}
    rows = {
        name: [tell_accuracy(row), "" if name == "deskew" else tell_gap(difference(found["deskew"], row)).lstrip("+")]
        for name, row in found.items()
    }
    return grid("with the patient prior", ["accuracy", "deskew is above it by"], rows)


def caution(root: Path) -> str:
    """deskew of 0.2 and of now, seed by seed; a stream that is not drawn has one seed."""
    before, now = (read_deskew(root / f"benchmarks/{name}.jsonl") for name in ("deskew", "deskew-now"))
    rows = {}
    for name, stream in CAUTION.items():
        seeds = sorted(seed for block, seed in now if block == stream)
        ours, old = ([scores[stream, seed] for seed in seeds] for scores in (now, before))
        gaps = [after - first for after, first in zip(ours, old, strict=True)]
        rows[name] = [str(len(seeds)), *_means(old, ours), " ".join(f"{gap:+.1f}" for gap in gaps)]
    means = [
        [mean([scores[key] for key in now if key[0] == one]) for one in CAUTION.values()] for scores in (before, now)
    ]
    rows["*mean*"] = ["", *_means(*means), ""]
    return grid("stream", ["seeds", "deskew of 0.2", "now", "difference", "by seed"], rows)


def read_deskew(path: Path) -> dict[tuple[str, int], float]:
    """The accuracy of deskew on each of the streams of five corruptions, by stream and seed."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    kept = [line for line in lines if (line["block"], line["rule"]) == ("five", "deskew")]
    return {(line["stream"], line["seed"]): line["scores"]["accuracy"] for line in kept}


def _means(old: Sequence[float], ours: Sequence[float]) -> list[str]:
    return [f"{mean(old):.1f}", f"{mean(ours):.1f}", f"{mean(ours) - mean(old):+.1f}"]


def _row(run: Run) -> tuple[str, str]:
    return run.spec.method.name, run.spec.control or (run.spec.memory.name if run.spec.has_memory else "none")
