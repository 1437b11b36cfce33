"""Every word of the default tables stands on the page of concepts."""

import re
from pathlib import Path

import pytest

from gotta.experiment.recipe.recipe import load_recipe
from gotta.report.rows import CONTROLS

PAGE = (Path(__file__).parents[2] / "docs" / "concepts.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("form", ["", "quick"])
def test_rows_and_columns_of_mini_are_explained(form):
    specs = load_recipe("mini").runs(form)
    words = {spec.memory.name for spec in specs if spec.control is None} | {spec.method.name for spec in specs}
    words |= {str(spec.method.prior) for spec in specs if spec.method.prior}
    words |= {f"{spec.method.statistics} statistics" for spec in specs if spec.method.statistics in ("class", "gated")}
    words |= {CONTROLS[spec.control].split(" by ")[-1] for spec in specs if spec.control}
    assert len(words) > 8
    missing = [word for word in words if not re.search(rf"\b{re.escape(word)}\b", PAGE)]
    assert missing == []
