"""What figures do with many rows, and how a file adds one."""

import re
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from made_figures import composed_runs, words
from made_runs import made, panel_of
from made_store import many_runs, write
from PIL import Image

from gotta.errors import GottaError
from gotta.report.figures.chart import clip
from gotta.report.figures.drawing import Drawing
from gotta.report.figures.figure import (
    MANY,
    Figure,
    draws,
    figures,
    first_lines,
    is_figure_file,
    keep_lines,
    kinds,
)
from gotta.report.figures.raster import png
from gotta.report.figures.svg import svg
from gotta.report.results import read_results
from gotta.report.rows import NO_MEMORY, RUNNING
from gotta.report.write import named_figures, write_report

DOCS = Path(__file__).parents[3] / "docs" / "report.md"


def test_of_many_rows_the_best_are_shown_and_what_is_there_to_compare_with():
    runs = [*composed_runs(lambda a, b: a + 0.1 * b), made("none"), made("none", control="running_statistics")]
    (rows,) = panel_of(runs).methods.values()
    kept, told = keep_lines(rows.values())
    assert len(kept) == MANY
    assert {NO_MEMORY, RUNNING} <= {entry.row for entry in kept}
    accuracies = [entry.mean for entry in kept if entry.row.is_memory]
    assert min(accuracies) > max(entry.mean for entry in rows.values() if entry not in kept)
    assert told == f" {MANY} of 27 rows: the best, and what there is to compare with."
    assert kept == [entry for entry in rows.values() if entry in kept]


def test_six_lines_are_shown_first_what_there_is_to_compare_with_among_them():
    runs = [
        made("none", "source", (30.0,) * 4),
        made("none", scores=(10.0,) * 4),
        made("none", scores=(20.0,) * 4, control="running_statistics"),
        made("none", scores=(99.0,) * 4, control="true_kcenter"),
        made("none", "deskew", (90.0,) * 4, method__prior="sticky"),
        *(made(name, scores=(50.0 + k,) * 4) for k, name in enumerate(("fifo", "cds", "pbrs", "fps", "cstu"))),
    ]
    entries = panel_of(runs).entries
    assert {entry.name for entry in first_lines(entries)} == {
        "deskew with sticky prior",
        "norm + running statistics (control)",
        "the source model",
        "norm + cstu",
        "norm without a memory",
        "norm + fps",
    }
    kept, told = keep_lines(entries, 8)
    assert kept == [entry for entry in entries if entry in kept]
    assert told == " 8 of 10 rows: the best, and what there is to compare with."
    assert keep_lines(entries) == (entries, "")


def test_no_chart_shows_more_than_six_lines_at_first(tmp_path):
    runs = [made(f"mine{k}", scores=(50.0 + k, 51, 52, 53)) for k in range(9)]
    results = read_results(write(tmp_path, [*runs, made("none", "source")]))
    charts = [
        figure.drawing for figure in results.chapters[0].figures if figure.kind in ("domains", "stream", "diagnostics")
    ]
    assert len(charts) == 3
    for drawing in charts:
        assert len(drawing.keys) >= 9
        assert len(drawing.first) == 6
        text = svg(drawing, alone=False)
        assert text.count('class="off"') == sum(name not in drawing.first for name, _ in drawing.lines) > 0
        assert "off" not in svg(drawing)
        assert [name for name, _ in drawing.ordered_keys][:6] == [
            name for name in drawing.keys if name in drawing.first
        ]


def test_figures_of_many_rows_stay_small():
    for figure in figures(panel_of([*composed_runs(lambda a, b: a), made("none")])):
        assert sum(text.startswith("evict=") for text in words(figure)) <= MANY, figure.name


def test_a_name_of_any_length_can_be_drawn():
    name = "a very\nlong " + "x" * 200 + " end"
    assert clip("short\nname") == "short name"
    assert len(clip(name)) == 64
    assert clip(name).startswith("a very long x")
    assert clip(name).endswith("x end")
    for figure in figures(panel_of([made(name), made("none"), made("fps")])):
        assert png(figure.drawing)


