import pytest

from gotta import GottaError
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.text import dump, merged, parse, read, sections


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4),
        ("2E3", 2000.0),
        (".5e1", 5.0),
        ("-1.5e-3", -1.5e-3),
        ("3", 3),
        ("0.1", 0.1),
        ("1e", "1e"),
        ("e4", "e4"),
    ],
)
def test_numbers_as_people_write_them(text, value):
    assert parse(text, "it") == value
    assert type(parse(text, "it")) is type(value)


def test_dotted_settings_are_nested_and_later_ones_win():
    given = sections(
        ["method.lr=1e-4", "method.name=tent", "stream.domains=[snow, fog]", "seed=1", "seed=2", "control=null"]
    )
    assert given == {
        "method": {"lr": 1e-4, "name": "tent"},
        "stream": {"domains": ["snow", "fog"]},
        "seed": 2,
        "control": None,
    }


@pytest.mark.parametrize("wrong", ["seed", "=3", "method.=1", "a..b=1", "seed=[1"])
def test_what_is_no_setting_is_one_error(wrong):
    with pytest.raises(GottaError):
        sections([wrong])


def test_a_spec_survives_yaml(tmp_path):
    given = {"method": {"name": "tent", "lr": 1e-5}, "memory": {"name": "fps", "capacity": 8, "epsilon": 0.01}}
    for spec in (RunSpec.of(given), RunSpec.of({**given, "control": "true_kcenter", "stream": {"domains": ["snow"]}})):
        (tmp_path / "spec.yaml").write_text(dump(spec))
        again = RunSpec.of(read(tmp_path / "spec.yaml"))
        assert again == spec
        assert again.id == spec.id


def test_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "x.yaml").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path, tmp_path / "none.yaml", tmp_path / "x.yaml"):
        with pytest.raises(GottaError, match="cannot be read"):
            read(path)


def test_merging_goes_section_by_section():
    assert merged({"a": {"x": 1, "y": 2}, "b": 1}, {"a": {"y": 3}}) == {"a": {"x": 1, "y": 3}, "b": 1}


def test_another_data_set_or_model_keeps_nothing_of_the_last_one():
    base = {"model": {"name": "wrn28-10", "weights": "Standard.pt"}, "method": {"name": "tent", "lr": 1}}
    assert merged(base, {"model": {"name": "resnet20"}})["model"] == {"name": "resnet20"}
    assert merged(base, {"model": {"weights": "mine.pt"}})["model"] == {"name": "wrn28-10", "weights": "mine.pt"}
    assert merged(base, {"method": {"name": "pl"}})["method"] == {"name": "pl", "lr": 1}


def test_the_long_form_of_before_is_refused():
    with pytest.raises(GottaError, match=r"setting 'method\.arguments' is unknown"):
        RunSpec.of({"method": {"name": "tent", "arguments": {"lr": 0.5}}})
