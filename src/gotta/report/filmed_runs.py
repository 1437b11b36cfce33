"""The recordings of a folder of runs: which there are, what they are called, and which a page takes first."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gotta.experiment.run.memory_film import record_path
from gotta.json_yaml import read_json
from gotta.report.results import Chapter, Results

ROOM = 2_200_000  # bytes of recordings at most
BEST, BEST_MEMORY = "the best of the table", "the best memory"


@dataclass(frozen=True)
class Film:
    """A recorded run: `why` it is of interest, if so; `order` puts the best and fps first."""

    id: str
    name: str
    why: str
    order: tuple[int, int, float, str]


def films_of(chapter: Chapter, filmed: Collection[str]) -> list[Film]:
    """Those of one table: the best cells, fps, other memories, then what has none; first seeds first."""
    memories = [entry for entry in chapter.panel.entries if entry.is_ranked and entry.row.is_memory]
    best = max(memories, key=lambda entry: entry.mean, default=None)
    found = []
    for entry in chapter.panel.entries:
        why = BEST if entry in chapter.answer.best else BEST_MEMORY if entry is best else ""
        kind = 0 if why else 1 if entry.row.name == "fps" else 2 if entry.row.is_memory else 3
        found += [
            Film(run.id, f"{entry.name}, seed {run.seed}", why, (run.seed, kind, -(run.accuracy or 0.0), run.id))
            for run in entry.runs
            if run.id in filmed
        ]
    return sorted(found, key=lambda film: film.order)


def choose_recordings(results: Results, room: int = ROOM) -> dict[str, Any]:
    """The recordings to put into a page, as many as there is room for; each table has its first before its second."""
    ranked = [(k, film) for chapter in results.chapters for k, film in enumerate(films_of(chapter, results.filmed))]
    chosen: dict[str, Any] = {}
    for _, film in sorted(ranked, key=lambda one: (one[1].order[:2], one[0], one[1].id)):
        path = record_path(results.root, film.id)
        size = path.stat().st_size
        document = read_record(path) if size <= room and film.id not in chosen else None
        if document is not None:
            chosen[film.id], room = document, room - size
    return chosen


def read_record(path: Path) -> dict[str, Any] | None:
    """None where the file is damaged."""
    try:
        document = read_json(path)
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) and document.get("format") == 1 else None
