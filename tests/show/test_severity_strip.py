"""The strip of a walk."""

import numpy as np
from streams.fake_data import FakeDataset, balanced

from gotta.show.stream_picture import BAR, SECOND, draw, severities, severity_strip
from gotta.streams import Stream, StreamSpec

NAMES = ("snow-5+fog-0", "snow-2.5+fog-2.5", "snow-0+fog-5", "fog-5+snow-0", "fog-0+snow-5")


def test_one_corruption_fades_while_the_other_grows(tmp_path):
    spec = StreamSpec(order="iid", schedule="walk", domain_order="dataset", transitions=1, seed=1)
    flow = Stream(FakeDataset(balanced(2, 5), NAMES[:3]), spec)
    levels = severities(flow)
    assert levels.tolist() == [[5, 0], [2.5, 2.5], [0, 5]]
    strip = severity_strip(flow, levels, 30)
    for column, first, second in ((0, 43, 0), (15, 22, 21), (29, 0, 43)):
        assert int((strip[:, column] == BAR).all(1).sum()) == first
        assert int((strip[:, column] == SECOND).all(1).sum()) == second
    assert draw(flow, tmp_path / "w.png").stat().st_size > 0


def test_other_streams_have_no_such_strip():
    assert severities(Stream(FakeDataset(balanced(2, 5)), StreamSpec(domains=("snow", "fog")))) is None
    assert np.array_equal(severities(Stream(FakeDataset(balanced(2, 5), NAMES), StreamSpec(domains=NAMES)))[0], [5, 0])
