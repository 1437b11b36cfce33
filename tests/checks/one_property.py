"""Checks that try one property, where a test says which of them must find what is wrong."""

from typing import Any

import pytest

from gotta.checks.suite import Suite


def keep_property(monkeypatch: pytest.MonkeyPatch, suite: Suite[Any, Any], words: str) -> None:
    """Of these, only what has the words in its title is tried while the test runs."""
    kept = {title: holds for title, holds in suite.properties.items() if words in title}
    assert kept, words
    monkeypatch.setattr(suite, "properties", kept)
