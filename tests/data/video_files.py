"""Small clips in the layouts that are read, with pixels that tell class, track and frame apart."""

import io
import zipfile

import numpy as np
from PIL import Image


def frame(label, track, time, side=12):
    pixels = np.random.default_rng([label, track, time]).integers(0, 40, (side, side, 3), dtype=np.uint8)
    pixels[..., 0] += np.uint8(40 * label % 200)
    pixels[..., 1] += np.uint8(20 * track)
    pixels[..., 2] += np.uint8(10 * time)
    return pixels


def write_sheets(path, tracks=((0, 5), (1, 4)), frames=3, side=12):
    """`tracks` says how many tracks each class has; tracks are numbered through all classes."""
    number = 0
    with zipfile.ZipFile(path, "w") as archive:
        for label, count in tracks:
            for track in range(count):
                sheet = np.concatenate([frame(label, track, time, side) for time in range(frames)], 1)
                data = io.BytesIO()
                Image.fromarray(sheet).save(data, "PNG")
                archive.writestr(f"{label:02d}/{number:04d}.png", data.getvalue())
                number += 1
    return path


def write_tracks(root, classes=("bus", "cat"), tracks=2, frames=11, suffix="png"):
    for label, name in enumerate(classes):
        for track in range(tracks):
            folder = root / name / f"t{track}"
            folder.mkdir(parents=True)
            for time in range(frames):
                Image.fromarray(frame(label, track, time)).save(folder / f"{time}.{suffix}")
    return root


def write_boxes(
    root, videos=(("0-x_1", "cat"), ("Qz_0", "bus")), frames=12, box=lambda video, time: (4 + time, 6, 8, 6)
):
    """Whole frames of 40 x 30: grey, a white object where the box is, one pixel of its border red."""
    (root / "anno").mkdir(parents=True)
    for video, _ in videos:
        folder = root / "frames" / video
        folder.mkdir(parents=True)
        lines = []
        for time in range(frames):
            x, y, w, h = box(video, time)
            picture = np.full((30, 40, 3), 90, np.uint8)
            picture[max(0, y) : y + h, max(0, x) : x + w] = 255
            Image.fromarray(picture).save(folder / f"{time}.png")
            lines.append(f"{x:.2f},{y:.2f},{w:.2f},{h:.2f}")
        (root / "anno" / f"{video}.txt").write_text("\n".join(lines) + "\n")
    (root / "classes.txt").write_text("".join(f"{video} {name}\n" for video, name in videos))
    return root
