"""`gotta doctor` as a user types it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gotta.cli.__main__ import app
from gotta.errors import GottaError

pytestmark = pytest.mark.thorough

TESTS = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def here(monkeypatch):
    monkeypatch.syspath_prepend(str(TESTS))


def run(name):
    return CliRunner().invoke(app, ["doctor", name, "--method", "source,tent"])


def test_a_bundled_model_by_name():
    result = run("resnet20")
    assert result.exit_code == 0, result.output
    assert "19 BatchNorm2d" in result.output
    assert "tent" in result.output
    assert "no problem found" in result.output


def test_a_function_that_builds_a_model():
    result = run("sick_models:softmax_output")
    assert result.exit_code == 1
    assert "! the outputs are probabilities" in result.output


def test_a_model_itself():
    assert "no normalisation layers" in run("sick_models:model").output


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("resnt20", "Did you mean 'resnet20'"),
        ("nowhere:build", "ModuleNotFoundError"),
        ("sick_models:nothing", "AttributeError"),
        ("sick_models:broken", "weights are gone"),
        ("sick_models:number", "TypeError"),
        ("builtins:dict", "<class 'dict'>"),
    ],
)
def test_a_mistake_is_one_message(name, words):
    error = run(name).exception
    assert isinstance(error, GottaError)
    assert words in str(error)
