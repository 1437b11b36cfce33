"""The adapted model: one step is predict, observe, adapt. The only copy of that logic."""

import logging
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gotta.core.between_steps import BetweenSteps
from gotta.core.guard import Guard
from gotta.core.inputs import MOST, check_call, check_logits, check_outputs, is_finite, never_compiled, not_stored
from gotta.core.regime import parts_of
from gotta.core.shadow import Noting
from gotta.core.streams import rows_of, take_each
from gotta.core.undo import Undo, UndoneWarning, drop_broken_rows
from gotta.errors import NotFinite, raise_mistake
from gotta.methods.parts.calls import LABELS, CalledAsNetwork, check_own
from gotta.priors.prior import Starts
from gotta.types import Outcome, Prediction

LOG = logging.getLogger(__name__)


class Adapted(BetweenSteps):
    """A model that adapts to the stream it predicts. Call it as the network; `step` tells what happened besides.

    Every public call holds one lock, so that threads may share a model; each step comes whole or not at all.

    `gotta.adapt` and `gotta.load` make it, of a `method`, a `memory`, the samples between two adaptations
    (`adapt_every`), which prediction is given (`score`), and where they are asked for a `guard` and a `shadow`.

    >>> import gotta, torch
    >>> net = torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.Flatten(), torch.nn.Linear(48, 10))
    >>> model = gotta.adapt(net, "tent")
    >>> model.step(torch.rand(8, 3, 4, 4)).prediction.label.shape
    torch.Size([8])
    """

    def renew(self) -> None:
        super().renew()
        self.on_step = None
        self.method.peek = self.memory.peek if self.memory.lasts else None

    @CalledAsNetwork
    def forward(self, *inputs: Any, labels: Any = None, **named: Any) -> Any:
        """Takes what the network takes and gives what it gives, with the adapted logits; the others as in `step`."""
        # By its name alone a Trainer of Hugging Face learns which column has the true labels.
        return self.step(*inputs, **named, **({} if labels is None else {LABELS: labels})).output

    @never_compiled
    def step(self, *inputs: Any, starts: Any = None, stream: Any = None, ids: Any = None, **named: Any) -> Outcome:
        """Predict a batch, offer it to the memory, adapt when due. A batch that is refused changes nothing.

        A step that would ruin the model is taken back as a whole: `outcome.diagnostics["undone"]` is 1 then. `starts`
        says of each sample, true or false, whether it begins a new clip: a prior restarts there. `stream` names the
        stream that the batch, or each sample, belongs to: a camera, a user. Each is adapted to as if it were alone.
        With a shadow, `ids` names the samples for `feedback`; without, `outcome.ids` has their numbers.
        """
        # Adapting needs gradients whatever mode the caller is in, and a tensor made in inference mode cannot have any.
        with self.lock, torch.inference_mode(False), torch.enable_grad():
            try:
                check_own(self.model, starts=starts, stream=stream, ids=ids)
                with self.method.calls.taking(self.model, inputs, named) as x:
                    if self.shadow is None and ids is None:
                        outcome = self._attempt(x, starts, stream)
                    else:
                        outcome = self._beside(x, ids, lambda note: self._attempt(x, starts, stream, note))
                return outcome if self.on_step is None else self.tell(outcome)
            except Exception as error:
                raise_mistake("this batch cannot be predicted", error)
                raise

    def _attempt(self, x: Tensor, starts: Any, stream: Any, note: Noting | None = None) -> Outcome:
        largest, begins = check_call(self, x, starts)
        rows = None if stream is None else rows_of(self, stream, len(x))

        def take(undo: Undo) -> Outcome:
            batch = x, begins, largest
            taken = self.take(*batch, undo) if rows is None else take_each(self, batch, rows, undo)
            if note is not None:
                note(taken.prediction)
            return taken

        outcome = self.whole("a step", take)
        return outcome if rows is not None else replace(outcome, output=self.answer(outcome.prediction))

    def take(self, x: Tensor, starts: Starts | None, largest: list[float], undo: Undo) -> Outcome:
        """A step of one stream. `largest` are the largest values of the samples."""
        if self.frozen:
            return self._look(x, starts, undo)
        self.scale, exceeded = self.scale.after(largest)
        if exceeded:
            return self._leave_out(x, starts, undo)
        if self.guard is not None and self.guard.sheltering:
            return self._shelter(x, starts, self.guard)
        return self._step(x, starts, undo)

    def _step(self, x: Tensor, starts: Starts | None, undo: Undo) -> Outcome:
        phase = self.method.cost.phase
        with phase("predict"):
            raw = prediction = self._predict(x)
        check_outputs(self, prediction.logits, len(x))
        if not is_finite(prediction.logits):
            return self._without_logits(x, starts, undo)
        self.sample = tuple(x.shape[1:])
        if self.classes is None:
            self.memory.expect(prediction.logits.shape[1])
        before, domain = self.adaptations, self.method.domain
        try:
            with phase("predict"):
                prediction = self.method.follow(raw, starts)
            if domain and self.method.domain != domain:  # weights of a domain that is left
                undo.expect_adaptation()
                self.method.start_over()
            slots, diagnostics = self._learn(x, prediction, undo)
            harm = undo.harm()
            after = prediction if harm or self.score == "before" else self._predict_again(x, starts)
        except NotFinite as error:
            harm = str(error)
        if harm:
            undo.back()
            drop_broken_rows(self)
            return self._undone(starts, prediction, harm)
        # Inside autocast the caller's context would go on using weights as they were before this step.
        torch.clear_autocast_cache()
        if self.guard is not None:
            diagnostics = {**diagnostics, **self.guard.watch(self.method, self.memory, x, raw)}
            if self.guard.sheltering and self.score == "after":
                after = self._predict_again(x, starts)  # with whatever the guard went back to
        diagnostics = {**diagnostics, **self.method.measure_stream()}
        return Outcome(after, slots, self.adaptations - before, self.method.cost.take(), diagnostics)

    def _predict(self, x: Tensor) -> Prediction:
        # Without a memory the batch that is predicted is the one to adapt on, so its forward serves both.
        serves_both = not self.memory.lasts and self.adapt_every is None and self.method.domain != 0
        return self.method.watch(x, self.method.predict_to_adapt if serves_both else self.method.predict)

    def _predict_again(self, x: Tensor, starts: Starts | None, followed: bool = True) -> Prediction:
        """Predict, and move nothing: samples that the prior has just followed, or others."""
        with self.method.cost.phase("predict"), self.method.only_predicting():
            prediction = self.method.predict(x)
            check_logits(prediction.logits, len(x), self.classes)
        return self.method.prior.look(prediction, starts, again=followed)

    def _learn(self, x: Tensor, prediction: Prediction, undo: Undo) -> tuple[Tensor, dict[str, float]]:
        """Offer the batch to the memory and adapt where it is due. The slots, and what the method measured."""
        phase, slots, diagnostics = self.method.cost.phase, [], {}
        for part, due in parts_of(len(x), self.offered, self.adapt_every) if self.observes else ():
            with phase("observe"):
                slots.append(self._observe(x[part], self.method.as_labels(prediction), part))
            self.offered += part.stop - part.start
            if due and self.method.domain != 0:
                diagnostics = self._take_turn(undo)
        if not self.observes:
            self.offered += len(x)
        if self.method.moves_statistics and self.method.statistics.fed_by == "batch":
            with phase("adapt"):
                undo.expect_adaptation()
                self.method.feed(x)
        return torch.cat(slots) if slots else not_stored(len(x)), diagnostics

    def _observe(self, x: Tensor, prediction: Prediction, part: slice) -> Tensor:
        columns = [column[part] for column in (prediction.label, prediction.uncertainty, prediction.embedding)]
        statistics = self.method.statistics
        if not statistics.keeps_moments:
            return torch.as_tensor(self.memory.take_in(x, *columns))
        if statistics.outdated and part.start == 0:
            self.memory.drop(np.ones(len(self.memory), bool))
        return statistics.offer(self.memory.take_in, columns, part)

    def _take_turn(self, undo: Undo) -> dict[str, float]:
        """It is time: the memory is read, the method adapts, and rows are predicted anew where that is due."""
        method, phase = self.method, self.method.cost.phase
        every = None if method.statistics.keeps_moments else self.memory.refresh_every  # moments are not predicted anew
        diagnostics: dict[str, float] = {}
        self.turns += 1
        with phase("adapt"):
            held = self.memory.batch()
            if method.adapts:
                undo.expect_adaptation()
                self.adaptations += 1
                diagnostics = method.adapt(held) if len(held) else {}
                if method.reset_every and self.adaptations % method.reset_every == 0:
                    method.start_over()
        if every and self.turns % every == 0:
            with phase("refresh"), method.unaware_of_memory():
                self.memory.refresh(method.predict)
        return diagnostics

    def _without_logits(self, x: Tensor, starts: Starts | None, undo: Undo) -> Outcome:
        """The adapted model has no finite logits for this batch. The source's, if it has any; else it is refused."""
        undo.back()
        source = self._source_prediction(x)  # raises where the batch is to blame and not the adapted model
        if self.guard is not None and self.guard.action != "warn":
            self.guard.trip(self.method, self.memory, "its logits are NaN or infinite")
            return self._shelter(x, starts, self.guard)
        return self._undone(starts, source, "the adapted model has no finite logits for it")

    def _leave_out(self, x: Tensor, starts: Starts | None, undo: Undo) -> Outcome:
        """Predict a batch whose values are out of all proportion, and learn nothing from it."""
        scale = self.scale
        try:
            sheltered = self.guard is not None and self.guard.sheltering
            prediction = self._source_prediction(x) if sheltered else self._predict_again(x, starts, followed=False)
        except NotFinite:
            prediction = self.method.prior.look(self._source_prediction(x), starts)
        undo.back()
        self.scale = scale  # which counts such samples, and gives in to many of them
        harm = f"it holds values more than {MOST:,.0f} times as large as any before"
        return self._undone(starts, prediction, harm)

    def _undone(self, starts: Starts | None, prediction: Prediction, harm: str) -> Outcome:
        LOG.info("a step was taken back: %s", harm)
        outcome = self._untouched(prediction, starts, {"undone": 1.0})
        if not self.warned:
            self.warned = True
            text = f"a batch was predicted, and whatever else it did was taken back: {harm}. This warning comes once."
            warnings.warn(text, UndoneWarning, stacklevel=6)
        return outcome

    def _source_prediction(self, x: Tensor) -> Prediction:
        with self.method.cost.phase("predict"):
            logits = self.method.source_logits(x)
        check_logits(logits, len(x), self.classes)
        return Prediction(logits, None, "probs")

    def _look(self, x: Tensor, starts: Starts | None, undo: Undo) -> Outcome:
        """Predict, and change nothing."""
        prediction = self._predict_again(x, starts, followed=False)
        undo.back()
        return Outcome(prediction, not_stored(len(x)), 0, self.method.cost.take())

    def _shelter(self, x: Tensor, starts: Starts | None, guard: Guard) -> Outcome:
        """Predict as the source model while the guard finds the adapted one unhealthy."""
        prediction, diagnostics = guard.predict(self.method, self.memory, x)
        check_logits(prediction.logits, len(x), self.classes)
        return self._untouched(prediction, starts, diagnostics)

    def _untouched(self, prediction: Prediction, starts: Starts | None, diagnostics: dict[str, float]) -> Outcome:
        self.method.prior.skip(starts)
        slots = not_stored(len(prediction.logits))
        return Outcome(prediction, slots, 0, self.method.cost.take(), diagnostics)
