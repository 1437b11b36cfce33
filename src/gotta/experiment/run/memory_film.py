"""A recording of one run: what the memory held over the stream, and why. Made for looking at, so it is bounded."""

import base64
import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from gotta.core.loop import Record
from gotta.core.true_labels import TrueLabelMemory
from gotta.data.readers.cifar import CLASSES
from gotta.experiment.spec.run_spec import RunSpec
from gotta.memory import Memory
from gotta.metrics.measures import principal_plane
from gotta.show.contact_sheet import class_colours
from gotta.show.sheet_rows import class_names
from gotta.streams import Stream

FRAMES, IMAGES, POINTS, DECISIONS = 200, 1000, 500, 64  # at most so many steps, pictures, dots, and decisions of a step
FOLDER, FORMAT = "records", 1
MISSED, NOT_OFFERED = "missed", "not offered"  # why a sample never came before the memory
Floats = NDArray[np.float64]
Picture = NDArray[np.uint8]  # [H, W, 3]


def record_path(root: str | Path, id: str) -> Path:
    """Where the recording of a run lies, beside the runs of its store."""
    return Path(root) / FOLDER / f"{id}.json"


def is_recorded(root: str | Path, id: str) -> bool:
    path = record_path(root, id)
    return path.is_file() and not path.is_symlink()


def recorder_of(spec: RunSpec) -> "Recorder":
    """A recorder that knows the names of the classes where the data set does not."""
    return Recorder(spec.method.embedding, CLASSES if spec.data.name.startswith("cifar10") else ())


