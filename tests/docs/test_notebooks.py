"""The two notebooks are those of the tutorials, and their cells run in order in an empty folder."""

import json
import shlex

import pytest
from generate.notebooks import FOLDER, PAGES, make_notebook
from typer.testing import CliRunner

from gotta.cli.__main__ import app


def cells_of(name):
    book = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    return ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("name", PAGES)
def test_a_notebook_has_what_its_page_has(name):
    page = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    written = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    assert written == make_notebook(page), "python docs/generate/notebooks.py"


@pytest.mark.thorough
@pytest.mark.parametrize("name", PAGES)
def test_the_cells_of_a_notebook_run_in_order(name, workshop, quick):
    scope = {"__name__": "__main__"}
    cells = cells_of(name)
    assert len(cells) > 8
    for cell in cells:
        first, _, rest = cell.partition("\n")
        if first.startswith("%%writefile "):
            (workshop / first.split()[1]).write_text(rest)
        elif first.startswith("!"):
            for line in cell.splitlines():
                call(line[1:])
        else:
            exec(compile(cell, f"{name}.ipynb", "exec"), scope)


def call(command):
    """What the shell would do, in this process and with few images."""
    small = {"bench": ["stream.per_class=1", "stream.domains=[snow]"], "check": ["--examples=3"]}
    more = small.get(command.split()[1], [])
    result = CliRunner().invoke(app, [*shlex.split(command)[1:], *more])
    assert result.exit_code == 0, f"{command}\n{result.output}\n{result.exception!r}"


def test_a_file_becomes_a_cell_that_writes_it_and_a_command_one_for_the_shell():
    page = "# Title\n\n```python\n# mine.py\nx = 1\n```\n\nWords.\n\n```sh\ngotta ls\n```\n"
    title, file, words, command = json.loads(make_notebook(page))["cells"]
    assert [title["source"], words["source"]] == [["# Title"], ["Words."]]
    assert file["source"] == ["%%writefile mine.py\n", "x = 1"]
    assert command["source"] == ["!gotta ls"]
