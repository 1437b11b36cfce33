"""Figure 1 drawn and tabled, from results made by hand."""

import numpy as np
import pytest
from PIL import Image

from gotta.errors import GottaError
from gotta.experiment.teaser import Held, Setting, TeaserResult
from gotta.report.tables.render import markdown, plain
from gotta.report.teaser import (
    BEGIN,
    COLOURS,
    COLUMNS,
    END,
    GUTTER,
    HEADER,
    MARGIN,
    PLOT,
    STREAM,
    TITLE,
    WIDTH,
    decision_table,
    draw,
    measure_table,
    placed,
    tables,
    variant_table,
    wins,
    write_page,
)

pytestmark = pytest.mark.thorough

PANEL = (WIDTH - 2 * MARGIN - 4 * GUTTER) // 5
POINTS = np.array([[-1.0, 0.0], [0.0, 0.5], [1.0, 0.0], [1.0, -0.5]])
NAMES = ("fifo", "reservoir", "pbrs", "cstu", "cds", "fps")


def memory(name="fifo", images=(0, 0, 2), **measures):
    found = dict.fromkeys(COLUMNS, 0.5) | {"rows": len(images), "images": len(set(images))} | measures
    return Held(name, np.array(images), np.zeros(len(images), np.int64), found, {"stored": 9, "room": 4, "coin": 5})


def result(*held, **changes):
    facts = {"images": 4, "accuracy_pair": 0.75, "certain": 0.5, "weights": "abc"}
    truth = np.array([0, 0, 1, 1])
    return TeaserResult(Setting(**changes), truth, POINTS, (0.6, 0.2), held, facts)


def picture(path):
    with Image.open(path) as image:
        assert (image.format, image.mode) == ("PNG", "RGB")
        return np.asarray(image).astype(int)


def near(pixels, colour):
    return np.abs(pixels - np.array(colour)).max(-1) < 12


def panel(pixels, k):
    left, top = MARGIN + k * (PANEL + GUTTER), HEADER + TITLE
    return pixels[top : top + PLOT, left : left + PANEL]


@pytest.mark.parametrize(("count", "rows"), [(1, 1), (5, 1), (6, 2), (10, 2), (11, 3)])
def test_five_panels_to_a_row(tmp_path, count, rows):
    path = draw(result(*(memory(f"m{k}") for k in range(count))), tmp_path / "new" / "a.png")
    height, width, _ = picture(path).shape
    assert width == WIDTH
    one = picture(draw(result(memory()), tmp_path / "one.png")).shape[0]
    two = picture(draw(result(*[memory()] * 6), tmp_path / "two.png")).shape[0]
    assert height == one + (rows - 1) * (two - one)


def test_the_same_result_gives_the_same_bytes(tmp_path):
    one, two = (draw(result(memory()), tmp_path / name).read_bytes() for name in ("a.png", "b.png"))
    assert one == two


def test_stored_rows_have_the_colour_of_their_true_class_where_they_lie(tmp_path):
    pixels = picture(draw(result(memory(images=(0, 2)), memory(images=(0,))), tmp_path / "a.png"))
    at = placed(POINTS, PANEL, PLOT).round().astype(int)
    both, first_only = panel(pixels, 0), panel(pixels, 1)
    assert near(both[at[0, 1], at[0, 0]], COLOURS[0])
    assert near(both[at[2, 1], at[2, 0]], COLOURS[1])
    assert near(both[at[1, 1], at[1, 0]], STREAM)
    assert near(first_only, COLOURS[0]).any()
    assert not near(first_only, COLOURS[1]).any()


def test_copies_are_seen_by_the_size_of_the_mark(tmp_path):
    pixels = picture(draw(result(memory(images=(0,)), memory(images=(0, 0, 0, 0))), tmp_path / "a.png"))
    once, four_times = (near(panel(pixels, k), COLOURS[0]).sum() for k in (0, 1))
    assert four_times > 1.5 * once > 0


def test_both_axes_have_one_scale_and_all_points_are_inside():
    at = placed(POINTS, 300, 220)
    assert ((at > 0) & (at < (300, 220))).all()
    across, up = at[2] - at[0], at[1] - at[3]
    assert across[0] / 2.0 == pytest.approx(-up[1] / 1.0)
    assert np.isfinite(placed(np.zeros((3, 2)), 300, 220)).all()


