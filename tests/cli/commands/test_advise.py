"""`gotta advise`."""

import pytest
from typer.testing import CliRunner

from gotta.cli.__main__ import app
from gotta.cli.commands.advise import _place
from gotta.errors import GottaError


def test_the_answer_is_a_line_to_paste_with_its_margin_and_cost(tmp_path):
    settings = ("domains=snow", "per_class=2", "batch_size=8", "--budget", "2", "--out", str(tmp_path))
    result = CliRunner().invoke(app, ["advise", "resnet20", *settings])
    assert result.exit_code == 0, result.output
    assert "source + none, seed 0" in result.output
    answer = result.output[result.output.index("gotta.adapt(net") :]
    assert "forwards for each sample" in answer
    assert "batches of 8" in answer


@pytest.mark.parametrize(
    ("text", "data", "placed"),
    [
        ("./photos", "folder", "data.path=./photos"),
        ("size=64", "folder", "data.size=64"),
        ("batch_size=1", "folder", "regime.batch_size=1"),
        ("order=iid", "", "stream.order=iid"),
        ("memory.capacity=8", "", "memory.capacity=8"),
    ],
)
def test_a_setting_finds_its_section(text, data, placed):
    assert _place(text, data) == placed


def test_a_path_without_a_kind_of_data_is_one_error():
    with pytest.raises(GottaError, match=r"--data folder \./photos"):
        _place("./photos", "")
