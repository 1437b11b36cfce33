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
