"""`--json` is one document that other programs can read."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from cli.shell import as_in_a_shell, gotta  # noqa: F401

from gotta.cli.options import to_plain
from gotta.experiment.spec.run_spec import RunSpec

SAMPLE = Path(__file__).parents[2] / "results" / "sample.jsonl"


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (("ls", "memories"), {"memories"}),
        (("status", SAMPLE), {"finished", "claims", "damaged"}),
        (("doctor", "resnet20", "--method", "source"), {"layers", "outputs", "steps", "problems"}),
        (("compare", SAMPLE, SAMPLE), {"settings", "only_a", "only_b"}),
    ],
)
def test_answers_for_programs(words, keys):
    assert keys <= json.loads(gotta(*words, "--json", stream="out")).keys()


def test_an_error_is_a_document_too(tmp_path):
    words = ("status", tmp_path / "nowhere", "--json")
    told = json.loads(gotta(*words, code=2, stream="out"))
    assert gotta(*words, code=2) == f"gotta: {told['error']}\n"


@pytest.mark.parametrize("words", [("advise",), ("status",), ("ls", "--nonsense"), ("doctor", "resnet20", "--method")])
def test_so_is_a_mistake_in_the_command(words):
    told = json.loads(gotta(*words, "--json", code=2, stream="out"))
    assert told["error"].rstrip(".") in gotta(*words, "--json", code=2)


def test_parts_and_protocols_for_programs():
    (part,) = json.loads(gotta("show", "fps", "--json", stream="out"))
    assert part["name"] == "fps"
    assert "settings" in part
    assert "title" in json.loads(gotta("show", "ptta-1", "--json", stream="out"))


def test_what_json_cannot_say_is_text():
    @dataclass
    class Thing:
        path: Path
        values: tuple[float, ...]

    assert to_plain({1: Thing(Path("a"), (1.0, float("nan")))}) == {"1": {"path": "a", "values": [1.0, None]}}
    assert to_plain(RunSpec.of({"method": {"name": "norm"}}))["data"]["name"] == "cifar10-mini"
