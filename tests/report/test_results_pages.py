"""Pages come from lines alone, and never take the place of somebody's own."""

import pytest
from made_runs import made, stored

from gotta.errors import GottaError
from gotta.experiment.sweep.kept import keep
from gotta.report.results_pages import MADE, write_pages

PAGE = """{made}

# small

Made by `gotta results` from the 3 runs in `small.jsonl` alone (gotta ). `gotta report small.jsonl` shows them in full.

"""


@pytest.fixture
def lines(tmp_path):
    runs = [made(name, "norm", scores) for name, scores in {"fps": (60, 61, 62, 63), "cstu": (55, 56, 57, 58)}.items()]
    keep(stored(tmp_path / "runs", [*runs, made("none", "source")]), tmp_path / "results" / "small.jsonl")
    return tmp_path / "results"


def test_a_page_tells_the_table_the_paper_and_the_claims(lines, tmp_path):
    pages = write_pages(lines, tmp_path / "docs")
    assert [path.name for path in pages] == ["small.md", "README.md"]
    text = pages[0].read_text()
    assert text.startswith(PAGE.format(made=MADE))
    assert "| fps | n/a | **61.5** (2.0 s) |" in text
    assert "| norm | fps | 61.5 | 76.11 | -14.6 | table1 |" in text
    assert "Kendall's tau-b: norm +1.00 (n=2)" in text
    assert "Of 1 comparisons: 1 confirmed." in text
    assert "| fps above cstu, M=32 | norm | +4.62 | +5.0 ± 0.0 | confirmed |" in text
    assert "[small](small.md): small. 3 runs, 1 seed; claims of the paper: 1 confirmed." in pages[1].read_text()


def test_the_same_lines_give_the_same_bytes(lines, tmp_path):
    first = [path.read_bytes() for path in write_pages(lines, tmp_path / "a")]
    assert [path.read_bytes() for path in write_pages(lines / "small.jsonl", tmp_path / "a")] == first


def test_what_somebody_wrote_stays(lines, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "README.md").write_text("mine")
    with pytest.raises(GottaError, match=r"README.md' was not made by this command, and nothing was written"):
        write_pages(lines, tmp_path / "docs")
    assert [path.name for path in (tmp_path / "docs").iterdir()] == ["README.md"]


def test_damaged_lines_and_no_lines_are_refused(lines, tmp_path):
    with pytest.raises(GottaError, match="there are no lines in"):
        write_pages(tmp_path / "runs", tmp_path / "docs")
    (lines / "small.jsonl").write_text("{}\n")
    with pytest.raises(GottaError, match=r"small.jsonl, line 1 is damaged: it holds no run"):
        write_pages(lines, tmp_path / "docs")
    assert not (tmp_path / "docs").exists()
