"""A small store with steps and a recording, written in milliseconds, for tests of what people look at."""

from types import SimpleNamespace

import numpy as np
import torch
from made_runs import DOMAINS, made, stored

from gotta.experiment.run.memory_film import Recorder, record_path
from gotta.files import write_atomically
from gotta.memory import Memory
from gotta.types import Prediction, Truth

EVIL = "<script>document.title='owned'</script>"
STEPS, BATCH = 8, 10


def steps_of(run):
    """Records of steps that fit the run's accuracy in each domain."""
    scores = list(run.scores().values())
    for k in range(STEPS):
        share = scores[k * len(scores) // STEPS]
        state = {"purity": 0.5 + k / 20, "balance": 0.9, "coverage": 0.2, "near_duplicates": 0.0, "age_mean": 5.0}
        domains = {DOMAINS[k * len(scores) // STEPS]: 100}
        yield {"step": k, "samples": 100, "correct": round(share), "memory": state, "domains": domains}


def many_runs(seeds=(0, 1)):
    """Two methods with memories, one of them with a hostile name, a control and the source model."""
    levels = {"none": 40, "fifo": 60, "fps": 63, EVIL: 20}
    for seed in seeds:
        yield made("none", "source", (30, 32, 34, 36), seed)
        for shift, method in enumerate(("norm", "tent")):
            for name, level in levels.items():
                yield made(name, method, tuple(level + 5 * shift + seed + k for k in range(4)), seed)
            yield made("none", method, (58, 59, 60, 62 + seed), seed, control="running_statistics")


def write(root, runs):
    """A store with these runs and their steps."""
    return stored(root, runs, steps_of)


def fake_stream(classes=3, steps=STEPS, batch=BATCH):
    """What a recorder asks of a stream: classes come in order, two domains."""
    total = steps * batch
    return SimpleNamespace(
        label=np.arange(total) * classes // total,
        domain=np.arange(total) * 2 // total,
        domains=("fog-5", "snow-5"),
        num_samples=total,
        num_classes=classes,
        dataset=SimpleNamespace(num_classes=classes, classes=["ant", "bee", "cat"][:classes]),
    )


class Tape:
    """`len` of a stream is its number of steps, which a plain namespace cannot answer."""

    def __init__(self, stream, steps=STEPS):
        self.__dict__.update(stream.__dict__)
        self.steps = steps

    def __len__(self):
        return self.steps


def made_recording(policy="fifo", capacity=6, classes=3, resets=(), steps=STEPS):
    """A recorder that saw a memory of random pictures, the memory, and its stream."""
    rng = np.random.default_rng(0)
    tape = Tape(fake_stream(classes, steps), steps)
    memory = Memory(policy, capacity=capacity, num_classes=classes, journal=True)
    recorder = Recorder()
    for k in range(steps):
        if k in resets:
            memory.reset()
        at = slice(k * BATCH, (k + 1) * BATCH)
        logits = torch.from_numpy(rng.normal(size=(BATCH, classes)) + 3 * np.eye(classes)[tape.label[at]])
        prediction = Prediction(logits)
        x = torch.from_numpy(rng.random((BATCH, 3, 8, 8), np.float32))
        slots = memory.observe(x, prediction.label, prediction.uncertainty, prediction.embedding)
        outcome = SimpleNamespace(slots=torch.from_numpy(slots), prediction=prediction)
        truth = Truth(tape.label[at], tape.domain[at], np.arange(at.start, at.stop))
        recorder.step(SimpleNamespace(step=k, truth=truth, outcome=outcome), memory, tape)
    return recorder, memory, tape


def with_recording(root, id):
    recorder, _, _ = made_recording()
    write_atomically(record_path(root, id), recorder.text())
