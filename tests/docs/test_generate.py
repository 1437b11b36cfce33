"""Pages of the site that are made from the code name everything there is, and say what stored runs say."""

import re
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from generate import write_pages
from generate.api import ROOMS, api_pages
from generate.board import EMPTY, summarise, write_board
from generate.cards import card_pages, read_panels
from generate.commands import command_pages, walk
from generate.evidence import memory_cases, method_cases, tell
from generate.pictures import FOLDER, draw_all
from made_runs import made, panel_of

import gotta
from gotta.cli.__main__ import app

DOCS = Path(__file__).parents[2] / "docs"
SEEDS = (0, 1, 2)


def test_every_public_name_is_in_the_reference():
    pages = api_pages()
    rooms = [name for name, module in rooms_with_all() if not name.startswith("gotta.experiment")]
    assert len(rooms) > 8
    assert set(rooms) - set(ROOMS) <= {"gotta.streams.stream"}  # a module whose names its room has
    for room in ROOMS:
        names = import_module(room).__all__
        assert names
        assert [name for name in names if f"{room}.{name}" not in pages[f"api/{room}.rst"]] == []
        assert f"   {room}\n" in pages["api/index.rst"]


def test_a_method_is_in_the_reference_and_not_what_its_base_has():
    assert ".. autoclass:: gotta.methods.Method\n" in api_pages()["api/gotta.methods.rst"]
    assert ":inherited-members:" not in api_pages()["api/gotta.rst"]  # of nn.Module, say


def rooms_with_all():
    for path in sorted(Path(gotta.__file__).parent.rglob("*.py")):
        if re.search(r"^__all__", path.read_text(), re.MULTILINE):
            parts = path.relative_to(Path(gotta.__file__).parents[1]).with_suffix("").parts
            name = ".".join(parts).removesuffix(".__init__")
            yield name, import_module(name)


def test_every_command_and_each_of_its_options_is_in_the_reference():
    page = command_pages()["commands.md"]
    commands = list(walk(typer.main.get_command(app), ["gotta"]))
    assert len(commands) >= 20
    for words, command in commands:
        part = page.partition(f"## {' '.join(words)}\n")[2].partition("\n## ")[0]
        assert command.help
        for parameter in command.params:
            name = parameter.name.upper() if parameter.param_type_name == "argument" else parameter.opts[0]
            assert f"`{name}`" in part, (words, name)


def test_every_memory_and_method_has_a_card():
    pages = card_pages()
    assert re.findall(r"^## (\S+)$", pages["cards/memories.md"], re.MULTILINE) == gotta.list_memories()
    assert re.findall(r"^## (\S+)$", pages["cards/methods.md"], re.MULTILINE) == gotta.list_methods()
    fps = pages["cards/memories.md"].partition("## fps\n")[2].partition("\n## ")[0]
    for part in ("nearest neighbour", "`epsilon` = 0.005", "microseconds per sample", "Wins and losses"):
        assert part in fps
    tent = pages["cards/methods.md"].partition("## tent\n")[2].partition("\n## ")[0]
    assert "1 forward and 1 backward per step without a memory, 2 forwards and 1 backward with one" in tent


def runs_of(memory, level, method="norm", **more):
    """Three seeds that are alike, so that a difference of ten points can be told."""
    scores = tuple(level + k for k in range(4))
    return [made(memory, method, tuple(s + seed / 10 for s in scores), seed, **more) for seed in SEEDS]


@pytest.fixture
def panel():
    runs = [*runs_of("fps", 60), *runs_of("hus", 40), *runs_of("none", 50, control="running_statistics")]
    return panel_of([*runs, *runs_of("none", 45, "source"), *runs_of("none", 30)])


def test_a_card_counts_what_a_memory_won_and_lost_against_running_statistics(panel):
    cases = memory_cases([panel])
    assert set(cases) == {"fps", "hus"}
    won, lost = tell(cases["fps"], "it"), tell(cases["hus"], "it")
    assert won[0] == "Against it, in 1 stored comparison: better in 1, worse in 0, not significantly different in 0."
    assert won[-1] == "| cifar10-mini, resnet20, dirichlet 0.1, continual, 32 rows | norm | +10.0 ± 0.0 |"
    assert "better in 0, worse in 1" in lost[0]
    assert "-10.0" in lost[-1]


def test_a_card_counts_what_a_method_won_and_lost_against_the_source(panel):
    (case, *others) = sorted(method_cases([panel])["norm"], key=lambda case: case.points)
    assert (case.beside, round(case.points)) == ("no memory", -15)
    assert [round(other.points) for other in others] == [-5, 15]


def test_cards_and_leaderboard_without_results_say_so(tmp_path):
    assert read_panels(tmp_path) == ()
    assert EMPTY in write_board(tmp_path, tmp_path / "extra")
    assert list((tmp_path / "extra").iterdir()) == []
    assert tell([], "it") == ["No stored result has this comparison yet."]


def test_the_page_of_the_leaderboard_names_the_first_three_those_that_use_the_order_last():
    def place(rank, name, number, uses_order=False):
        entry = SimpleNamespace(name=name, column=SimpleNamespace(uses_order=uses_order))
        return SimpleNamespace(rank=rank, entry=entry, score=SimpleNamespace(number=number))

    places = [
        place(1, "deskew with sticky prior", "90.0", uses_order=True),
        place(1, "norm + fps", "59.2"),
        place(None, "norm + running statistics (control)", "58.0"),
    ]
    board = SimpleNamespace(protocol=SimpleNamespace(name="ptta-1"), title="mini", places=places)
    row = summarise([board]).splitlines()[-1]
    assert row == "| **ptta-1**: mini | norm + fps: 59.2 % | deskew with sticky prior: 90.0 % » |  |"


def test_pages_of_an_earlier_state_go(tmp_path):
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference" / "gone.md").write_text("old")
    write_pages(tmp_path / "reference")
    written = {path.name for path in (tmp_path / "reference").rglob("*.*")}
    assert {"commands.md", "memories.md", "methods.md", "gotta.rst"} <= written
    assert "gone.md" not in written


def test_the_pictures_are_those_that_the_script_draws():
    drawn = draw_all()
    assert len(drawn) == 4
    for name, picture in drawn.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == picture, f"{name}: python docs/generate/pictures.py"


def test_every_page_is_in_the_index():
    listed = set()
    for index in (DOCS / "index.md", DOCS / "results" / "index.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", index.read_text(), re.DOTALL):
            names = [line for line in block.splitlines() if line and not line.startswith(":")]
            listed |= {
                path.resolve() for name in names for path in index.parent.glob(f"{name}.md".replace("**.md", "**/*.md"))
            }
    pages = {path.resolve() for path in DOCS.rglob("*.md") if not {"reference", "_build"} & set(path.parts)}
    assert len(pages) > 25
    assert pages - listed == {(DOCS / "index.md").resolve()}
