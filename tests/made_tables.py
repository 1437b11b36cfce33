"""Runs of two domains and one accuracy, and what tests ask of a table."""

from made_runs import domains_of, made

PHASE = {"seconds": 0.25, "forwards": 3, "backwards": 1, "samples": 64}
SUMMARY = {
    "buffer": {"rows": 32, "occupancy": 1.0, "balance": 0.987, "purity": None, "coverage": 0.124},
    "cost": {"predict": PHASE, "observe": PHASE, "adapt": PHASE, "total": PHASE, "peak_mb": 512.0},
}


def run(memory="fps", method="norm", accuracy=50.0, seed=0, control=None, seconds=2.0, summary=None, **changes):
    scores = accuracy - 10, accuracy + 10
    online = {"domains": domains_of(scores), "ece": 12.345, "nll": 1.2345, "entropy": 0.5}
    found = SUMMARY | {"seconds": seconds, "online": online} | (summary or {})
    return made(memory, method, scores, seed, control, summary=found, **changes)


def cells(found):
    return {
        (row.names[-1], column): cell
        for row in found.rows
        for column, cell in zip(found.columns, row.cells, strict=True)
    }


def row_names(found):
    return [row.names[-1] for row in found.rows]
