"""What figures do with many rows, and that they keep a memory's colour."""

from io import BytesIO
from itertools import product

from made_runs import made
from made_store import write
from PIL import Image, ImageColor

from gotta.report.answer import answer, overall
from gotta.report.figures import figures
from gotta.report.figures.chart import Frame, clipped
from gotta.report.figures.cost import _label, _meet
from gotta.report.figures.drawing import Box, Drawing, Line, Text
from gotta.report.figures.factors import factor_figures
from gotta.report.figures.figure import MANY, best_rows, columns
from gotta.report.figures.palette import KNOWN, OTHERS, style, styles
from gotta.report.figures.raster import png
from gotta.report.figures.scaling import best, capacity_figures, epsilon_figures
from gotta.report.figures.wins import win_figures
from gotta.report.tables.cells import Cell
from gotta.report.tables.matrix import win_tie_loss


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


def test_a_tie_has_no_colour():
    runs = [made("fifo"), made("fps"), made("cds", scores=(90.0, 92.0, 94.5, 96.0))]
    (figure,) = win_figures(runs)
    squares = [mark for mark in figure.drawing.marks if isinstance(mark, Box) and mark.border]
    counts = [text for text in words(figure) if "/" in text]
    assert sorted(counts) == ["0/0/1", "0/0/1", "0/1/0", "0/1/0", "1/0/0", "1/0/0"]
    assert [square.opacity == 0 for square in squares] == [text == "0/1/0" for text in counts]


def test_counts_of_wins_have_room_beside_long_names():
    (figure,) = win_figures([made("composed", memory__arguments={"evict": f"{k:050}"}) for k in range(12)])
    squares = [mark for mark in figure.drawing.marks if isinstance(mark, Box)]
    assert min(square.width for square in squares) >= 30
    assert figure.caption.endswith(" of 12 rows.")


def test_a_name_of_any_length_can_be_drawn():
    name = "a very\nlong " + "x" * 200 + " end"
    assert clipped("short\nname") == "short name"
    assert len(clipped(name)) == 64
    assert clipped(name).startswith("a very long x")
    assert clipped(name).endswith("x end")
    for figure in figures([made(name), made("none"), made("fps")]):
        assert png(figure.drawing)


def test_rows_of_one_memory_never_look_like_another_memory_in_black_and_white():
    looks = styles([f"composed evict=e{k}" for k in range(12)])
    without_colour = [(look.dash, look.marker) for look in looks.values()]
    assert len(set(without_colour)) == 12
    own = {(look.dash, look.marker) for look in (*KNOWN.values(), *OTHERS)} - {without_colour[0]}
    assert not own & set(without_colour)


def test_a_line_that_does_not_move_has_no_best():
    assert best({0.1: Cell(50.0), 0.2: Cell(50.04)}) == []
    assert best({0.1: Cell(50.0), 0.2: Cell(52.0), 0.3: Cell(51.96), 0.4: Cell()}) == [0.2, 0.3]
    flat = [made("fps", memory__arguments={"epsilon": e}) for e in (0.1, 0.2)]
    (figure,) = epsilon_figures(flat)
    assert figure.drawing.words == "fps is alike everywhere with 53.0."
    on_axis = {text for text in words(figure) if text.startswith(("52", "53"))}
    assert max(map(len, on_axis)) <= 4  # no axis of thousandths


def test_a_label_goes_where_it_hides_nothing():
    frame = Frame(0, 0, 400, 300, (0, 1), (0, 1))
    free, _ = _label("norm + fps", 100, 100, frame, [])
    other = (105, 80, 180, 96)
    moved, box = _label("norm + fps", 100, 100, frame, [other])
    assert (free.x, free.y) != (moved.x, moved.y)
    assert not _meet(box, other)


def test_names_of_domains_stand_above_the_lines(tmp_path):
    (figure, *_) = figures(write(tmp_path, [made("fps"), made("none")]).runs())
    top = min(mark.y for mark in figure.drawing.marks if isinstance(mark, Box))
    names = [mark for mark in figure.drawing.marks if isinstance(mark, Text) and mark.upright]
    assert [mark.text for mark in names] == ["fog-5", "snow-5", "frost-5", "glass blur-5"]
    assert all(mark.y < top for mark in names)
