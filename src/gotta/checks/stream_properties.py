"""The properties of orders and schedules: each takes one and a case, and raises AssertionError where it is broken."""

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from inspect import signature
from typing import Any

import numpy as np

from gotta.checks.stream_cases import SHAPES, Case, Labelled
from gotta.checks.suite import Properties, Refused, no_global_randomness
from gotta.errors import GottaError
from gotta.seeds import legacy_generator
from gotta.streams import Stream, StreamSpec
from gotta.streams.stream_spec import call
from gotta.types import IntArray

STREAM = "makes a stream: every sample has its own label and domain, and the content hash is stable"
PATIENCE = 300.0  # seconds for another process to import torch
ASK = "import sys; from gotta.checks.stream import fingerprint; print(fingerprint(*sys.argv[1:]))"


class Subject:
    """The order or schedule under test, with settings of the stream."""

    def __init__(self, kind: str, name: str | None, function: Callable[..., Any], settings: dict[str, Any]) -> None:
        self.kind, self.name, self.function, self.settings = kind, name, function, settings
        self.spec = StreamSpec.of(**settings)
        self.served, self.refusal = 0, ""

    def arrange(self, case: Case, labels: IntArray | None = None) -> Any:
        """The order of some labels; one that is not for them says so."""
        label = case.labels if labels is None else labels
        domain = np.arange(len(label)) % case.domains
        rng = legacy_generator(case.seed, "stream")
        return self._ask(labels=label, rng=rng, num_classes=case.num_classes, domain=domain)

    def visit(self, names: list[str]) -> Any:
        return self._ask(names=names)

    def stream(self, case: Case) -> Stream:
        """A stream with it; what is not under test is as simple as can be."""
        pools = "mixed" if "domain" in signature(self.function).parameters else "continual"
        simple = {"order": "iid", "schedule": pools, "domains": tuple(case.names), "batch_size": 8}
        settings = {**simple, **self.settings, self.kind: self.name, "seed": case.seed}
        stream: Stream = self._refusable(lambda: Stream(Labelled(case), StreamSpec.of(**settings)))
        return stream

    def _ask(self, **given: Any) -> Any:
        return self._refusable(lambda: call(self.function, self.spec, **given))

    def _refusable(self, ask: Callable[[], Any]) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what an order warns of is for its user
                answer = ask()
        except GottaError as error:
            self.refusal = str(error)
            raise Refused(self.refusal) from error
        self.served += 1
        return answer


ORDER: Properties[Subject, Case] = Properties()
SCHEDULE: Properties[Subject, Case] = Properties()
PROPERTIES = {"order": ORDER, "schedule": SCHEDULE}


@ORDER.named("gives positions of its labels: an array of whole numbers in range, each at most once (unless `again`)")
def gives_positions(subject: Subject, case: Case) -> None:
    order = np.asarray(subject.arrange(case))
    assert order.ndim == 1, f"an array of shape {order.shape}, expected [N]"
    assert order.dtype.kind in "iu", f"values of type {order.dtype}, expected whole numbers"
    assert len(order), "nothing is left of the labels"
    low, high = order.min(), order.max()
    assert 0 <= low <= high < case.count, f"positions from {low} to {high}, expected 0 to {case.count - 1}"
    assert subject.spec.again or len(np.unique(order)) == len(order), "a position comes twice"


@ORDER.named("same seed, same order; no global randomness; the labels stay as they were")
def order_is_repeatable(subject: Subject, case: Case) -> None:
    labels = case.labels
    with no_global_randomness():
        first, second = (np.asarray(subject.arrange(case, labels)) for _ in range(2))
    assert np.array_equal(first, second), "one seed gives two orders"
    assert np.array_equal(labels, case.labels), "the labels were changed"


@ORDER.named("takes labels as a list, and one image alone or none, or refuses them with GottaError")
def order_takes_any_labels(subject: Subject, case: Case) -> None:
    listed: Any = case.labels.tolist()
    assert np.array_equal(subject.arrange(case, listed), subject.arrange(case)), "a list of labels is ordered otherwise"
    for labels in (case.labels[:1], case.labels[:0]):
        with suppress(Refused):
            assert len(subject.arrange(case, labels)) <= len(labels), f"more positions than the {len(labels)} labels"


@SCHEDULE.named("gives a list of pools: each some of the given domains, or their other severities")
def gives_pools(subject: Subject, case: Case) -> None:
    pools = subject.visit(case.names)
    assert isinstance(pools, list), f"a {type(pools).__name__}, expected a list"
    assert pools, "no pool is left of the domains"
    known = Labelled(case).domains
    given = {name.rpartition("-")[0] for name in case.names}
    for pool in pools:
        assert isinstance(pool, tuple), f"a pool that is a {type(pool).__name__}, expected a tuple of names"
        assert pool, "a pool without a domain"
        stray = [name for name in pool if name not in known or name.rpartition("-")[0] not in given]
        assert not stray, f"domains that were not given: {stray}"


@SCHEDULE.named("the same again; no global randomness; the names stay as they were")
def schedule_is_repeatable(subject: Subject, case: Case) -> None:
    names = case.names
    with no_global_randomness():
        assert subject.visit(names) == subject.visit(names), "the same names give two schedules"
    assert names == case.names, "the list of names was changed"


@ORDER.named(STREAM)
@SCHEDULE.named(STREAM)
def makes_a_stream(subject: Subject, case: Case) -> None:
    if subject.name is None:
        return
    stream, again = subject.stream(case), subject.stream(case)
    assert stream.hash == again.hash, "the same stream has two content hashes"
    assert np.array_equal(stream.label, case.labels[stream.index]), "a sample has the label of another"
    for step in stream:
        shown = (step.x[:, 0, 0, 0] * 255).round().long().tolist()
        named = [stream.dataset.domains.index(stream.domains[at]) for at in step.truth.domain]
        assert shown == named, "a sample is shown in another domain than the stream says"


def fingerprint_of(subject: Subject) -> str:
    """What it gives on some fixed cases, as a hash."""
    digest = sha256()
    for number, shape in enumerate(SHAPES * 2):
        case = Case(shape, 2 + number, 150, 1 if number % 2 else 4, number)
        try:
            said = subject.arrange(case) if subject.kind == "order" else subject.visit(case.names)
            digest.update(repr(np.asarray(said).tolist()).encode())
        except Refused:
            digest.update(b"refused")
    return digest.hexdigest()


def fingerprint_elsewhere(subject: Subject) -> str:
    """The same from another process, in which sets and dictionaries of text have another order."""
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": other, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    settings = [f"{name}={value}" for name, value in subject.settings.items()]
    command = [sys.executable, "-c", ASK, subject.kind, str(subject.name), *settings]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"
