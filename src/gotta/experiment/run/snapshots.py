"""A cell in the middle of its stream, kept so that whoever takes it over goes on bit for bit."""

import math
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from gotta.core.adapted import Adapted
from gotta.errors import GottaError
from gotta.experiment.run import EVERY
from gotta.experiment.run.environment import environment
from gotta.experiment.run.scoring import Scoring

# With any of these changed the rest of the stream would not be what it would have been.
MUST_AGREE = ("gotta", "commit", "python", "torch", "numpy", "scipy", "platform", "torch_threads", "cuda")
UNREADABLE = (GottaError, LookupError, ValueError, TypeError, AttributeError, RuntimeError, MemoryError, OSError)


class Snapshots:
    """The snapshot of one cell: at most one, replaced whole. `notice` hears what a reader of the sweep should know."""

    def __init__(
        self, folder: Path, every: float = EVERY, notice: Callable[[str], None] = lambda message: None
    ) -> None:
        self.folder, self.every, self.notice = folder, every, notice
        self.beside: dict[str, str] = {}  # what else must agree: which weights the cell has
        self._last = monotonic()

    def due(self) -> bool:
        return monotonic() - self._last >= self.every

    def save(self, adapted: Adapted, scoring: Scoring) -> None:
        """Keep the state after the last scored step. A disk that refuses it costs the snapshot, not the cell."""
        made_by = self._now()
        try:
            if self.folder.is_symlink():
                raise GottaError(f"'{self.folder}' is a link")
            adapted.save(self.folder, {"made_by": made_by, "scoring": scoring.state_dict()})
        except (GottaError, OSError) as error:
            self.notice(f"no snapshots from here on: {error}")
            self.every = math.inf
        self._last = monotonic()

    def load(self, adapted: Adapted, scoring: Scoring) -> bool:
        """Bring both to where the snapshot left off. False, with both as they may be, if it does not fit."""
        try:
            beside = adapted.load(self.folder)
            then, now = beside["made_by"], self._now()
            changed = [name for name in {**then, **now} if now.get(name) != then.get(name)]
            if changed:
                raise GottaError(f"it was made with another {', '.join(changed)}")
            scoring.load_state_dict(beside["scoring"])
        except UNREADABLE as error:
            self.notice(f"its snapshot cannot be used, so it starts anew: {error}")
            return False
        return True

    def _now(self) -> dict[str, object]:
        return {name: value for name, value in environment().items() if name in MUST_AGREE} | self.beside
