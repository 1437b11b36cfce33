"""Packing results for the leaderboard, as a user types it. What is refused: tests/workflow/test_submission.py."""

import pytest
from cli.shell import as_in_a_shell, gotta  # noqa: F401
from made_runs import stored
from report.board.made_boards import ranked_runs

pytestmark = pytest.mark.usefixtures("readable_names")


def test_a_folder_of_runs_becomes_a_file_and_a_sentence(tmp_path):
    stored(tmp_path / "mine", ranked_runs())
    told = gotta("submit", "mine", cwd=tmp_path)
    assert told == "submission.jsonl: 30 runs of ptta-1, ready for the leaderboard\n"
    assert len((tmp_path / "submission.jsonl").read_text().splitlines()) == 30


def test_kept_lines_are_taken_like_a_folder(tmp_path):
    stored(tmp_path / "mine", ranked_runs())
    gotta("submit", "mine", "--out", "a.jsonl", cwd=tmp_path)
    assert "b.jsonl: 30 runs of ptta-1" in gotta("submit", "a.jsonl", "--out", "b.jsonl", cwd=tmp_path)
    assert (tmp_path / "a.jsonl").read_text() == (tmp_path / "b.jsonl").read_text()


def test_what_is_there_already_is_not_written_over(tmp_path):
    stored(tmp_path / "mine", ranked_runs())
    (tmp_path / "submission.jsonl").write_text("precious")
    assert "exists" in gotta("submit", "mine", cwd=tmp_path, code=2)
    assert (tmp_path / "submission.jsonl").read_text() == "precious"


def test_what_cannot_be_ranked_is_one_error_and_no_file(tmp_path):
    stored(tmp_path / "mine", ranked_runs([0]))
    assert "has 1 seed on the stream of " in gotta("submit", "mine", cwd=tmp_path, code=2)
    assert "there is no folder 'none'" in gotta("submit", "none", cwd=tmp_path, code=2)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
