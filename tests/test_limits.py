"""What settings may be is said in their types, and each mistake is one sentence."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from gotta.errors import GottaError
from gotta.limits import Count, NotNegative, Positive, Share, Within, check_fields, find_mistakes, kinds_of, require


@dataclass(frozen=True)
class Settings:
    size: Count = 1
    rate: Share | None = None
    kind: Literal["one", "two"] = "one"
    strict: bool = False
    name: str = ""


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (Count, 0, "a whole number of at least 1"),
        (Count, 1.5, "a whole number of at least 1"),
        (Count, True, "a whole number of at least 1"),
        (Positive, 0, "a number above 0"),
        (Positive, float("inf"), "a number above 0"),
        (NotNegative, float("nan"), "a number of at least 0"),
        (Share, 1.01, "a number above 0 and at most 1"),
        (Annotated[float, Within(0, 1, below=True)], 1, "a number of at least 0 and below 1"),
        (Annotated[int, Within(1, 1_000_000)], 10**7, "a whole number of at least 1 and at most 1,000,000"),
        (float, "much", "a number"),
        (bool, 1, "true or false"),
    ],
)
def test_what_is_wrong_is_one_sentence(kind: Any, value: Any, expected: str) -> None:
    with pytest.raises(GottaError) as told:
        require("it", value, kind)
    assert str(told.value) == f"it must be {expected} (got {value!r})."


@pytest.mark.parametrize(
    ("kind", "value"),
    [(Count, 1), (Count, np.int64(3)), (Share, 1), (Share | None, None), (Positive, np.float32(0.1)), (str, 3)],
)
def test_what_is_right_passes(kind: Any, value: Any) -> None:
    require("it", value, kind)


def test_all_mistakes_of_a_record_are_found() -> None:
    wrong: Any = Settings
    found = find_mistakes(wrong(size=0, rate=2, kind="tow", strict="no"))
    assert [sentence.split()[0] for sentence in found] == ["size", "rate", "kind", "strict"]
    assert "Did you mean 'two'?" in found[2]
    with pytest.raises(GottaError, match=r"(?s)size must .*rate must"):
        check_fields(wrong(size=0, rate=2))
    check_fields(Settings())
    assert list(kinds_of(Settings)) == ["size", "rate", "kind", "strict", "name"]
