"""The parts that slow tests are run in: together all of them, each in one."""

from types import SimpleNamespace

import conftest
import pytest


def part(shard, names):
    """The names that are left of some, and those that are reported as left out."""
    items = [SimpleNamespace(nodeid=name, get_closest_marker=lambda marker: None) for name in names]
    left_out = []
    hook = SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items))
    config = SimpleNamespace(getoption=lambda option: shard, hook=hook)
    conftest.pytest_collection_modifyitems(config, items)
    return [item.nodeid for item in items], [item.nodeid for item in left_out]


@pytest.mark.parametrize("of", [1, 2, 6, 7])
def test_every_test_is_in_exactly_one_part(request, of):
    names = [f"tests/room/test_file.py::test_{number}[{number % 7}]" for number in range(500)]
    names += [item.nodeid for item in request.session.items]
    kept = {}
    for number in range(1, of + 1):
        chosen, left_out = part(f"{number}/{of}", names)
        assert sorted(chosen + left_out) == sorted(names)
        assert len(chosen) > len(names) / of / 2
        kept |= {name: number for name in chosen}
    assert len(kept) == len(set(names))
    shuffled, _ = part(f"{of}/{of}", names[::-1])
    assert sorted(shuffled) == sorted(name for name in names if kept[name] == of)


def test_without_a_part_all_tests_are_left():
    assert part(None, ["a", "b"]) == (["a", "b"], [])


@pytest.mark.parametrize("wrong", ["0/6", "7/6", "2", "2/", "a/b", "-1/6", "1/0"])
def test_what_is_no_part_is_told(wrong):
    with pytest.raises(pytest.UsageError, match=r"such as 2/6 \(got "):
        part(wrong, ["a"])
