"""Many runs: what is finished is kept and not run again, what another sweep is running is waited for."""

import logging
from collections.abc import Iterable, Sequence
from time import sleep

from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.user_parts import check_permitted
from gotta.experiment.sweep.cell import LAST, Event, Listener, Work
from gotta.experiment.sweep.engines import Engine
from gotta.experiment.sweep.store import Store

__all__ = ["Event", "Listener", "Sweep", "Work"]

log = logging.getLogger(__name__)
LEVELS = {"failed": logging.WARNING, "moved": logging.DEBUG}
LOOK = 1.0  # seconds between two looks at cells that others run


class Sweep:
    """One driver's view of the cells to do. Other drivers may work on the same store."""

    def __init__(self, store: Store, work: Work, engine: Engine, listen: Listener) -> None:
        self.store, self.work, self.engine, self.listen = store, work, engine, listen
        self.last: dict[str, Event] = {}

    def run(self, specs: Iterable[RunSpec]) -> list[Event]:
        specs, leases = list(specs), self.work.leases()
        for spec in specs:
            check_permitted(spec.model_dump())
        self._tidy(specs)
        waiting = {spec.id: spec for spec in specs if not self.work.done(spec.id)}
        try:
            while waiting:
                free = [spec for spec in waiting.values() if leases.free(spec.id)]
                if free:
                    self.engine.run(free, self.work, self._hear)
                waiting = {id: spec for id, spec in waiting.items() if not self._is_settled(id)}
                if waiting and not free:
                    for event in self.work.progress(waiting):
                        self.listen(event)
                    sleep(LOOK)
        finally:
            self._tidy(specs)
        return [event for event in self.last.values() if event.kind == "failed"]

    def _tidy(self, specs: Sequence[RunSpec]) -> None:
        self.store.sweep_leftovers()
        self.work.leases().tidy()
        for spec in specs:
            if self.store.has(spec.id):
                self.work.tidy(spec.id)

    def _hear(self, event: Event) -> None:
        log.log(LEVELS.get(event.kind, logging.INFO), "%s", event)
        if event.kind in LAST:
            self.last[event.id] = event
        if event.kind != "taken":
            self.listen(event)

    def _is_settled(self, id: str) -> bool:
        last = self.last.get(id)
        if last and last.kind == "failed":
            return True
        if not self.work.done(id):
            if last and last.kind == "finished":
                self._hear(Event("failed", id, message="what was stored of it could not be read back"))
                return True
            return False
        if last is None or last.kind == "taken":  # somebody else's work
            self._hear(Event("finished", id, accuracy=self.store.read(id).summary["accuracy"]))
        return True