def test_figures_are_drawn_for_what_there_is(tmp_path):
    results = read_results(write(tmp_path, many_runs()))
    names = {figure.name for figure in results.chapters[0].figures}
    assert names == {"stream-norm", "stream-tent", "diagnostics-norm", "diagnostics-tent", "cost", "domains"}
    for figure in named_figures(results).values():
        root = ElementTree.fromstring(svg(figure.drawing))
        assert root.attrib["aria-label"].startswith(figure.title)
        with Image.open(BytesIO(png(figure.drawing))) as picture:
            assert picture.size[0] == pytest.approx(2 * figure.drawing.width, abs=1)


def test_ablations_have_figures_of_their_own():
    scores = {0.001: 50, 0.005: 60, 0.05: 55}
    runs = [made("fps", scores=(v, v + 1, v, v), memory__arguments={"epsilon": e}) for e, v in scores.items()]
    (drawn,) = [figure for figure in figures(panel_of(runs)) if figure.name == "epsilon-norm"]
    assert "best at 0.005" in drawn.drawing.words
    sizes = [made("fps", scores=(50 + m, 51, 52, 53), memory__capacity=m) for m in (8, 16, 32)]
    (capacity,) = figures(panel_of(sizes), across=True)
    assert "best at 32" in capacity.drawing.words
    parts = [
        made("composed", scores=(s, s, s, s + 1), memory__arguments={"evict": e, "admit": "all"})
        for e, s in (("oldest", 40), ("nearest", 45))
    ]
    (factors,) = [figure for figure in figures(panel_of(parts)) if figure.name == "factors-norm"]
    assert "evict=nearest" in factors.drawing.words.split(",")[0]


def test_a_file_with_one_decorated_function_adds_its_figures_everywhere(tmp_path, monkeypatch):
    kinds.names()  # all there are, before one more
    monkeypatch.setattr(kinds, "_items", dict(kinds._items))

    @draws("mine", position=15)
    def my_figures(panel):
        return [Figure("Mine", "About mine.", Drawing(10, 10, "Mine"), method.label) for method in panel.methods]

    store = write(tmp_path, [made("fps"), made("none")])
    results = read_results(store)
    names = [figure.name for figure in results.chapters[0].figures]
    assert names[:4] == ["domains", "stream-norm", "mine-norm", "diagnostics-norm"]
    write_report(results)
    assert (tmp_path / "figures" / "mine-norm.svg").exists()
    assert "About mine." in (tmp_path / "report.html").read_text(encoding="utf-8")
    write(tmp_path, [made("fps", model__name="other"), made("none", model__name="other")])
    write_report(read_results(store))
    assert not (tmp_path / "figures" / "mine-norm.svg").exists()  # it is known as ours
    assert (tmp_path / "figures" / "2-mine-norm.png").exists()


def test_the_figure_of_the_docs_can_be_dropped_in(monkeypatch):
    kinds.names()  # all there are, before one more
    monkeypatch.setattr(kinds, "_items", dict(kinds._items))
    (code,) = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.S)
    exec(compile(code, "accuracies.py", "exec"), {})
    last = figures(panel_of([made("fps"), made("none")]))[-1]
    assert (last.name, words(last)) == ("accuracies-norm", ["none: 53.0 %", "fps: 53.0 %"])


def test_two_figures_of_one_name_are_refused():
    with pytest.raises(GottaError, match="figure 'cost' is registered twice"):
        draws("cost", position=1)(lambda panel: [])


def test_files_of_figures_are_told_by_their_names():
    names = ["cost.svg", "2-cost.png", "stream-norm.svg", "12-stream-norm-rate-0-1.png"]
    assert all(map(is_figure_file, names))
    assert not any(map(is_figure_file, ["cost.txt", "notes.svg", "costs.svg", "my-cost.svg"]))
