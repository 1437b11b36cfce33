"""The records of a run as they grow, in a form that can be kept in the middle."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gotta.core.adapted import Adapted
from gotta.core.loop import Record
from gotta.cost import PHASES
from gotta.json_yaml import parse_json, plain
from gotta.metrics import Buffer, Online
from gotta.metrics.open_set import OpenSet
from gotta.streams import Stream
from gotta.types import FOREIGN, Outcome, Prediction, Truth


class Scoring:
    """Scores each step of one run and adds everything up in the end."""

    def __init__(self, adapted: Adapted, stream: Stream, num_classes: int) -> None:
        self.adapted, self.stream = adapted, stream
        self.online = Online(num_classes, stream.domains)
        self.buffer = Buffer(adapted.memory.capacity, num_classes)
        self.open_set = OpenSet(stream.domains) if stream.spec.foreign else None
        self._parts: dict[str, Online | Buffer | OpenSet] = {"online": self.online, "buffer": self.buffer}
        self._parts |= {} if self.open_set is None else {"open_set": self.open_set}
        self.steps: list[dict[str, Any]] = []
        self._right = self._seen = 0
        self._began = _now()

    def add(self, record: Record) -> None:
        outcome, memory = record.outcome, self.adapted.memory
        scored = self._score(record.truth, outcome.prediction)
        self.buffer.update(outcome.slots, record.truth.label, outcome.prediction.embedding.cpu())
        self.steps.append(
            {
                "step": record.step,
                **scored,
                "adaptations": outcome.adaptations,
                "missed": record.missed,
                "memory": self.buffer.measure(memory.peek(), memory.slots),
                "cost": outcome.cost,
                **outcome.diagnostics,
            }
        )
        self._right, self._seen = self._right + scored["correct"], self._seen + scored["samples"]

    def _score(self, truth: Truth, prediction: Prediction) -> dict[str, Any]:
        """Accuracy is that of the known samples; how well foreign ones are recognised is scored separately."""
        logits = prediction.logits.cpu().numpy()
        if self.open_set is None:
            return self.online.update(truth, logits)
        self.open_set.update(truth, logits, prediction.raw.logits.cpu().numpy())
        known = truth.label != FOREIGN
        parts = Truth(truth.label[known], truth.domain[known], truth.index[known])
        return {**self.online.update(parts, logits[known]), "foreign": int((~known).sum())}

    @property
    def accuracy(self) -> float:
        """Of all samples so far, in percent."""
        return 100 * self._right / max(self._seen, 1)

    def summary(self) -> dict[str, Any]:
        result, method = self.online.summary(), self.adapted.method
        notes = [*self.adapted.notes, *self.stream.repeating]
        return {
            "accuracy": result["accuracy"],
            "error": result["error"],
            **self._spent(),
            "online": result,
            "buffer": self.steps[-1]["memory"],
            "decisions": dict(self.adapted.memory.stats),
            "cost": method.cost.summary(),
            "adaptations": sum(step["adaptations"] for step in self.steps),
            "missed": sum(step["missed"] for step in self.steps),
            "trained_parameters": sum(p.numel() for p in method.trained.values()),
            "stream": self.stream.summary(),
            **({} if self.open_set is None else {"open_set": self._open_set_summary(self.open_set)}),
            **({"notes": notes} if notes else {}),
        }

    def _open_set_summary(self, found: OpenSet) -> dict[str, Any]:
        memory = self.adapted.memory
        return {**found.summary(), "rows_share": self.buffer.foreign_share(memory.slots) if memory.lasts else None}

    def state_dict(self) -> dict[str, Any]:
        """Plain arrays and numbers. The steps are kept as the text that is stored in the end."""
        text = json.dumps(plain(self.steps), allow_nan=False)
        return {
            **{name: part.state_dict() for name, part in self._parts.items()},
            "steps": np.frombuffer(text.encode(), np.uint8).copy(),
            "right": self._right,
            "seen": self._seen,
            **self._spent(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        for name, part in self._parts.items():
            part.load_state_dict(state[name])
        self.steps = parse_json(np.asarray(state["steps"]).tobytes())
        self._right, self._seen = state["right"], state["seen"]
        self._began = _now() - [state["seconds"], state["cpu_seconds"]]

    @contextmanager
    def pause(self) -> Iterator[None]:
        """The seconds inside are not the run's own, but those of somebody who looks on."""
        paused = _now()
        yield
        self._began += _now() - paused

    def _spent(self) -> dict[str, float]:
        """On a busy machine the CPU's seconds, of all threads, are what the run itself costs."""
        return dict(zip(("seconds", "cpu_seconds"), (_now() - self._began).tolist(), strict=True))


def _now() -> NDArray[np.float64]:
    """Two clocks: of the world, and of the CPU for this process."""
    return np.array([perf_counter(), process_time()])


def latency(steps: Sequence[Mapping[str, Any]]) -> dict[str, tuple[float, float]]:
    """p50 and p99 in seconds: until a batch has its answer, and until its step is over.

    The first step warms up, so it does not count unless it is the only one.

    >>> latency([{"cost": {"predict": {"seconds": 0.5}, "adapt": {"seconds": 1.5}}}])
    {'answer': (0.5, 0.5), 'step': (2.0, 2.0)}
    """
    spent = [{name: phase["seconds"] for name, phase in step["cost"].items()} for step in steps[1:] or steps]
    times = {
        "answer": [phases.get("predict", 0.0) for phases in spent],
        "step": [sum(phases.values()) for phases in spent],
    }
    ranked = {name: np.percentile(values, (50, 99), method="inverted_cdf") for name, values in times.items()}
    return {name: (float(half), float(most)) for name, (half, most) in ranked.items()}


COUNTS = ("agrees", "consistent")


def count_surrogates(adapted: Adapted, x: Tensor, outcome: Outcome) -> dict[str, int]:
    """Of a batch that was just predicted: on how many samples the source agrees with the scored prediction, and for
    how many the model as it is now says the same of the mirrored image. The model and its account of costs stay as
    they are."""
    spent = {name: tally for name, tally in adapted.method.cost.summary().items() if name in PHASES}
    frozen = adapted.frozen
    adapted.freeze()
    try:
        now, mirrored = (adapted.step(image).prediction.label for image in (x, x.flip(-1)))
        with torch.inference_mode(False):
            source = adapted.method.source_logits(x).argmax(1)
    finally:
        if not frozen:
            adapted.unfreeze()
        adapted.method.cost.restart(spent)
    agrees = int((source == outcome.prediction.label).sum())
    return {"agrees": agrees, "consistent": int((now == mirrored).sum())}


def surrogate_summary(steps: Sequence[dict[str, Any]], samples: int) -> dict[str, float]:
    """Shares of all samples, in percent."""
    agrees, consistent = (sum(step[name] for step in steps) for name in COUNTS)
    return {"agreement": 100 * agrees / samples, "consistency": 100 * consistent / samples}