class Recorder:
    """Looks on while a run goes over its stream: give it each step's record. The memory needs a journal."""

    def __init__(self, embedding: str = "probs", known_classes: Sequence[str] = ()) -> None:
        self.embedding, self.known_classes = embedding, known_classes
        self.frames: list[dict[str, Any]] = []
        self._position: dict[int, int] = {}  # in the stream, by the memory's own number of a sample
        self._clock = self._noted = 0
        self._reduced = False
        self._journal: Any = None
        self._stored: dict[int, tuple[Picture, Floats]] = {}  # by position: a sample that was held, and its embedding
        self._dots: list[tuple[int, Floats]] = []  # predicted label and embedding of some of the stream
        self._stream: Stream | None = None
        self._memory: Memory | None = None

    def step(self, record: Record, memory: Memory, stream: Stream) -> None:
        """Take note of a step; of some steps all that the memory holds."""
        self._stream, self._memory = stream, memory
        decisions = self._decisions(memory, record)
        self._sample_dots(record, stream)
        self._clock += len(decisions)
        if record.step in np.linspace(0, len(stream) - 1, min(len(stream), FRAMES)).round():
            self._keep(record.step, memory, decisions, stream)

    def document(self) -> dict[str, Any]:
        """Everything as plain values, the pictures as one image in a data address."""
        stream = self._stream
        assert stream is not None, "nothing was recorded"
        frames = thin_frames(self.frames, IMAGES)
        positions = sorted({position for frame in frames for position in frame["rows"]})
        at = {position: k for k, position in enumerate(positions)}
        points = [self._stored[p][1] for p in positions] + [point for _, point in self._dots]
        places, explained = principal(np.array(points)) if points else (np.zeros((0, 2)), 0.0)
        held, dots = places[: len(positions)], places[len(positions) :]
        whole, across = sprite([self._stored[p][0] for p in positions])
        where = np.array(positions, np.int64)
        return {
            "format": FORMAT,
            "steps": len(stream),
            "classes": class_names(stream.dataset, self.known_classes),
            "colours": colours(stream.num_classes),
            "domains": list(stream.domains),
            "samples": {
                "position": positions,
                "truth": stream.label[where].tolist(),
                "domain": stream.domain[where].tolist(),
                "x": _short(held[:, 0]),
                "y": _short(held[:, 1]),
            },
            "frames": [{**frame, "rows": [at[position] for position in frame["rows"]]} for frame in frames],
            "map": {"x": _short(dots[:, 0]), "y": _short(dots[:, 1]), "label": [label for label, _ in self._dots]},
            "embedding": {"probs": "class probabilities"}.get(self.embedding, self.embedding),
            "explained": round(explained, 4),
            "across": across,
            "sprite": data_uri(whole),
            "true_labels": isinstance(self._memory, TrueLabelMemory),
            "decides": self._memory is not None and self._memory.lasts,
            "note": self._note(len(frames), len(stream)),
        }

    def text(self) -> str:
        return json.dumps(self.document(), ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"

    def _decisions(self, memory: Memory, record: Record) -> list[list[Any]]:
        """[position, label, reason, slot, position that made way] for each sample of the step."""
        slots, offers = record.outcome.slots.tolist(), self._offers(memory)
        if len(offers) != len(slots):  # the source predicted for the model, the method was busy, or all was reset
            labels, why = record.outcome.prediction.label.tolist(), MISSED if record.missed else NOT_OFFERED
            return [[self._clock + k, labels[k], why if slot < 0 else "", slot, None] for k, slot in enumerate(slots)]
        decisions: list[list[Any]] = []
        for position, (id, label, reason, slot, left) in enumerate(offers, self._clock):
            self._position[id] = position
            decisions.append([position, label, reason, slot, self._position.get(left)])
        return decisions

    def _offers(self, memory: Memory) -> list[tuple[int, int, str, int, int]]:
        """(number, label, reason, slot, number that made way or -1) of the samples since the last step."""
        journal = memory.journal
        if journal is not self._journal:
            self._journal, self._noted = journal, 0
        batches = journal.batches[self._noted :] if journal is not None else []
        self._noted += len(batches)
        columns = ("id", "label", "reason", "slot", "evicted")
        return [row for b in batches for row in zip(*(b[name].tolist() for name in columns), strict=True)]

    def _sample_dots(self, record: Record, stream: Stream) -> None:
        every = -(-stream.num_samples // POINTS)
        labels, points = record.outcome.prediction.label.tolist(), record.outcome.prediction.embedding
        for k in range(-self._clock % every, len(labels), every):
            self._dots.append((labels[k], points[k].detach().double().cpu().numpy()))

    def _keep(self, step: int, memory: Memory, decisions: list[list[Any]], stream: Stream) -> None:
        batch, ids = memory.peek(), memory.ids.tolist()
        known = [k for k, id in enumerate(ids) if id in self._position]
        positions = [self._position[ids[k]] for k in known]
        self._reduced |= max(batch.x.shape[-2:], default=0) > SIDE_LIMIT
        fresh = [k for k, position in zip(known, positions, strict=True) if position not in self._stored]
        for k, picture in zip(fresh, thumbnails(batch.x[fresh]), strict=True):
            self._stored[self._position[ids[k]]] = picture, batch.embedding[k].detach().double().cpu().numpy()
        domain = stream.domains[int(stream.domain[min(self._clock, stream.num_samples) - 1])]
        labels = batch.label.tolist()
        self.frames.append(
            {
                "step": step,
                "domain": domain,
                "rows": positions,
                "labels": [labels[k] for k in known],
                "decisions": decisions[:DECISIONS],
                "decided": len(decisions),
            }
        )

    def _note(self, frames: int, steps: int) -> str:
        notes = [f"{frames} of {steps} steps are shown, evenly chosen."] if frames < steps else []
        notes += [f"Pictures are reduced to {SIDE_LIMIT} pixels."] if self._reduced else []
        return " ".join(notes)


def thin_frames(frames: Sequence[Mapping[str, Any]], most: int) -> list[Mapping[str, Any]]:
    """Every frame, or every second, or every third, ... so that they hold at most so many pictures; the last always."""
    every = 1
    while True:
        kept = [frame for k, frame in enumerate(frames) if (len(frames) - 1 - k) % every == 0]
        if len({row for frame in kept for row in frame["rows"]}) <= most or len(kept) <= 1:
            return kept
        every += 1


def principal(points: Floats) -> tuple[Floats, float]:
    """The first two principal components of `points[N, D]`, and the share of the variance they have."""
    places, shares = principal_plane(np.where(np.isfinite(points), points, 0.0))
    # the larger side goes right and up
    places *= np.where(np.abs(places.max(0, initial=0)) < np.abs(places.min(0, initial=0)), -1.0, 1.0)
    return places, float(shares.sum())


def colours(classes: int) -> list[str]:
    """As everywhere else, but black, which a dark page would swallow, is purple."""
    return ["#9a5aa8" if max(rgb) < 40 else "#{:02x}{:02x}{:02x}".format(*rgb) for rgb in class_colours(classes)]


def _short(values: Floats) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


SIDE_LIMIT, ACROSS, QUALITY = 32, 40, 82


def thumbnails(x: Tensor) -> list[Picture]:
    """Images [N, C, H, W] in [0, 1] as small squares."""
    pixels = (x.detach().float().cpu().clamp(0, 1) * 255).round().byte().permute(0, 2, 3, 1).numpy()
    return [_square(image) for image in pixels]


def sprite(pictures: Sequence[Picture]) -> tuple[bytes, int]:
    """The pictures in lines of `across`, as JPEG; and `across`."""
    across = min(ACROSS, max(1, len(pictures)))
    lines = max(1, -(-len(pictures) // across))
    sheet = Image.new("RGB", (across * SIDE_LIMIT, lines * SIDE_LIMIT))
    for k, picture in enumerate(pictures):
        sheet.paste(Image.fromarray(picture), (k % across * SIDE_LIMIT, k // across * SIDE_LIMIT))
    buffer = BytesIO()
    sheet.save(buffer, "JPEG", quality=QUALITY, subsampling=0)
    return buffer.getvalue(), across


def data_uri(jpeg: bytes) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"


def _square(image: NDArray[np.uint8]) -> Picture:
    colour = image if image.shape[2] == 3 else np.repeat(image[:, :, :1], 3, axis=2)
    smooth = Image.Resampling.NEAREST if max(colour.shape[:2]) < SIDE_LIMIT else Image.Resampling.LANCZOS
    return np.asarray(Image.fromarray(colour).resize((SIDE_LIMIT, SIDE_LIMIT), smooth))
