"""What figures do with many rows, and that they keep a memory's colour."""

from io import BytesIO
from itertools import product

from made_runs import made
from PIL import Image, ImageColor

from gotta.report.answer import answer, overall
from gotta.report.drawing import Drawing, Line, Text
from gotta.report.figures import figures
from gotta.report.figures.factors import factor_figures
from gotta.report.figures.figure import MANY, best_rows, columns
from gotta.report.figures.scaling import capacity_figures, epsilon_figures
from gotta.report.matrix import win_tie_loss
from gotta.report.palette import style
from gotta.report.raster import png


def composed(gain):
    """Cells of two factors of 5 values each; `gain(a, b)` is added to the accuracy."""
    return [
        made("composed", scores=(50.0 + gain(a, b),) * 4, memory__arguments={"evict": f"e{a}", "admit": f"a{b}"})
        for a, b in product(range(5), range(5))
    ]


def words(figure):
    return [mark.text for mark in figure.drawing.marks if isinstance(mark, Text)]


def test_of_many_rows_the_best_are_shown_and_what_is_there_to_compare_with():
    runs = [*composed(lambda a, b: a + 0.1 * b), made("none"), made("none", control="oracle")]
    (rows,) = columns(runs).values()
    kept, told = best_rows(rows)
    assert len(kept) == MANY
    assert {"none", "control: oracle (true labels)"} <= kept.keys()
    assert "composed evict=e4 admit=a4" in kept
    assert "composed evict=e0 admit=a0" not in kept
    assert told == f" The best {MANY} of 27 rows."
    assert list(kept) == [row for row in rows if row in kept]
    few = dict(list(rows.items())[:MANY])
    assert best_rows(few) == (few, "")


def test_figures_of_many_rows_stay_small():
    for figure in figures([*composed(lambda a, b: a), made("none")]):
        assert sum(text.startswith("evict=") for text in words(figure)) <= MANY, figure.name


def test_names_of_the_matrix_are_those_of_the_table_though_not_all_are_in_it():
    runs = composed(lambda a, b: a)
    names, matrix = win_tie_loss(runs, only={"composed evict=e4 admit=a0", "composed evict=e4 admit=a1"})
    assert names == ["composed evict=e4 admit=a0", "composed evict=e4 admit=a1"]
    assert len(matrix) == 2


def test_of_many_combinations_each_value_of_a_factor_gets_its_mean():
    (figure,) = factor_figures(composed(lambda a, b: a))
    told = words(figure)
    assert [told[told.index(f"evict=e{k}") + 1] for k in range(5)] == ["50.0", "51.0", "52.0", "53.0", "54.0"]
    assert {told[told.index(f"admit=a{k}") + 1] for k in range(5)} == {"52.0"}
    assert "the factor does not matter" in figure.caption


def test_few_combinations_are_shown_one_by_one_from_the_best():
    (figure,) = factor_figures(composed(lambda a, b: a + 0.1 * b)[:10])
    order = [(1, b) for b in (4, 3, 2, 1, 0)] + [(0, b) for b in (4, 3, 2, 1, 0)]
    assert [text for text in words(figure) if text.startswith("evict")] == [f"evict=e{a} admit=a{b}" for a, b in order]


def test_lines_come_in_the_order_of_the_tables():
    runs = [made(memory, memory__capacity=size) for memory in ("fps", "cds", "fifo") for size in (8, 16)]
    (figure,) = capacity_figures(runs)
    assert [text for text in words(figure) if text in ("fifo", "cds", "fps")] == ["fifo", "cds", "fps"]


def test_the_best_epsilon_is_starred_unless_all_are_alike():
    runs = [
        made("fps", scores=(50.0 + gain,) * 4, memory__arguments={"epsilon": e}) for e, gain in ((0.1, 0), (0.2, 3))
    ]
    flat = [made("cds", memory__arguments={"epsilon": epsilon}) for epsilon in (0.1, 0.2)]
    (figure,) = epsilon_figures([*runs, *flat])
    assert words(figure).count("53.0") == 1  # beside the one star
    assert figure.drawing.words == "cds is alike everywhere with 53.0; fps is best at 0.2 with 53.0."


def test_a_thin_line_among_many_keeps_its_colour():
    drawing = Drawing(200, 100, "lines")
    for k, name in enumerate(["cds"] * 40 + ["fps"]):
        drawing.add(Line(((0, 2 * k + 1), (200, 2 * k + 1)), style(name).colour, 1))
    colours = {colour for _, colour in Image.open(BytesIO(png(drawing))).convert("RGB").getcolors(1 << 16)}
    assert ImageColor.getrgb(style("fps").colour) in colours
    assert ImageColor.getrgb(style("cds").colour) in colours


def test_several_set_ups_are_counted_together():
    better = [
        run for s in range(3) for run in (made("none", seed=s), made("fps", scores=(80.0, 82.0, 84.0, 86.5), seed=s))
    ]
    worse = [
        run for s in range(3) for run in (made("none", seed=s), made("fps", scores=(10.0, 12.0, 14.0, 16.5), seed=s))
    ]
    assert overall([answer(better), answer(worse)]) == (
        "Over 2 set-ups, a memory is better than none for 1 of 2 methods and set-ups."
    )
    assert overall([answer(better)]) == ""
    assert overall([]) == ""
    assert overall([answer([made("fps"), made("fifo")])] * 2) == ""
