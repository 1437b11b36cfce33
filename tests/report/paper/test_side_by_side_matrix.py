from made_runs import made

from gotta.report.paper.side_by_side_matrix import beside_matrix


def test_cells_of_the_paper_by_memory_and_method_with_their_flags():
    found = beside_matrix([made(memory, method) for method in ("norm", "tent") for memory in ("none", "fps")])
    assert (found.methods, found.memories) == (("norm", "tent"), ("none", "fps"))
    assert found.pairs["fps"]["norm"].published.value == 76.11
    flagged = {(m, k): found.notes(pair) for m, row in found.pairs.items() for k, pair in row.items()}
    assert {number for numbers in flagged.values() for number in numbers} == set(range(1, len(found.flags) + 1))
    assert flagged["none", "tent"]
    assert found.differs


def test_what_the_paper_has_not_is_none():
    assert beside_matrix([made("hus")]) is None
