"""What may be asked of an adapted model in service: what it would be worth, who answers, and the way back."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from gotta.core import resume
from gotta.core.between_steps import BetweenSteps
from gotta.core.inputs import check_batch
from gotta.core.shadow import Noting, Shadow, ShadowReport
from gotta.errors import GottaError
from gotta.types import Outcome

MOST_SNAPSHOTS = 5
LOG = logging.getLogger(__name__)


class Operated(BetweenSteps):
    """A shadow, snapshots, and whoever wants to hear of each step."""

    on_step: Callable[[Outcome], object] | None  # called after each step, with what it gave; not part of copies

    def report(self) -> ShadowReport:
        """Agreement with the source, signs without labels, and where there are labels the gain with its interval."""
        with self.alone("report()"):
            return self._shadow("report()").report()

    def feedback(self, ids: Any, labels: Any) -> None:
        """Say what samples truly were: `ids` as in `outcome.ids`, or those given to `step`. All count, or none."""
        with self.alone("feedback()"):
            self._shadow("feedback()").feed_back(ids, labels)

    def promote(self) -> None:
        """From now on the adapted model answers; the source goes on beside it."""
        with self.alone("promote()"):
            self._shadow("promote()").live = True

    def demote(self) -> None:
        """From now on the source answers; the adapted model goes on beside it."""
        with self.alone("demote()"):
            self._shadow("demote()").live = False

    def snapshot(self) -> int:
        """Keep the state as it is now, and give its number. The last five are kept, and saved with the model."""
        with self.alone("snapshot()"):
            state = {name: part for name, part in resume.state_of(self).items() if name != "shadow"}
            number = max(self.snapshots, default=0) + 1
            kept = {old: held for old, held in self.snapshots.items() if old > number - MOST_SNAPSHOTS}
            self.snapshots = {**kept, number: state}
            return number

    @torch.inference_mode(False)
    def rollback(self, number: int) -> None:
        """Go back to a snapshot. Who answers, and what the shadow has counted, stays."""
        with self.alone("rollback()"):
            if number not in self.snapshots:
                known = ", ".join(map(str, self.snapshots)) or "none"
                raise GottaError(f"there is no snapshot {number!r}. Kept: {known}. snapshot() makes one.")
            state: Mapping[str, Any] = self.snapshots[number]
            self.whole("rollback()", lambda undo: resume.put_state(self, state), everything=True)

    def wait(self) -> None:
        """Return when every batch that was given is learned from. Without `background`, that is at once."""

    def _shadow(self, what: str) -> Shadow:
        if self.shadow is None:
            raise GottaError(f"{what} needs a model with a shadow. Build it with gotta.adapt(net, shadow=True).")
        return self.shadow

    def _beside(self, x: Tensor, ids: Any, attempt: Callable[[Noting], Outcome]) -> Outcome:
        """A step beside the source."""
        with self.alone("a step"):  # refused here, because below the source would answer where that is refused
            check_batch(x, self.sample, False)
            return self._shadow("ids=").step(x, ids, attempt, self.answer)

    def tell(self, outcome: Outcome) -> Outcome:
        """Let whoever listens hear of a step. Its errors are logged: the step has happened."""
        if self.on_step is not None:
            try:
                self.on_step(outcome)
            except Exception:
                LOG.exception("on_step failed; the step itself is done")
        return outcome
