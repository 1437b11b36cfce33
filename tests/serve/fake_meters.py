"""Metrics as ray.util.metrics has them, kept in lists."""


class _Kept:
    def __init__(self, name, description="", tag_keys=(), boundaries=None):
        assert description
        self.name, self.tag_keys, self.noted = name, tag_keys, []

    def _note(self, value, tags=None):
        assert set(tags or {}) == set(self.tag_keys), (self.name, tags)
        self.noted.append((value, dict(tags or {})))


class Counter(_Kept):
    def inc(self, value=1.0, tags=None):
        assert value > 0, "Ray raises here"
        self._note(value, tags)


class Gauge(_Kept):
    set = _Kept._note


class Histogram(_Kept):
    def __init__(self, name, description="", boundaries=None, tag_keys=()):
        super().__init__(name, description, tag_keys)
        assert all(a < b for a, b in zip([0.0, *boundaries], boundaries, strict=False))

    observe = _Kept._note
