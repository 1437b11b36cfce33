"""The picture: its size, its marks, and that it is always the same."""

from itertools import pairwise

import numpy as np
import pytest
from PIL import Image, ImageFont
from streams.fake_data import FakeDataset, balanced

from gotta.errors import GottaError
from gotta.show.stream_picture import (
    AXIS,
    BANDS,
    BAR,
    DOMAIN_ROW,
    FAINT,
    GAP,
    HELD_OUT,
    LEFT,
    NAME_ROW,
    RIGHT,
    STRIP,
    TITLE,
    WIDTH,
    Span,
    batch_strip,
    class_share,
    draw,
    name_spans,
    palette,
    place_names,
    plot_height,
    show_text,
)
from gotta.streams import Stream, StreamSpec

PLOT = WIDTH - LEFT - RIGHT


def stream(classes=10, each=20, **arguments):
    return Stream(FakeDataset(balanced(classes, each)), StreamSpec.of(**arguments))


def pixels(path):
    with Image.open(path) as image:
        image.load()
        assert (image.format, image.mode) == ("PNG", "RGB")
        return np.asarray(image)


@pytest.mark.parametrize(
    ("classes", "arguments", "name_rows", "mixed"),
    [
        (10, {}, 2, 0),
        (10, {"order": "iid", "schedule": "mixed"}, 1, 15),
        (10, {"order": "markov", "schedule": "mixed", "domains": "snow,fog"}, 1, 2),
        (10, {"order": "iid", "schedule": "cdc", "domains": "snow,fog", "seed": 2}, 1, 2),
        (2, {"order": "sorted", "schedule": "one", "domains": "snow"}, 1, 0),
        (200, {"schedule": "gradual"}, 2, 0),
        (10, {"schedule": "recurring", "repeats": 10}, 1, 0),
    ],
)
def test_draw_writes_a_png_of_the_expected_size_twice_the_same(tmp_path, classes, arguments, name_rows, mixed):
    found = stream(classes, 3, **arguments)
    path = draw(found, tmp_path / "one.png")
    assert path == tmp_path / "one.png"
    height = TITLE + NAME_ROW * name_rows + 6 + plot_height(classes) + GAP + STRIP + AXIS
    height += DOMAIN_ROW * mixed + GAP if mixed else 0
    assert pixels(path).shape == (height, WIDTH, 3)
    assert path.read_bytes() == draw(found, tmp_path / "two.png").read_bytes()
    assert found.dataset.asked == 0


def test_a_path_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(GottaError, match=r"cannot be written to .*No such file or directory"):
        draw(stream(), tmp_path / "nowhere" / "s.png")


def test_other_streams_give_other_pictures(tmp_path):
    one, other = (pixels(draw(stream(seed=seed), tmp_path / f"{seed}.png")) for seed in (0, 1))
    assert (one != other).any()


