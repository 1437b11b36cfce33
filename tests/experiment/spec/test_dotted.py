"""Settings by dotted names."""

from gotta.experiment.spec.dotted import flatten, tell_apart


def test_sections_become_dotted_names():
    assert flatten({"a": {"b": 1, "c": {"d": 2}}, "e": [3], "f": {}}) == {"a.b": 1, "a.c.d": 2, "e": [3]}
    assert flatten({"a": 1}, "spec.") == {"spec.a": 1}


def test_what_follows_from_another_setting_tells_nothing_new():
    both = [{"capacity": m, "batch_size": m, "gamma": g} for m in (8, 16) for g in (0.1, 0.2)]
    assert tell_apart(both) == ["capacity", "gamma"]


def test_a_setting_that_only_some_have_tells_them_apart():
    assert tell_apart([{"name": "fps"}, {"name": "fps", "epsilon": 0.1}]) == ["epsilon"]


def test_what_is_alike_or_alone_needs_no_settings():
    assert tell_apart([{"a": 1}, {"a": 1}]) == []
    assert tell_apart([{"a": 1}]) == []
    assert tell_apart([]) == []
