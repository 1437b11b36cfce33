"""Which pictures of a data set a sheet shows, and in which rows."""

import numpy as np
import pytest

from gotta.errors import GottaError
from gotta.show.contact_sheet import class_colours
from gotta.show.sheet_rows import chosen_domains, class_names, class_rows, clip_rows, domain_rows, spread


class Counting:
    """Image number i of domain d is filled with 10 d + i."""

    domains = ("clean", "snow-5", "fog-5", "fog-1")
    num_classes = 3

    def __init__(self, labels, clips=None, classes=None):
        self.labels = np.array(labels, np.int64)
        self.classes = classes
        if clips is not None:
            self.clips = np.array(clips)

    def images(self, domain, indices):
        fill = 10 * self.domains.index(domain) + np.asarray(indices)
        return np.broadcast_to(fill[:, None, None, None], (len(indices), 4, 4, 3)).astype(np.uint8)


def numbers(row):
    return [int(tile.image[0, 0, 0]) for tile in row.tiles]


def test_a_row_per_class():
    data = Counting([0, 1, 2, 1, 0, 1])
    rows = class_rows(data, class_names(data), "snow-5", rows=9, columns=2)
    assert [numbers(row) for row in rows] == [[10, 14], [11, 13], [12]]
    assert [row.note for row in rows] == ["2 images", "3 images", "1 images"]
    assert [row.tiles[0].colour for row in rows] == class_colours(3)


def test_too_many_classes_are_spread():
    data = Counting([0, 1, 2])
    assert [row.name for row in class_rows(data, class_names(data), "clean", 2, 2)] == ["0", "2"]
    assert spread(np.arange(100), 3).tolist() == [0, 50, 99]


def test_a_row_per_domain_shows_the_same_images():
    data = Counting([1, 1, 0, 2], classes=["a", "b", "c"])
    rows = domain_rows(data, class_names(data), ["clean", "fog-5"], 9, 9)
    assert [(row.name, numbers(row)) for row in rows] == [("clean", [2, 0, 3]), ("fog-5", [22, 20, 23])]
    assert [tile.caption for tile in rows[0].tiles] == ["0 a", "1 b", "2 c"]


def test_a_row_per_clip_shows_its_frames_in_order():
    data = Counting([0, 0, 0, 2, 2, 2], clips=[7, 7, 7, 9, 9, 9])
    rows = clip_rows(data, data.clips, class_names(data), "clean", 5, 2)
    assert [(row.name, row.note, numbers(row)) for row in rows] == [
        ("0", "clip 7, 3 frames", [0, 2]),
        ("2", "clip 9, 3 frames", [3, 5]),
    ]
    assert [tile.caption for tile in rows[0].tiles] == ["0", "2"]


def test_domains_by_name_wildcard_and_default():
    data = Counting([0])
    assert chosen_domains(data, "") == ["clean"]
    assert chosen_domains(data, "*-5, fog-*") == ["snow-5", "fog-5", "fog-1"]
    assert chosen_domains(data, "all") == list(data.domains)
    with pytest.raises(GottaError, match="Did you mean 'snow-5'"):
        chosen_domains(data, "snow-6")
    data.domains = ("fog-1", "fog-2")
    assert chosen_domains(data, "") == ["fog-1"]


def test_names_that_do_not_fit_are_left_out():
    assert class_names(Counting([0], classes=["a"]), ["x", "y", "z"]) == ["0", "1", "2"]
    assert class_names(Counting([0]), ["x", "y", "z"]) == ["0 x", "1 y", "2 z"]
    assert class_names(Counting([0], classes=["00", "01", "no"])) == ["0", "1", "2 no"]
