"""docs/methods.md tells what the code does."""

import re
from pathlib import Path

from gotta.methods import describe, methods

DOCS = Path(__file__).parents[2] / "docs"


def test_every_method_has_its_part():
    page = (DOCS / "methods.md").read_text()
    titles = {name for line in re.findall(r"^### (.*)$", page, re.MULTILINE) for name in line.split(", ")}
    assert titles == set(methods.names())


def test_every_quirk_is_listed_with_its_methods():
    page = (DOCS / "methods.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \| .* \| .* \|$", page, re.MULTILINE)
    listed = {quirk: set(re.findall(r"`(\w+)`", names)) for quirk, names in rows}
    found = {}
    for name in methods.names():
        for quirk in describe(name)["quirks"]:
            found.setdefault(quirk, set()).add(name)
    assert listed == found


def test_every_setting_of_every_preset_is_in_the_table():
    page = (DOCS / "methods.md").read_text()
    rows = dict(
        re.findall(
            r"^\| `(\w+)`(?:, `\w+`)? \| ((?:Adam|SGD|affinity|prompts|shots|only_surer).*) \|$", page, re.MULTILINE
        )
    )
    rows["eata"] = rows["eta"]
    for name in methods.names():
        for setting in describe(name)["presets"]["official"]:
            if setting not in ("optimizer", "fisher_batch_size"):
                assert setting in rows[name], f"{name}: {setting}"
