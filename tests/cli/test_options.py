"""`--data-dir`, `--data-workers`, and making data sets."""

import os
from typing import Annotated

import typer
from cli.shell import as_in_a_shell, gotta  # noqa: F401
from data.image_files import by_class, write

from gotta.cli.__main__ import app
from gotta.cli.options import as_command
from gotta.data import dataset


def test_every_command_that_reads_data_takes_a_data_dir():
    for command in (["run"], ["bench"], ["stream", "show"], ["data", "make"]):
        assert "--data-dir" in gotta(*command, "--help")
    for command in ("run", "bench"):
        assert "--data-workers" in gotta(command, "--help")


def test_the_data_dir_holds_for_one_command_only(tmp_path, monkeypatch):
    monkeypatch.delenv("GOTTA_DATA", raising=False)
    photos = write(tmp_path / "home" / "photos", by_class(["a", "b"], 2, 16))
    show = ["stream", "show", "domains=fog", "--data", "folder", "--data-argument", "path=photos"]
    told = gotta(*show, "--data-dir", photos.parent, "--out", tmp_path / "s.png")
    assert "4" in told
    assert (tmp_path / "s.png").exists()
    assert "GOTTA_DATA" not in os.environ
    assert "let GOTTA_DATA or --data-dir name another" in gotta(*show, code=2)


def test_imagenet_c_is_made_and_read_back(tmp_path):
    write(tmp_path / "photos", by_class(["a", "b"], 2, 32))
    arguments = ["--source", tmp_path / "photos", "--out", tmp_path / "out", "--size", "32"]
    told = gotta("data", "make", "imagenet-c", *arguments, "--corruption", "fog,contrast", "--severity", "2,5")
    assert "Written" in told
    assert list(dataset("imagenet_c", path=str(tmp_path / "out"), size=32).domains) == [
        "fog-2",
        "fog-5",
        "contrast-2",
        "contrast-5",
    ]
    assert "Did you mean 'imagenet-c'" in gotta("data", "make", "imagenet_c", *arguments, code=2)
    assert "whole numbers such as" in gotta("data", "make", "imagenet-c", *arguments, "--severity", "x", code=2)


def test_show_and_ls_know_data_sets():
    assert "subset" in gotta("show", "imagenet_c")
    assert "tinyimagenet" in gotta("ls", "datasets")


def test_a_folder_that_is_not_there(tmp_path):
    told = gotta("run", "data.name=imagenet_c", "--data-dir", tmp_path / "gone", "--out", tmp_path / "o", code=2)
    assert "does not exist" in told


def test_options_reach_the_command_and_are_undone(tmp_path, monkeypatch):
    monkeypatch.setenv("GOTTA_DATA", "before")
    monkeypatch.delenv("GOTTA_DATA_WORKERS", raising=False)

    def command(name: str) -> tuple[str, str | None, str | None]:
        return name, os.environ.get("GOTTA_DATA"), os.environ.get("GOTTA_DATA_WORKERS")

    wrapped = as_command(command, reads=True, workers=True)
    assert wrapped(name="x", data_dir=tmp_path, data_workers=2) == ("x", str(tmp_path), "2")
    assert wrapped(name="x", data_dir=None, data_workers=None) == ("x", "before", None)
    assert os.environ["GOTTA_DATA"] == "before"
    assert "GOTTA_DATA_WORKERS" not in os.environ


def test_the_help_of_an_option_is_a_line_of_the_docstring():
    def command(name: str, quick: bool = False, times: Annotated[int, typer.Option("--times", "-t")] = 1) -> str:
        """Do something.

        Arguments:
            name: What to do,
                at length.

        Options:
            quick: Sooner.
            times: How often.
        """
        return name * times

    made = as_command(command)
    shown = typer.main.get_command(_app_of(made))
    told = {one.name: (one.param_type_name, one.opts, one.secondary_opts, one.help) for one in shown.params}
    assert made.__doc__.strip() == "Do something."
    assert told["name"] == ("argument", ["name"], [], "What to do, at length.")
    assert told["quick"] == ("option", ["--quick"], [], "Sooner.")
    assert told["times"] == ("option", ["--times", "-t"], [], "How often.")
    assert made(name="a", quick=True, times=2) == "aa"


def _app_of(command):
    app = typer.Typer(add_completion=False)
    app.command()(command)
    return app


def test_every_option_of_every_command_has_help():
    for words, command in walk(typer.main.get_command(app), ["gotta"]):
        assert [one.name for one in command.params if not one.help] == [], words


def walk(command, words):
    if not hasattr(command, "commands"):
        yield words, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from walk(inner, [*words, name])