def test_a_measure_without_a_value_is_shown_as_such(tmp_path):
    empty = memory(images=(), balance=None, coverage_features=None)
    draw(result(empty), tmp_path / "a.png")
    assert tables(result(empty)).rows[0].cells[list(COLUMNS).index("balance")].value is None


def test_the_table_has_a_line_per_policy_in_percent_where_it_says_so():
    table = tables(result(memory("fifo", near_duplicates_features=0.969), memory("fps")))
    assert [row.names for row in table.rows] == [("fifo",), ("fps",)]
    line = dict(zip(table.columns, table.rows[0].cells, strict=True))
    assert line["near-dup %"].number == "96.9"
    assert line["rows"].number == "3"
    assert line["coverage"].number == "0.500"
    assert "airplane and automobile" in plain(table)
    assert "75.0% right" in plain(table)


def test_means_over_results_come_with_half_the_range():
    table = measure_table([result(memory(balance=0.2)), result(memory(balance=0.6))], "title")
    cell = table.rows[0].cells[list(COLUMNS).index("balance")]
    assert (cell.value, cell.interval, cell.seeds) == (pytest.approx(0.4), pytest.approx(0.2), 2)


def shares(**near_duplicates):
    return result(*(memory(name, near_duplicates_features=near_duplicates.get(name, 0.5)) for name in NAMES))


def test_wins_count_strictly_smaller_shares():
    table = wins([shares(cds=0.4), shares(cds=0.4, pbrs=0.1), shares(cds=0.5)])
    line = {row.names: [cell.value for cell in row.cells] for row in table.rows}
    assert table.columns == ("fifo", "reservoir", "pbrs", "cstu")
    assert line["cds", "features", "fewer"] == [2, 2, 1, 2]
    assert line["cds", "features", "more"] == [0, 0, 1, 0]
    assert line["fps", "features", "fewer"] == [0, 0, 0, 0]
    assert line["fps", "features", "more"] == [0, 0, 1, 0]
    assert line["cds", "embedding", "fewer"] == [0, 0, 0, 0]
    assert "of 3 streams" in table.title


def test_variants_and_decisions():
    variants = variant_table({"one": [shares(cds=0.25), shares(cds=0.75)], "two": [shares(fps=0.0)]})
    line = {row.names[0]: dict(zip(variants.columns, row.cells, strict=True)) for row in variants.rows}
    assert line["one"]["cds"].number == "50.0"
    assert line["two"]["fps"].number == "0.0"
    assert line["one"]["rows fps"].number == "3.0"
    decisions = decision_table([shares()])
    assert decisions.columns == ("room", "coin")
    assert [cell.number for cell in decisions.rows[0].cells] == ["4", "5"]
    assert "| cds | 4 | 5 |" in markdown(decisions)


def test_the_page_keeps_its_words_and_renews_its_numbers(tmp_path):
    page = tmp_path / "teaser.md"
    page.write_text(f"# Words\n\n{BEGIN}\nold numbers\n{END}\n\nMore words.\n")
    told = []
    small = {"per_class": 10, "batches": 8, "capacity": 4}
    arguments = {"pairs": [(0, 1), (3, 5)], "seeds": [0], "variants": {"as drawn": {}, "two": {"slots": 2}}}
    assert write_page(tmp_path, tell=told.append, **arguments, **small) == page
    first = page.read_text()
    assert first.startswith(f"# Words\n\n{BEGIN}\n")
    assert first.endswith(f"{END}\n\nMore words.\n")
    assert "old numbers" not in first
    assert "| kcenter |" in first
    assert "in so many of 2 streams" in first
    assert "| two |" in first
    assert told == ["as drawn", "two"]
    assert picture(tmp_path / "teaser.png").shape[1] == WIDTH
    write_page(tmp_path, **arguments, **small)
    assert page.read_text() == first


def test_a_page_without_marks_is_refused_before_anything_is_drawn(tmp_path):
    (tmp_path / "teaser.md").write_text("# Words\n")
    with pytest.raises(GottaError, match="no place for the numbers"):
        write_page(tmp_path)
    assert not (tmp_path / "teaser.png").exists()
