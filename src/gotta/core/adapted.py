"""The adapted model: one step is predict, observe, adapt. The only copy of that logic."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gotta.core import resume
from gotta.core.guard import Guard, GuardWarning
from gotta.core.inputs import MOST, Scale, check_batch, check_finite, check_shape, check_starts, is_finite
from gotta.core.outcome import Outcome, not_stored
from gotta.core.regime import parts_of
from gotta.core.shared import Shared
from gotta.core.summary import describe
from gotta.core.undo import Changeable, Undo, UndoneWarning, drop_broken_rows
from gotta.errors import GottaError, NotFinite, one_error
from gotta.memory import Memory
from gotta.methods import Method
from gotta.methods.parts.as_source import source_logits
from gotta.types import Prediction


class Adapted(Shared):
    """A model that adapts to the stream it predicts. Calling it gives logits; `step` tells what happened besides.

    Every public call holds one lock, so that threads may share a model; each step comes whole or not at all.
    """

    OWN = (*Shared.OWN, "_changeable", "_stepping")

    def __init__(
        self,
        method: Method,
        memory: Memory,
        adapt_every: int | None = None,
        score: str = "before",
        guard: Guard | None = None,
    ) -> None:
        super().__init__()
        self.model = method.model
        self.method, self.memory, self.guard = method, memory, guard
        self.adapt_every, self.score = adapt_every, score
        self.offered = self.adaptations = 0
        self.scale = Scale()
        self.frozen = self.warned = False
        self.recipe: dict[str, Any] | None = None  # the arguments of `adapt`, to build this model again
        self.source_hash: str | None = None
        self.sample: torch.Size | None = None
        self.renew()

    def renew(self) -> None:
        super().renew()
        self._changeable = Changeable(self.method)
        self._stepping = False
        self.method.peek = self.memory.peek if self.memory.lasts else None

    def forward(self, x: Tensor, starts: Any = None) -> Tensor:
        with self.lock:
            logits = self.step(x, starts).prediction.logits
            source = self.guard.source if self.guard is not None and self.guard.sheltering else self.method
            return logits if source.output_type is None else logits.to(source.output_type)

    def step(self, x: Tensor, starts: Any = None) -> Outcome:
        """Predict a batch, offer it to the memory, adapt when due. A batch that is refused changes nothing.

        A step that would ruin the model is taken back as a whole: `outcome.diagnostics["undone"]` is 1 then. `starts`
        says of each sample, true or false, whether it begins a new clip: a prior restarts there.
        """
        # Adapting needs gradients whatever mode the caller is in, and a tensor made in inference mode cannot have any.
        with self.lock, one_error("this batch cannot be predicted"), torch.inference_mode(False), torch.enable_grad():
            largest = check_batch(x, self.sample, self.method.needs_batch)
            x = (x.clone() if x.is_inference() else x.detach()).as_subclass(Tensor)
            with self._whole(check_starts(starts, len(x))) as undo:
                if self.frozen:
                    return self._look(x, undo)
                self.scale, exceeded = self.scale.after(largest)
                if exceeded:
                    return self._leave_out(x, undo)
                if self.guard is not None and self.guard.sheltering:
                    return self._shelter(x, self.guard)
                return self._step(x, undo)

    @contextmanager
    def _whole(self, starts: NDArray[np.bool_] | None) -> Iterator[Undo]:
        """Whatever happens inside happens whole or not at all."""
        if self._stepping:
            raise GottaError("a step was asked for inside a step of the same model. Give what is inside its own copy.")
        self._stepping, spent, prior = True, self.method.cost.mark(), self.method.following.prior
        prior.starts = starts
        watched = None if self.guard is None else self.guard.state_dict()
        try:
            with Undo(self, self._changeable) as undo:
                try:
                    yield undo
                except GuardWarning:  # comes last in a step, as an error only if the caller wants it so
                    raise
                except BaseException:
                    undo.back()
                    self.method.cost.back(spent)
                    if self.guard is not None and watched is not None:
                        self.guard.load_state_dict(watched)
                    raise
        finally:
            self._stepping, prior.starts = False, None

    def _step(self, x: Tensor, undo: Undo) -> Outcome:
        phase = self.method.cost.phase
        with phase("predict"):
            raw = prediction = self._predict(x)
        check_shape(prediction.logits, len(x), self._classes)
        if not is_finite(prediction.logits):
            return self._without_logits(x, undo)
        self.sample = x.shape[1:]
        self.memory.expect(prediction.logits.shape[1])
        before = self.adaptations
        try:
            with phase("predict"):
                prediction = self.method.following.follow(raw)
            slots, diagnostics = self._learn(x, prediction, undo)
            harm = undo.harm()
            after = prediction if harm or self.score == "before" else self._predict_again(x)
        except NotFinite as error:
            harm = str(error)
        if harm:
            undo.back()
            drop_broken_rows(self)
            return self._undone(x, prediction, harm)
        # Inside autocast the caller's context would go on using weights as they were before this step.
        torch.clear_autocast_cache()
        if self.guard is not None:
            diagnostics = {**diagnostics, **self.guard.watch(self.method, self.memory, x, raw)}
            if self.guard.sheltering and self.score == "after":
                after = self._predict_again(x)  # with whatever the guard went back to
        diagnostics = {**diagnostics, **self.method.following.measure()}
        return Outcome(after, slots, self.adaptations - before, self.method.cost.take(), diagnostics)

    def _predict(self, x: Tensor) -> Prediction:
        # Without a memory the batch that is predicted is the one to adapt on, so its forward serves both.
        serves_both = not self.memory.lasts and self.adapt_every is None
        with self.method.following.watching(self.method.predictor):
            return self.method.predict_to_adapt(x) if serves_both else self.method.predict(x)

    def _predict_again(self, x: Tensor, followed: bool = True) -> Prediction:
        """Predict, and move nothing: samples that the prior has just followed, or others."""
        with self.method.cost.phase("predict"), self.method.only_predicting():
            prediction = self.method.predict(x)
            self._expect(prediction.logits, len(x))
        return self.method.following.prior.look(prediction, again=followed)

    def _learn(self, x: Tensor, prediction: Prediction, undo: Undo) -> tuple[Tensor, dict[str, float]]:
        """Offer the batch to the memory and adapt where it is due. The slots, and what the method measured."""
        phase, every = self.method.cost.phase, self.memory.refresh_every
        slots, diagnostics = [], {}
        for part, due in parts_of(len(x), self.offered, self.adapt_every):
            if self._observes:
                with phase("observe"):
                    slots.append(self._observe(x[part], self.method.following.as_labels(prediction), part))
            self.offered += part.stop - part.start
            self.adaptations += due
            if due and self._observes:
                with phase("adapt"):
                    undo.expect_adaptation()
                    held = self.memory.batch()
                    diagnostics = self.method.adapt(held) if len(held) else {}
                    if self.method.reset_every and self.adaptations % self.method.reset_every == 0:
                        self.method.start_over()
                if every and self.adaptations % every == 0:
                    with phase("refresh"), self.method.unaware_of_memory():
                        self.memory.refresh(self.method.predict)
        if self.method.moves_statistics and self.method.statistics.fed_by == "batch":
            with phase("adapt"):
                undo.expect_adaptation()
                self.method.feed(x)
        return torch.cat(slots) if slots else not_stored(len(x)), diagnostics

    def _without_logits(self, x: Tensor, undo: Undo) -> Outcome:
        """The adapted model has no finite logits for this batch. The source's, if it has any; else it is refused."""
        undo.back()
        source = self._source_prediction(x)  # raises where the batch is to blame and not the adapted model
        if self.guard is not None and self.guard.action != "warn":
            self.guard.trip(self.method, self.memory, "its logits are NaN or infinite")
            return self._shelter(x, self.guard)
        return self._undone(x, source, "the adapted model has no finite logits for it")

    def _leave_out(self, x: Tensor, undo: Undo) -> Outcome:
        """Predict a batch whose values are out of all proportion, and learn nothing from it."""
        scale = self.scale
        try:
            sheltered = self.guard is not None and self.guard.sheltering
            prediction = self._source_prediction(x) if sheltered else self._predict_again(x, followed=False)
        except NotFinite:
            prediction = self.method.following.prior.look(self._source_prediction(x))
        undo.back()
        self.scale = scale  # which counts such samples, and gives in to many of them
        return self._undone(x, prediction, f"it holds values more than {MOST:,.0f} times as large as any before")

    def _undone(self, x: Tensor, prediction: Prediction, harm: str) -> Outcome:
        outcome = self._untouched(x, prediction, {"undone": 1.0})
        if not self.warned:
            self.warned = True
            text = f"a batch was predicted, and everything else that it did taken back: {harm}. This is told once."
            warnings.warn(text, UndoneWarning, stacklevel=4)
        return outcome

    def _source_prediction(self, x: Tensor) -> Prediction:
        with self.method.cost.phase("predict"):
            logits = source_logits(self.method, x)
        self._expect(logits, len(x))
        return Prediction(logits, None, "probs")

    def _look(self, x: Tensor, undo: Undo) -> Outcome:
        """Predict, and change nothing."""
        prediction = self._predict_again(x, followed=False)
        undo.back()
        return self._untouched(x, prediction)

    def _shelter(self, x: Tensor, guard: Guard) -> Outcome:
        """Predict as the source model while the guard finds the adapted one unhealthy."""
        prediction, diagnostics = guard.predict(self.method, self.memory, x)
        self._expect(prediction.logits, len(x))
        return self._untouched(x, prediction, diagnostics)

    def _untouched(self, x: Tensor, prediction: Prediction, diagnostics: dict[str, float] | None = None) -> Outcome:
        if not self.frozen:
            self.method.following.prior.pass_starts()
        return Outcome(prediction, not_stored(len(x)), 0, self.method.cost.take(), diagnostics or {})

    def freeze(self) -> None:
        """From now on only predict, with the state as it is: nothing is observed, nothing adapts."""
        with self.lock:
            self.frozen = True

    def unfreeze(self) -> None:
        """Adapt again."""
        with self.lock:
            self.frozen = False

    def boundary(self) -> None:
        """Say that the next sample has nothing to do with the last one: a new clip, another camera."""
        with self.lock:
            self.method.following.prior.boundary()

    @torch.inference_mode(False)
    def reset(self) -> None:
        """Back to the source model and an empty memory."""
        with self.lock:
            self.method.reset()
            self.memory.reset()
            if self.guard is not None:
                self.guard.reset()
            self.offered = self.adaptations = 0
            self.scale = Scale()

    def save(self, path: str | Path, beside: Mapping[str, Any] | None = None) -> None:
        """Write everything needed to go on bit for bit into a folder, whole or not at all.

        `beside` is kept with it and given back by `load`: where the stream was, for one. Arrays and what JSON can say.
        """
        with self.lock:
            resume.save(self, Path(path), beside)

    @torch.inference_mode(False)
    def load(self, path: str | Path) -> dict[str, Any]:
        """Go on from a saved state of a model built alike; what was saved beside it.

        A state that does not fit changes nothing.
        """
        with self.lock:
            return resume.load(self, Path(path))

    def train(self, mode: bool = True) -> "Adapted":
        """The method alone decides which layers are in which mode, so train() and eval() do not reach the model."""
        self.training = mode
        return self

    @property
    def notes(self) -> list[str]:
        """What a reader of its results should know about its memory and its method."""
        return [*self.memory.notes, *self.method.notes]

    def __repr__(self) -> str:
        with self.lock:
            return describe(self)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Adapted":
        """Moving the model moves what belongs to it: teachers, optimizer, stored samples, the guard's source."""
        with self.lock:
            super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
            resume.move(self, fn)
            return self

    @property
    def _observes(self) -> bool:
        """Whether anybody looks at the samples again: a method, a memory that lasts, or the reader of a journal."""
        memory = self.memory
        return self.method.adapts or memory.lasts or memory.journal is not None

    @property
    def _classes(self) -> int | None:
        return self.memory.num_classes if self.memory.knows_classes else None

    def _expect(self, logits: Tensor, samples: int) -> None:
        check_shape(logits, samples, self._classes)
        check_finite(logits)

    def _observe(self, x: Tensor, prediction: Prediction, part: slice) -> Tensor:
        label, uncertainty, embedding = prediction.label, prediction.uncertainty, prediction.embedding
        return torch.as_tensor(self.memory.observe(x, label[part], uncertainty[part], embedding[part]))
