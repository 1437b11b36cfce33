"""A walk through pairs of corruptions (CCC): a transition begins with the corruption that the last one ended with."""

from collections.abc import Sequence

from gotta.errors import GottaError
from gotta.seeds import generator
from gotta.streams.schedule import SCHEDULES, Pool
from gotta.types import read_pair

USUAL_TRANSITIONS = 8


@SCHEDULES.register("walk")
def walk(names: Sequence[str], seed: int, transitions: int | None = None) -> list[Pool]:
    """From corruption to corruption, `transitions` (8) times, along the points that the data set has for each pair."""
    paths: dict[tuple[str, str], list[str]] = {}
    for name in names:
        if (pair := read_pair(name)) is None:
            raise GottaError(
                f"schedule 'walk' goes from one corruption to another, and '{name}' has only one. Use data set 'ccc'."
            )
        paths.setdefault((pair[0][0], pair[1][0]), []).append(name)
    rng = generator(seed, "walk")
    visits: list[Pool] = []
    at: str | None = None
    for _ in range(USUAL_TRANSITIONS if transitions is None else transitions):
        possible = [pair for pair in paths if at in (None, pair[0])]
        if not possible:
            raise GottaError(f"schedule 'walk' came to '{at}', and no path leaves it. Name paths from there as well.")
        chosen = possible[int(rng.integers(len(possible)))]
        visits += [(name,) for name in paths[chosen]]
        at = chosen[1]
    return visits
