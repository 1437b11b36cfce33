"""A contact sheet of a stream's clips: one line per clip, time to the right."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from gotta.errors import GottaError
from gotta.streams.draw import FAINT, INK, _font, title
from gotta.streams.stream import Stream
from gotta.types import Images, IntArray

TILE, GAP, TEXT, TOP = 64, 2, 210, 64  # frames smaller than a tile are shown in it without smoothing


def draw_clips(stream: Stream, path: str | Path, clips: int = 12, frames: int = 10) -> Path:
    """Write a PNG with so many of the clips, in the order in which they arrive, and so many frames of each."""
    if clips < 1 or frames < 1:
        raise GottaError(f"clips={clips}, frames={frames}: expected at least one of each on the sheet.")
    ends = np.append(stream.clip_starts, stream.num_samples)
    shown = _spread(len(ends) - 1, clips)
    step = TILE + GAP
    sheet = Image.new("RGB", (TEXT + frames * step + GAP, TOP + len(shown) * step + GAP), "white")
    pen = ImageDraw.Draw(sheet)
    pen.text((12, 26), title(stream.spec), fill=INK, font=_font(18), anchor="ls")
    facts = f"{len(shown)} of {len(ends) - 1} clips from the first to the last; time goes to the right"
    pen.text((12, 48), facts, fill=FAINT, font=_font(13), anchor="ls")
    for line, clip in enumerate(shown.tolist()):
        begin, end = int(ends[clip]), int(ends[clip + 1])
        at = begin + _spread(end - begin, frames)
        y = TOP + line * step
        domain = stream.domains[stream.domain[begin]]
        names = getattr(stream.dataset, "classes", None)
        label = int(stream.label[begin])
        pen.text((12, y + 22), f"clip {clip}: {end - begin} frames", fill=INK, font=_font(13), anchor="ls")
        pen.text((12, y + 39), f"class {names[label] if names else label}", fill=INK, font=_font(13), anchor="ls")
        pen.text((12, y + 56), domain, fill=FAINT, font=_font(13), anchor="ls")
        for column, tile in enumerate(stream.dataset.images(domain, stream.index[at])):
            sheet.paste(_tile(tile), (TEXT + column * step, y))
    target = Path(path)
    try:
        sheet.save(target, format="PNG")
    except OSError as error:
        raise GottaError(f"the picture cannot be written to {target}: {error.strerror}. Give another path.") from error
    return target


def _spread(count: int, most: int) -> IntArray:
    """At most so many positions below count, evenly from the first to the last."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def _tile(pixels: Images) -> Image.Image:
    smoothing = Image.Resampling.NEAREST if max(pixels.shape[:2]) <= TILE else Image.Resampling.BILINEAR
    return Image.fromarray(pixels).resize((TILE, TILE), smoothing)
