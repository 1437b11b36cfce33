"""Tables of docs/deskew.md: what the priors do, like with like, and what deskew reaches."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

from gotta.report.pairs import difference
from gotta.report.stored_run import Run
from pages import parts
from pages.parts import fill, grid, name_of, read, tell_gap

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
    "NOTE + PBRS": ("note", "pbrs"),
    "NOTE + FPS": ("note", "fps"),
    "RoTTA + CSTU": ("rotta", "cstu"),
    "RoTTA + FPS": ("rotta", "fps"),
    "RoTTA + PBRS": ("rotta", "pbrs"),
    "RoTTA, running statistics without a memory": ("rotta", "running_statistics"),
    "Norm + CSTU": ("norm", "cstu"),
    "Norm + FPS": ("norm", "fps"),
    "Norm + PBRS": ("norm", "pbrs"),
    "Norm, running statistics without a memory": ("norm", "running_statistics"),
    "source": ("source", "none"),
}
WHOLE = "all of CIFAR-10-C, runs of up to 1,000"
NAMES = {
    "dirichlet-0.1": "Dirichlet 0.1",
    "dirichlet-0.01": "Dirichlet 0.01",
    "dirichlet-1": "Dirichlet 1",
    "sorted": "sorted (there is one such order)",
    "pairs": "two classes alternating",
    "iid": "i.i.d.",
    "gradual": "gradual domains",
    "mixed": "mixed domains",
    "recurring": "recurring domains",
    "video": "tracks of traffic signs, steps of 32",
}
BLOCKS = {  # of benchmarks/deskew.py, and what they add to the name of a stream
    "five": "",
    "ten": ", the other ten corruptions",
    "batch-16": ", batches of 16",
    "batch-1": ", batches of 1",
    "video": "",
    "resnet56": ", `resnet56`",
}
Scores = dict[tuple[str, str, int, str], dict[str, float]]  # by block, stream, seed and rule


def make(root: Path) -> dict[Path, str]:
    short, whole = read(root, "patient"), read(root, "full-norm")
    rows = {name: tell(pick_deskew([run for run in short if fits(run, *asked)])) for name, asked in STREAMS.items()}
    rows[WHOLE] = tell(pick_deskew(whole))
    source = [[run for run in whole if run.spec.method.name == "source" and run.prior == name] for name in PRIORS]
    columns = ["no prior", "sticky", "patient"]
    contents = {
        "priors of deskew": grid("stream", [*columns, "gain over sticky"], rows),
        "priors alone": grid("stream", columns, {WHOLE: [tell_accuracy(runs) for runs in source]}),
        "like with like": like_with_like(read(root, "same-prior")),
        "reach of deskew": tell_reach(root / "benchmarks"),
    }
    return fill(root / "docs/deskew.md", contents)


def pick_deskew(runs: Sequence[Run]) -> list[list[Run]]:
    """The runs with each prior; class statistics alone are called Norm where they have no prior."""
    classes = [run for run in runs if run.spec.method.statistics == "class"]
    return [[run for run in classes if run.prior == name] for name in PRIORS]


def fits(run: Run, order: str, gamma: float) -> bool:
    return (run.stream.order, run.stream.gamma) == (order, gamma)


def tell(found: Sequence[Sequence[Run]]) -> list[str]:
    return [*map(tell_accuracy, found), tell_gap(difference(found[2], found[1]))]


def tell_accuracy(runs: Sequence[Run]) -> str:
    return f"{parts.mean(runs):.1f}"


def like_with_like(runs: Sequence[Run]) -> str:
    """Every row with the patient prior, and how far deskew is above it."""
    found = {
        name: [run for run in runs if name_of(run) == row and run.prior == "patient"] for name, row in ROWS.items()
    }
    rows = {
        name: [tell_accuracy(row), "" if name == "deskew" else tell_gap(difference(found["deskew"], row)).lstrip("+")]
        for name, row in found.items()
    }
    return grid("with the patient prior", ["accuracy", "deskew is above it by"], rows)


def tell_reach(folder: Path) -> str:
    """Deskew beside running statistics at their best rate, and beside itself in 0.2, over the seeds that all have."""
    before, now = (read_scores(folder / f"{name}.jsonl") for name in ("deskew", "deskew-now"))
    rows, changes = {}, []
    for block, stream in dict.fromkeys(
        (block, stream) for names in BLOCKS for block, stream, *_ in now if block == names
    ):
        seeds = [seed for seed in (201, 202, 203) if (block, stream, seed, "deskew") in now]
        seeds = [seed for seed in seeds if (block, stream, seed, "running") in before]
        running = [before[block, stream, seed, "running"] for seed in seeds]
        rate = best_rate(running)
        old, new = ([found[block, stream, seed, "deskew"]["accuracy"] for seed in seeds] for found in (before, now))
        gains = [score - scores[rate] for score, scores in zip(new, running, strict=True)]
        span = f"; {min(gains):+.1f} to {max(gains):+.1f}" if len(seeds) > 1 else ""
        if block == "five":
            changes.append((mean(old), mean(new)))
        rows[NAMES[stream] + BLOCKS[block]] = [
            str(len(seeds)),
            f"{mean(scores[rate] for scores in running):.1f} ({rate})",
            f"{mean(new):.1f} ({mean(gains):+.1f}{span})",
            f"{mean(old):.1f}",
            f"{mean(new) - mean(old):+.1f}",
        ]
    totals = [mean(part) for part in zip(*changes, strict=True)]
    rows["*mean of the first nine*"] = [
        "",
        "",
        *(f"{value:.1f}" for value in totals[::-1]),
        f"{totals[1] - totals[0]:+.1f}",
    ]
    return grid("stream", ["seeds", "running statistics", "deskew", "deskew of 0.2", "change"], rows)


def best_rate(running: Sequence[Mapping[str, float]]) -> str:
    """Of those that every seed was run with, the one that is best on average."""
    return max(set.intersection(*map(set, running)), key=lambda rate: mean(scores[rate] for scores in running))


def read_scores(path: Path) -> Scores:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(line["block"], line["stream"], line["seed"], line["rule"]): line["scores"] for line in lines}
