"""One field of a document changed at random, for tests of files that somebody else has written."""

import copy

VALUES = [None, True, False, 0, 1, -1, 3, 2**31, 2**63, 10**12, -0.5, 0.5, 1e308, 5e-324]
VALUES += ["", "x", "norm", "0", "a\x00b", "../../x", "é" * 300, [], [0], [[1]], ["x"], {}, {"x": 1}, {"$tensor": "x"}]


def places(document, path=()):
    """Every place in a document, from the top downwards."""
    inside = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in inside:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def changed(document, rng):
    """A copy in which one value is another one, is gone, or was moved; and the place."""
    document = copy.deepcopy(document)
    found = list(places(document))
    path = found[rng.integers(len(found))]
    inside = document
    for key in path[:-1]:
        inside = inside[key]
    kind = rng.integers(8)
    if kind == 0 and isinstance(inside, dict):
        del inside[path[-1]]
    elif kind == 1:
        other = document
        for key in found[rng.integers(len(found))]:
            other = other[key]
        inside[path[-1]] = copy.deepcopy(other)
    elif kind == 2 and isinstance(inside[path[-1]], int | float):
        inside[path[-1]] = inside[path[-1]] + 1
    else:
        inside[path[-1]] = VALUES[rng.integers(len(VALUES))]
    return document, ".".join(map(str, path))
