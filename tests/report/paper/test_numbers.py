"""The published numbers, against a transcription of their sums and against the paper's source where it is there."""

import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from pages.inconsistencies import text_numbers

from gotta.report.paper import numbers as paper

ROOT = Path(__file__).parents[3]
CELLS = {"table1": 81, "table2": 56, "table3": 54, "table_m64": 81, "table_vit": 10}
# sums of the printed rows and columns in hundredths, added up from the paper's source and not from the data file
ROWS = {
    "table1": {
        "none": 28328, "fifo": 32902, "reservoir": 25887, "pbrs": 33646, "cstu": 33253, "cds": 31858, "fpsd": 32743,
        "fps": 33772,
    },
    "table2": {
        "none": 29957, "reservoir": 32715, "pbrs": 51906, "cstu": 49252, "cds": 47458, "fpsd": 51482, "fps": 51203,
    },
    "table3": {"none": 10501, "reservoir": 15239, "pbrs": 16448, "cstu": 19132, "cds": 18541, "fps": 20301},
    "table_m64": {
        "none": 28341, "fifo": 36879, "reservoir": 31049, "pbrs": 36044, "cstu": 36504, "cds": 33811, "fpsd": 35465,
        "fps": 35695,
    },
    "table_vit": {"reservoir": 10144, "cstu": 10814, "cds": 10814, "fpsd": 11202, "fps": 10687},
}  # fmt: skip
COLUMNS = {
    "table1": [5649, 50807, 50488, 48595, 18595, 18532, 17634, 11302, 10531, 11332, 8924],
    "table2": [33812, 39719, 43544, 46017, 24324, 35721, 43603, 47233],
    "table3": [18580, 20738, 8647, 15939, 16660, 6077, 3321, 8311, 1889],
    "table_m64": [5649, 53623, 54785, 50073, 19875, 19778, 19114, 14158, 13566, 13296, 9871],
    "table_vit": [26938, 26723],
}
MEMORIES = {"---": "none", "FIFO": "fifo", "Reservoir": "reservoir", "PBRS": "pbrs", "CSTU": "cstu", "CDS": "cds"}
MEMORIES |= {"FPSD": "fpsd", "FPS": "fps"}


@pytest.fixture(scope="module")
def source():
    """The paper's own file, where a folder `shared` beside or above the repository has it."""
    found = next((p for folder in ROOT.parents if (p := folder / "shared" / "paper.tex").exists()), None)
    if found is None:
        pytest.skip("shared/paper.tex is not beside the repository")
    return found.read_text(encoding="utf-8")


def hundredths(cells):
    return sum(round(100 * cell.value) for cell in cells)


def test_every_cell_is_there():
    assert {name: len(table.cells) for name, table in paper.tables().items()} == CELLS


@pytest.mark.parametrize("name", CELLS)
def test_rows_and_columns_have_their_sums(name):
    table = paper.tables()[name]
    rows = defaultdict(list)
    for cell in table.cells:
        rows[cell.memory].append(cell)
    assert {memory: hundredths(cells) for memory, cells in rows.items()} == ROWS[name]
    assert [hundredths(cells) for cells in table.columns().values()] == COLUMNS[name]


def test_marks_as_printed():
    marks = Counter()
    for table in paper.tables().values():
        for mark in ("bold", "underlined", "shaded"):
            marks[table.name, mark] = sum(getattr(cell, mark) for cell in table.cells)
    assert [marks[name, "bold"] for name in CELLS] == [10, 8, 10, 10, 2]
    assert [marks[name, "underlined"] for name in CELLS] == [10, 0, 11, 10, 4]
    assert [marks[name, "shaded"] for name in CELLS] == [1, 2, 4, 1, 1]


@pytest.mark.parametrize("name", CELLS)
def test_the_source_of_the_paper_says_the_same(name, source):
    table = paper.tables()[name]
    printed = [
        (memory, float(re.search(r"\d+\.\d+", text)[0]), "textbf" in text, "underline" in text, "cellcolor" in text)
        for memory, text in printed_cells(source, table.label)
        if text != "--"
    ]
    assert printed == [(c.memory, c.value, c.bold, c.underlined, c.shaded) for c in table.cells]


def printed_cells(text, label):
    start = text.index(f"\\label{{{label}}}")
    body = text[start : text.index("\\end{tabular}", start)].replace("\n", " ")
    for line in body.split("\\\\"):
        parts = [part.strip() for part in line.split("&")]
        at = next((i for i, part in enumerate(parts[:3]) if part in MEMORIES), None)
        if at is not None:
            yield from ((MEMORIES[parts[at]], part) for part in parts[at + 1 :])


def test_numbers_of_the_text_are_counted():
    assert len(text_numbers()) == 26


def test_numbers_of_the_text_stand_in_the_source(source):
    text = re.sub(r"\\begin\{tabular\}.*?\\end\{tabular\}", "", source, flags=re.DOTALL)
    printed = Counter(re.findall(r"(?<![\d.])\d\d?\.\d{1,2}(?![\d.])", text))
    known = Counter(f"{number.value:.{number.decimals}f}" for number in text_numbers())
    lengths = {"0.94", "0.04", "0.08", "0.5", "0.01", "1.1", "1.08", "3.2", "0.1"}  # of the layout, gamma, epsilon
    assert {value: n for value, n in printed.items() if value not in lengths} == dict(known)


def test_lookup_by_setting():
    found = paper.lookup("norm", "fps", 32, reset="never", data="cifar10-c", gamma=0.1, backbone="wrn-28-10")
    assert [(cell.where, cell.value) for cell in found] == [("table1", 76.11), ("table2", 76.11)]
    assert [cell.value for cell in paper.lookup("rotta", "cds", data="imagenet-c", gamma=1e-4)] == [32.76]
    assert {cell.value for cell in paper.lookup("norm", "none", 64, reset="never")} == {24.75}  # whatever the capacity
    assert paper.lookup("norm", "hus") == []
    ablation = [cell for cell in text_numbers() if (cell.method, cell.memory) == ("note", "fpsd")]
    assert [(cell.value, cell.epsilon) for cell in ablation] == [(74.7, None)]
