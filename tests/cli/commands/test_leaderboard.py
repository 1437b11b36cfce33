"""From runs to a ranking and to a submission, as a user types it."""

import pytest
from cli.shell import as_in_a_shell, gotta  # noqa: F401
from made_runs import stored
from report.board.made_boards import ranked_runs

pytestmark = pytest.mark.usefixtures("readable_names")


def test_runs_are_submitted_ranked_and_told(tmp_path):
    stored(tmp_path / "mine", ranked_runs())
    told = gotta("submit", "mine", "--out", "results/mine.jsonl", cwd=tmp_path)
    assert told == "results/mine.jsonl: 30 runs of ptta-1, ready for the leaderboard\n"
    assert gotta("leaderboard", "results", cwd=tmp_path) == "Leaderboard: site/index.html\n"
    assert "control: running statistics" in (tmp_path / "site/index.html").read_text()


def test_a_folder_that_is_not_there_is_one_error(tmp_path):
    assert "there is no folder 'none'" in gotta("leaderboard", "none", cwd=tmp_path, code=2)
    assert list(tmp_path.iterdir()) == []
