from gotta.errors import GottaError
from gotta.experiment.spec.spec_errors import SpecErrors, in_words, inside, together, without


def test_one_mistake_stands_alone_and_several_are_a_list():
    assert together(["a is wrong"]) == "a is wrong"
    assert together(["a is wrong", "b too"], "the file") == "2 mistakes in the file:\n  - a is wrong\n  - b too"
    error = SpecErrors(["a is wrong", "b too"])
    assert isinstance(error, GottaError)
    assert error.mistakes == ["a is wrong", "b too"]
    assert str(error).startswith("2 mistakes in the spec:")


def test_findings_speak_of_settings_and_not_of_python():
    assert (
        in_words({"type": "list_type", "input": 3, "msg": "Input should be a valid list"})
        == "expected a list, such as [3]"
    )
    assert in_words({"type": "dict_type", "input": 3, "msg": "x"}).startswith("expected settings by name")
    assert in_words({"type": "value_error", "input": 3, "msg": "Value error, Too much"}) == "too much"


def test_places_are_found_and_left_out_of_a_copy():
    given = {"cells": [{"a": 1}, {"b": 2}, {"c": 3}], "seeds": [0]}
    assert inside(given, ("cells", 1, "b")) == 2
    assert inside(given, ("cells", 7, "b")) is None
    assert inside(given, ("seeds", "x")) is None
    assert without(given, [("cells", 0), ("cells", 2, "c"), ("nowhere", 1)]) == {"cells": [{"b": 2}, {}], "seeds": [0]}
    assert given["cells"][0] == {"a": 1}
