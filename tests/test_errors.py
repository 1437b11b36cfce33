"""Errors that help: what, what is known, and the nearest name."""

import pytest

from gotta import GottaError
from gotta.errors import unknown


def test_nearest_name_and_all_names_in_order():
    error = unknown("memory", "fsp", ["reservoir", "fps", "fifo"])
    assert str(error) == "memory 'fsp' is unknown. Did you mean 'fps'? Known: fifo, fps, reservoir."


def test_no_guess_for_a_name_like_nothing():
    assert str(unknown("memory", "zzz", ["fps", "fifo"])) == "memory 'zzz' is unknown. Known: fifo, fps."


def test_known_names_may_be_any_iterable():
    assert "Known: a, b." in str(unknown("thing", "c", {"b": 1, "a": 2}))


def test_is_a_value_error():
    with pytest.raises(ValueError, match="unknown"):
        raise unknown("memory", "x", [])
    assert issubclass(GottaError, ValueError)


def test_of_equally_near_names_the_one_that_begins_alike():
    networks = ["resnet110", "resnet20", "resnet20-gn", "resnet26", "resnet32"]
    assert "Did you mean 'resnet20'?" in str(unknown("model", "resnet21", networks))
    assert "Did you mean 'resnet32'?" in str(unknown("model", "resnet33", networks))
    assert "Did you mean 'snow-5'?" in str(unknown("domain", "snow-6", ["snow-1", "snow-2", "snow-5"]))


def test_of_very_many_names_the_nearest():
    names = [f"snow-{number:03}" for number in range(200)]
    shown = str(unknown("domain", "snow-1000", names)).partition("Known: ")[2]
    assert "snow-100" in shown
    assert (shown.count("snow"), shown[-19:]) == (10, ", ... (200 in all).")
    assert str(unknown("domain", "xyz", names)).endswith(
        "Known: snow-000, " + ", ".join(names[1:10]) + ", ... (200 in all)."
    )
