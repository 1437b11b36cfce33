"""The tutorials as notebooks: `python docs/generate/notebooks.py` makes them from their pages, beside them."""

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "tutorials"
PAGES = ("researcher", "engineer")
FENCE = re.compile(r"^```(python|sh)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
NEEDS_MORE = re.compile(r"<!-- only parsed: [^>]* -->\n\Z")
FILE = re.compile(r"# (\w+\.py)\n")


def make_notebook(page: str) -> str:
    """Words become cells of text, Python and commands cells of code, unless they need what a reader may not have."""
    cells, position = [], 0
    for block in FENCE.finditer(page):
        if NEEDS_MORE.search(page, position, block.start()):
            continue
        cells += words(page[position : block.start()])
        cells.append(code(block[1], block[2]))
        position = block.end()
    cells += words(page[position:])
    for k, cell in enumerate(cells):
        cell["id"] = f"cell-{k}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def words(text: str) -> list[dict[str, Any]]:
    text = text.strip()
    return [{"cell_type": "markdown", "metadata": {}, "source": split(text)}] if text else []


def code(language: str, text: str) -> dict[str, Any]:
    """A cell that runs; a block that is the content of a file writes it, a command is handed to the shell."""
    if language == "sh":
        text = "".join(f"!{line}\n" for line in text.splitlines())
    elif named := FILE.match(text):
        text = f"%%writefile {named[1]}\n{text[named.end() :]}"
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": split(text.rstrip())}


def split(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    for name in PAGES:
        text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
        (FOLDER / f"{name}.ipynb").write_text(make_notebook(text), encoding="utf-8")
