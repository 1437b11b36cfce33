"""No page and no message uses the turns of phrase that a native reader stumbles over."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "gotta"
LEFT_OUT = ("docs/paper-numbers.md", "docs/_build/", "docs/reference/")
TURNS = {  # what it looks like: what to write instead
    r"\b(?:be|been|cannot|is|are|was|were) told\b": "say, know, receive; 'not significantly different from'",
    r"\bmend(?:s|ed|ing)?\b": "fix, repair",
    r"(?<![Tt]here )\b(?:is|are|was|were) no (?!longer|\w+er\b|more|less|worse)": "is not a",
    r"\beach for itself\b": "uncorrected, separately",
    r", of which\b": "a sentence of its own",
    r"(?:^|[.;:] |\| )Who (?:adapts|asks|does|has|looks|needs|reads|wants|writes)\b": "name the person or the thing",
    r"(?:^|[.;] )What (?:is|was|has|are) (?:not )?\w+ (?:is|are|was|has|stays|counts|comes|waits)\b": "name the thing",
    r"\bnone of the \d+ others\b": "the other ones",
    r"\bcan be told\b|\bto tell of\b|\btells of\b": "say, report",
    r"\bas it is has\b|\bno accuracy\b": "say what the number is",
}
ALLOWED = {  # truly right
    "`none` is no memory",
}


def texts():
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(LEFT_OUT):
            yield from (
                (f"{name}:{n}", line) for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
            )
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{path.relative_to(ROOT).as_posix()}:{node.lineno}", " ".join(node.value.split())
    for path in sorted((PACKAGE / "recipes").rglob("*.yaml")):
        yield path.relative_to(ROOT).as_posix(), " ".join(path.read_text(encoding="utf-8").split())


def find_turns(text):
    for allowed in ALLOWED:
        text = text.replace(allowed, "")
    return [(found.group().strip(), better) for turn, better in TURNS.items() for found in re.finditer(turn, text)]


def test_no_page_and_no_message_has_an_odd_turn():
    found = [f"{place}: '{odd}', better: {better}" for place, text in texts() for odd, better in find_turns(text)]
    assert found == []


@pytest.mark.parametrize(
    "odd",
    [
        "A and B cannot be told apart.",
        "Mistakes are told.",
        "Running statistics mend that.",
        "Certainty is no accuracy.",
        "Intervals at 95 %, each for itself.",
        "Random cases, of which the smallest counts.",
        "Who adapts has no labels.",
        "What is left is mixed.",
        "none of the 4 others differs",
    ],
)
def test_an_odd_turn_is_found(odd):
    assert find_turns(odd)


@pytest.mark.parametrize(
    "right", ["There is no such file.", "It is no longer there.", "`none` is no memory: the model adapts on the batch."]
)
def test_plain_words_pass(right):
    assert find_turns(right) == []
