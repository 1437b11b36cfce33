"""Video as the streams take it: frames as rows, each with its label and its clip, corrupted clip by clip."""

from collections.abc import Iterator, Sequence

import numpy as np

from gotta.data.content import Content
from gotta.data.dataset import DATASETS, Corrupting
from gotta.data.home import find
from gotta.data.readers import clips as clips_
from gotta.data.readers.bundled import bundled
from gotta.data.readers.cifar import CLASSES
from gotta.data.readers.clips import Clips, frames_content
from gotta.data.readers.gtsrb import read_sheets
from gotta.data.readers.pseudo_video import pseudo_video
from gotta.data.readers.tracks import read_boxes, read_tracks
from gotta.types import Images, IntArray

# What differs from frame to frame: the noise of a sensor, and flakes that fall. All else stays for a clip.
PER_FRAME = ("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise", "snow")
GTSRB = "gtsrb_tracks.zip"


class Video(Corrupting):
    """Frames as rows, and `clips[row]`. A clip has one corruption with all of its frames.

    What a corruption draws of the scene or the lens (ice, fog, a direction, a distortion) is drawn once
    per clip; noise and snow are drawn anew for every frame. The draws depend on the clip or the frame alone.
    """

    is_video = True

    def __init__(self, clips: Clips, table: str = "cifar", seed: int = 0) -> None:
        super().__init__(clips.labels, len(clips.classes), table, seed)
        self._clips, self.clips, self.classes = clips, clips.clips, clips.classes
        _, first, of_row = np.unique(self.clips, return_index=True, return_inverse=True)
        self._first_row: IntArray = first[of_row].astype(np.int64)  # of the clip of each row

    def content(self, domains: Sequence[str]) -> Iterator[Content]:
        yield from (self.labels, self.clips, *frames_content(self._clips.frames))

    def read(self, rows: IntArray) -> Images:
        return self._clips.frames(rows) if len(rows) else self._clips.frames(np.array([0]))[:0]

    def named(self, rows: IntArray, corruption: str) -> IntArray:
        return rows if corruption in PER_FRAME else self._first_row[rows]


@DATASETS.register("gtsrb")
def gtsrb(
    path: str | None = None, split: str = "held_out", every: int = 1, table: str = "cifar", seed: int = 0
) -> Video:
    """Tracks of traffic signs (GTSRB) from gtsrb_tracks.zip in the data home, those held out from training."""
    found = find("data set 'gtsrb'", path, GTSRB)
    return Video(clips_.every(read_sheets(found, split), every), table, seed)


@DATASETS.register("tracks")
def tracks(
    path: str | None = None, size: int = 224, split: str = "all", every: int = 1, table: str = "imagenet", seed: int = 0
) -> Video:
    """Clips from a folder `<class>/<track>/<frame>.jpg` in the data home."""
    found = find("data set 'tracks'", path, "tracks")
    return Video(clips_.every(clips_.split(read_tracks(found, size), split), every), table, seed)


@DATASETS.register("itd")
def itd(path: str | None = None, size: int = 224, split: str = "all", every: int = 1, seed: int = 0) -> Video:
    """The paper's video clips: ITD's tracklets, `<class>/<track>/<frame>.jpg` in the folder `itd` of the data home."""
    found = find("data set 'itd'", path, "itd")
    return Video(clips_.every(clips_.split(read_tracks(found, size), split), every), "imagenet", seed)


@DATASETS.register("boxes")
def boxes(
    path: str | None = None,
    size: int = 224,
    margin: float = 0.1,
    classes: str = "classes.txt",
    split: str = "all",
    every: int = 1,
    table: str = "imagenet",
    seed: int = 0,
) -> Video:
    """Objects cut out of whole frames, annotated as in TrackingNet: anno/<video>.txt and frames/<video>/<n>.jpg."""
    found = find("data set 'boxes'", path, "boxes")
    return Video(clips_.every(clips_.split(read_boxes(found, size, margin, classes), split), every), table, seed)


@DATASETS.register("cifar10-mini-video")
def cifar10_mini_video(frames: int = 32, every: int = 1, table: str = "cifar", seed: int = 0) -> Video:
    """A clip of 32 frames from each of the bundled images: a camera that pans, zooms and adjusts its exposure."""
    images, labels, _ = bundled()
    return Video(clips_.every(pseudo_video(images, labels, CLASSES, frames, seed), every), table, seed)
