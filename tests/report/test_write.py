import csv
import os
import re
import shutil
import subprocess
from io import BytesIO, StringIO
from xml.etree import ElementTree

import pytest
from made_runs import made
from made_store import EVIL, many_runs, with_recording, write
from PIL import Image

from gotta.errors import GottaError
from gotta.experiment.run.memory_film import record_path
from gotta.report import write as writing
from gotta.report.figures import figures
from gotta.report.figures.chart import Frame, x_axis
from gotta.report.figures.cost import front
from gotta.report.figures.drawing import Drawing, Line, Text, marker
from gotta.report.figures.palette import KNOWN, OTHERS, styles
from gotta.report.figures.raster import dashes, png
from gotta.report.figures.svg import svg
from gotta.report.page.series import series
from gotta.report.page.views import views
from gotta.report.page.webpage import bundle, embedded, page
from gotta.report.tables.comparison import table
from gotta.report.tables.csv_rows import table_csv
from gotta.report.tables.latex import escape, tex
from gotta.report.write import named_figures, recordings, write_report
from gotta.show.contact_sheet import font


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    root = tmp_path_factory.mktemp("store")
    made_here = write(root, many_runs())
    with_recording(root, "norm-fps-0")
    return made_here


def test_everything_is_written_and_the_same_each_time(store):
    path = write_report(store.root)
    names = {p.name for p in store.root.iterdir() if p.is_file()}
    assert names == {"report.html", "tables.md", "tables.tex", "tables.csv"}
    drawn = sorted(p.name for p in (store.root / "figures").iterdir())
    assert {"cost.svg", "cost.png", "wins.svg", "stream-norm.svg", "diagnostics-tent.png"} <= set(drawn)
    before = path.read_bytes()
    assert write_report(store.root).read_bytes() == before


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(GottaError, match="no runs"):
        write_report(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_figures_of_an_earlier_state_go_and_other_files_stay(tmp_path):
    store = write(tmp_path, [made("fps"), made("none")])
    folder = tmp_path / "figures"
    write_report(tmp_path)
    assert (folder / "cost.svg").exists()
    for name in ("notes-of-mine.svg", "cost.txt"):
        (folder / name).write_text("mine")
    write(tmp_path, [made("fps", model__name="other"), made("none", model__name="other")])
    write_report(tmp_path)
    names = {path.name for path in folder.iterdir()}
    assert {"1-cost.svg", "2-cost.png", "notes-of-mine.svg", "cost.txt"} <= names
    assert not {"cost.svg", "cost.png", "stream-norm.svg"} & names
    assert len(store.runs()) == 4


def test_a_cell_without_effect_says_so_everywhere(tmp_path):
    runs = [made("fps"), made("none"), made("fps", "tent"), made("none", "tent")]
    for run in runs[2:]:
        run.summary["no_effect"] = "this model has no BatchNorm layers."
    store = write(tmp_path, runs)
    text = page(store)
    assert text.count('<abbr title="without effect: this model has no BatchNorm layers.">†</abbr>') == 6  # 3 readings
    assert "<li>† without effect: this model has no BatchNorm layers.</li>" in text
    assert r"53.0$^\dagger$" in tex(runs)
    assert r"$^\dagger$ without effect: this model has no BatchNorm layers. Bold" in tex(runs)


def test_cells_that_show_the_same_number_lead_together():
    runs = [made("fps"), made("none", scores=(53.0,) * 4), made("fps", "tent", (53.04,) * 4), made("none", "tent")]
    tops = [shown.cell.value for _, _, cells in views(runs)[0].rows for shown in cells if shown.top]
    assert sorted(tops) == [53.0, 53.0, 53.0, 53.04]


def test_names_in_markdown_stay_in_their_cell(tmp_path):
    write_report(write(tmp_path, [made(f"a|b\n{EVIL}"), made("none")]).root, pictures=False)
    text = (tmp_path / "tables.md").read_text(encoding="utf-8")
    assert "| a\\|b &lt;script>document" in text
    assert "<script" not in text


def test_hostile_names_stay_text(store):
    text = page(store, recordings(store, store.runs()))
    assert "<script>document" not in text
    assert "&lt;script&gt;document" in text
    assert embedded("</script>&<!--") == '"\\u003c/script\\u003e\\u0026\\u003c!--"'


def test_the_policy_forbids_requests_and_foreign_scripts(store):
    policy = re.search(r'Security-Policy" content="([^"]*)"', page(store))[1]
    assert "default-src &#39;none&#39;" in policy
    assert "connect-src &#39;none&#39;" in policy
    assert "unsafe" not in policy


def test_the_script_is_one_whole_without_imports():
    text = bundle()
    assert not re.search(r"^(import|export) ", text, re.M)
    names = re.findall(r"^(?:async )?(?:function|const|let) (\w+)", text, re.M)
    assert len(names) > 20
    assert len(names) == len(set(names))


def test_views_mark_and_shade(store):
    found = {view.key: view for view in views(store.runs())}
    assert list(found) == ["accuracy", "error", "none", "running_statistics", "seconds"]
    tops = [shown for _, _, cells in found["accuracy"].rows for shown in cells if shown.top]
    assert [shown.cell.number for shown in tops] == ["70.0"]  # tent with fps
    assert tops[0].shade == "s8"
    gains = {name: cells[0].shade for name, _, cells in found["none"].rows}
    assert gains["fps"] == "d4"
    assert gains[EVIL].startswith("d-")
    assert found["accuracy"].rows[0][2][1].runs == ("norm-none-0", "norm-none-1")


def test_csv_has_the_numbers_of_the_tables(store):
    lines = list(csv.DictReader(StringIO(table_csv(store.runs()))))
    shown = table(store.runs(), "accuracy")
    expected = {
        (row.names[0], column): cell.value
        for row in shown.rows
        for column, cell in zip(shown.columns, row.cells, strict=True)
        if cell.value is not None
    }
    got = {(r["memory"], r["method"]): float(r["value"]) for r in lines if r["table"] == "accuracy"}
    assert got == pytest.approx(expected)


def test_latex_marks_escapes_and_compiles(store, tmp_path):
    text = tex(store.runs())
    assert r"\cellcolor{gray!25}\textbf{70.0}" in text
    assert r"\underline{" in text
    assert escape(r"a_b & 100% \ {x} <y> ~^ é") == (
        r"a\_b \& 100\% \textbackslash{} \{x\} $<$y$>$ \textasciitilde{}\textasciicircum{} ?"
    )
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    (tmp_path / "tables.tex").write_text(text)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stdout[-2000:]


def test_figures_are_drawn_for_what_there_is(store):
    runs = store.runs()
    names = {figure.name for figure in figures(runs)}
    assert names == {"stream-norm", "stream-tent", "diagnostics-norm", "diagnostics-tent", "cost", "wins"}
    for figure in named_figures(runs).values():
        root = ElementTree.fromstring(svg(figure.drawing))
        assert root.attrib["aria-label"].startswith(figure.title)
        with Image.open(BytesIO(png(figure.drawing))) as picture:
            assert picture.size[0] == pytest.approx(2 * figure.drawing.width, abs=1)


def test_ablations_have_figures_of_their_own():
    scores = {0.001: 50, 0.005: 60, 0.05: 55}
    runs = [made("fps", scores=(v, v + 1, v, v), memory__arguments={"epsilon": e}) for e, v in scores.items()]
    (drawn,) = [figure for figure in figures(runs) if figure.name == "epsilon-norm"]
    assert "best at 0.005" in drawn.drawing.words
    sizes = [made("fps", scores=(50 + m, 51, 52, 53), memory__capacity=m) for m in (8, 16, 32)]
    (capacity,) = figures(sizes, across=True)
    assert "best at 32" in capacity.drawing.words
    parts = [
        made("composed", scores=(s, s, s, s + 1), memory__arguments={"evict": e, "admit": "all"})
        for e, s in (("oldest", 40), ("nearest", 45))
    ]
    (factors,) = [figure for figure in figures(parts) if figure.name == "factors-norm"]
    assert "evict=nearest" in factors.drawing.words.split(",")[0]


def test_series_follow_the_stream(store):
    line = series(store.read("norm-fps-0"))
    assert line.at == tuple(range(100, 900, 100))
    assert line.accuracy()[0] == 63
    assert line.accuracy(2)[2] == 63.5
    assert [visit.start for visit in line.visits] == [0, 200, 400, 600]
    assert len(series(store.read("norm-fps-0"), bins=4)) == 4


def test_names_on_an_axis_stay_inside_the_drawing():
    drawing = Drawing(100, 50, "")
    x_axis(drawing, Frame(10, 10, 88, 20, (0, 1), (0, 1)), "", [(0.5, "middle"), (1, "1500000")])
    middle, last = [mark for mark in drawing.marks if isinstance(mark, Text) and mark.text]
    assert middle.x == 54
    assert last.x + font(22).getlength("1500000") / 4 <= 100


def test_the_front_and_dashes():
    points = [(1.0, 50.0, "a", "x"), (1.0, 40.0, "a", "y"), (2.0, 50.0, "a", "z"), (3.0, 51.0, "b", "x")]
    assert front(points) == [points[0], points[3]]
    pieces = list(dashes(((0, 0), (10, 0)), (3, 2)))
    assert pieces == [[(0, 0), (3, 0)], [(5, 0), (8, 0)]]


def test_styles_can_be_told_without_colour():
    looks = [(look.dash, look.marker) for look in KNOWN.values()]
    assert len(set(looks)) == len(looks)
    alone = [look.marker for look in (*KNOWN.values(), *OTHERS)]  # points of the cost figure have no line
    assert len(set(alone)) == len(alone)
    drawn = {tuple((type(part), part.points) for part in marker(name, 0, 0, "black")) for name in alone}
    assert len(drawn) == len(alone)
    two = styles(["fps epsilon=0.1", "fps epsilon=0.2"])
    first, second = two.values()
    assert first.colour == second.colour == KNOWN["fps"].colour
    assert first[1:] != second[1:]


def test_svg_escapes_texts():
    drawing = Drawing(10, 10, 'a "title" <b>', marks=[Text(0, 0, "<b>&"), Line(((0, 0), (1, 1)), dash=(1, 2))])
    root = ElementTree.fromstring(svg(drawing))
    assert [child.text for child in root if child.tag.endswith("text")] == ["<b>&"]
    assert "<style" not in svg(drawing, alone=False)


def test_recordings_of_memories_go_before_those_of_runs_without(tmp_path):
    made = write(tmp_path, many_runs(seeds=(0,)))
    for id in ("norm-none-0", "norm-fps-0"):
        with_recording(tmp_path, id)
    path = record_path(tmp_path, "norm-fps-0")
    size = path.stat().st_size
    path.write_text(path.read_text() + " " * 100)  # larger, and first all the same
    assert list(recordings(made, made.runs(), room=3 * size)) == ["norm-fps-0", "norm-none-0"]
    assert list(recordings(made, made.runs(), room=size + 100)) == ["norm-fps-0"]


def test_recordings_that_do_not_fit_stay_out(store):
    runs = store.runs()
    assert list(recordings(store, runs)) == ["norm-fps-0"]
    assert recordings(store, runs, room=10) == {}
    damaged = store.root / "records" / "norm-fifo-0.json"
    damaged.write_text("{")
    try:
        assert list(recordings(store, runs)) == ["norm-fps-0"]
    finally:
        damaged.unlink()


def test_recordings_give_way_to_the_rest_of_the_page(store, monkeypatch):
    assert 'id="record-norm-fps-0"' in write_report(store.root, pictures=False).read_text(encoding="utf-8")
    monkeypatch.setattr(writing, "LARGEST", len(page(store).encode()) + 10)
    assert 'id="record-' not in write_report(store.root, pictures=False).read_text(encoding="utf-8")


def test_what_is_no_file_below_records_is_passed_over(store, tmp_path):
    folder, runs = store.root / "records", store.runs()
    ids = [run.id for run in runs if run.id != "norm-fps-0"][:5]
    (tmp_path / "outside.json").write_text('{"format": 1}')
    odd = [folder / f"{id}.json" for id in ids]
    odd[0].symlink_to(tmp_path / "outside.json")
    odd[1].symlink_to(tmp_path / "nowhere")
    odd[2].symlink_to(odd[2])
    os.mkfifo(odd[3])
    odd[4].mkdir()
    try:
        assert list(recordings(store, runs)) == ["norm-fps-0"]
        assert "norm-fps-0" in write_report(store.root, pictures=False).read_text()
    finally:
        for path in odd:
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": ' + "1" * 5000 + "}", '{"format": 1, "x": NaN}', "[1]"])
def test_a_recording_that_no_program_should_hold_stays_out(store, text):
    path = store.root / "records" / "norm-fifo-0.json"
    path.write_text(text)
    try:
        assert list(recordings(store, store.runs())) == ["norm-fps-0"]
    finally:
        path.unlink()


def test_a_report_is_not_written_through_a_link(tmp_path):
    made_here = write(tmp_path / "store", many_runs(seeds=(0,)))
    (tmp_path / "outside").mkdir()
    (made_here.root / "figures").symlink_to(tmp_path / "outside")
    with pytest.raises(GottaError, match="figures' is a link"):
        write_report(made_here.root)
    assert list((tmp_path / "outside").iterdir()) == []