def test_marks_stand_where_the_samples_are(tmp_path):
    found = stream(4, 1, order="sorted", schedule="one", domains="snow")
    image = pixels(draw(found, tmp_path / "s.png"))
    top = TITLE + NAME_ROW + 6
    for y in range(4):
        row = image[top + 22 * y + 10, LEFT : LEFT + PLOT]
        marked = np.flatnonzero((row == palette(4)[y]).all(1))
        assert (marked.min(), marked.max()) == (PLOT * y // 4, PLOT * (y + 1) // 4 - 1)
        assert len(marked) == PLOT // 4
        empty = np.setdiff1d(np.arange(PLOT), marked)
        assert (row[empty] == BANDS[0]).all()


def test_the_background_alternates_with_the_domains(tmp_path):
    found = stream(2, 1, order="sorted", domains=("snow", "fog", "frost"))
    image = pixels(draw(found, tmp_path / "b.png"))
    row = image[TITLE + NAME_ROW + 6 + 10, LEFT : LEFT + PLOT]  # class 0 comes first in each of three domains
    sixth = [row[int((k + 0.5) * PLOT / 6)].tolist() for k in range(6)]
    blue = palette(2)[0].tolist()
    assert sixth == [blue, BANDS[0].tolist(), blue, BANDS[1].tolist(), blue, BANDS[0].tolist()]


def test_the_strip_shows_the_classes_of_each_batch():
    found = stream(2, 2, order="sorted", schedule="one", domains="snow", batch_size=3)  # 0 0 1 | 1
    filled = (batch_strip(found, 8) != 255).any(2).sum(0).tolist()
    assert filled == [STRIP - 4] * 6 + [(STRIP - 4) // 2] * 2


def test_bars_of_batches_that_are_not_adapted_to_are_pale():
    found = stream(2, 2, order="sorted", schedule="one", domains="snow", batch_size=2)
    strip = batch_strip(found, 8, np.array([True, False]))
    assert [tuple(strip[-1, column].tolist()) for column in (0, 3, 4, 7)] == [BAR, BAR, HELD_OUT, HELD_OUT]
    assert "adapted to   1 of 2 batches; all are scored" in show_text(found, np.array([True, False]))
    assert "adapted to" not in show_text(found)


def test_foreign_samples_have_a_row_below_the_classes(tmp_path):
    class Open(FakeDataset):
        foreign = np.array([4])

    data = Open(np.array([0, 0, 1, 1, -1]), num_classes=2)
    found = Stream(data, StreamSpec(order="sorted", schedule="one", domains="snow", foreign=0.2))
    top, place = TITLE + NAME_ROW + 6, int(np.flatnonzero(found.label == -1)[0])
    row = pixels(draw(found, tmp_path / "f.png"))[top + 22 * 2 + 10, LEFT : LEFT + PLOT]
    marked = np.flatnonzero((row == FAINT).all(1))
    assert (marked.min(), marked.max()) == (PLOT * place // 5, PLOT * (place + 1) // 5 - 1)
    assert "foreign      1 samples of no class" in show_text(found)
    assert "20% foreign" in show_text(found)


def test_class_share_sums_to_one_in_every_column():
    for samples in (7, 50, 1000):
        share = class_share(balanced(10, samples)[:samples], 10, 50)
        np.testing.assert_allclose(share.sum(0), 1.0)
    assert class_share(np.array([0, 1, 1, 1]), 2, 2).tolist() == [[0.5, 0.0], [0.5, 1.0]]


def test_names_never_overlap_and_all_fifteen_are_there():
    found = stream(10, 20)
    spans = name_spans(found, PLOT)
    labels = place_names(spans, found.num_samples, PLOT)
    assert [label.name for label in labels] == list(found.domains)
    font = ImageFont.load_default(size=13)
    for row in range(3):
        mine = [(label, font.getlength(label.name)) for label in labels if label.row == row]
        ends = [(label.middle - width / 2, label.middle + width / 2) for label, width in mine]
        assert all(left >= LEFT and right <= LEFT + PLOT for left, right in ends)
        assert all(left[1] < right[0] for left, right in pairwise(ends))


def test_names_without_room_are_left_out_and_few_stand_in_one_row():
    many = [Span("a long name of a domain", k, k + 1) for k in range(100)]
    assert 3 < len(place_names(many, 100, PLOT)) < 100
    assert {label.row for label in place_names([Span("a", 0, 50), Span("b", 50, 100)], 100, PLOT)} == {0}


def test_what_is_named():
    assert [s.name for s in name_spans(stream(schedule="mixed"), PLOT)] == ["15 domains mixed"]
    gradual = name_spans(stream(schedule="gradual", domains=("snow", "fog")), PLOT)
    assert [(s.name, s.begin, s.end) for s in gradual] == [("snow", 0, 1800), ("fog", 1800, 3600)]
    short = name_spans(stream(schedule="recurring", repeats=2, domains=("snow", "fog")), PLOT)
    assert [s.name for s in short] == ["snow-5", "fog-5", "snow-5", "fog-5"]
    long = name_spans(stream(schedule="recurring", repeats=10), PLOT)
    assert [s.name for s in long] == [f"round {k}" for k in range(1, 11)]
    assert [s.begin for s in long] == [3000 * k for k in range(10)]


def test_colours_are_distinct():
    for classes in (2, 10, 11, 200):
        assert len(np.unique(palette(classes).round(1), axis=0)) == classes


def test_plot_height():
    assert [plot_height(classes) for classes in (2, 10, 200, 1000)] == [44, 220, 600, 1000]


def test_mixed_domains_are_rows_below_the_classes(tmp_path):
    found = stream(2, 4, order="sorted", schedule="mixed", domains=("snow", "fog"), seed=1)
    image = pixels(draw(found, tmp_path / "m.png"))
    top = TITLE + NAME_ROW + 6 + plot_height(2) + GAP
    for k in range(2):
        row = image[top + DOMAIN_ROW * k + 6, LEFT : LEFT + PLOT]
        shown = (row == palette(2)[k]).all(1)
        middles = (np.arange(found.num_samples) + 0.5) * PLOT / found.num_samples
        assert shown[middles.astype(int)].tolist() == (found.domain == k).tolist()


def test_pieces_of_domains_are_named_each():
    found = stream(5, 20, order="iid", schedule="cdc", domains=("snow", "fog"), seed=2)
    names = [span.name for span in name_spans(found, PLOT)]
    assert len(names) == len(found.starts) > 2
    assert set(names) == {"snow-5", "fog-5"}
    assert all(one != other for one, other in pairwise(names))
