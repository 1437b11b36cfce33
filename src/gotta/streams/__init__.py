"""Streams: in which order the images of which domains arrive. A stream is an order x a schedule."""

from gotta.streams.ahead import read_ahead
from gotta.streams.order import ORDERS, class_runs
from gotta.streams.schedule import DOMAIN_ORDERS, ROTTA_ORDER, SCHEDULES, STANDARD_ORDER
from gotta.streams.stream import Stream
from gotta.streams.stream_spec import StreamSpec, check

__all__ = [
    "DOMAIN_ORDERS",
    "ORDERS",
    "ROTTA_ORDER",
    "SCHEDULES",
    "STANDARD_ORDER",
    "Stream",
    "StreamSpec",
    "check",
    "class_runs",
    "read_ahead",
]
