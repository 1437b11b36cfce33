"""A stream in a few lines of text."""

import numpy as np
from numpy.typing import NDArray

from gotta.streams.order import USUAL_RUN, class_runs
from gotta.streams.stream import Stream, known_labels
from gotta.streams.stream_spec import StreamSpec
from gotta.types import FOREIGN


def title(spec: StreamSpec) -> str:
    """Order x schedule and what shapes them."""
    gamma = f" gamma={spec.gamma:g}"
    domain = f", domain {_chain(spec.domain_stay)}" if spec.schedule == "mixed" else ""
    shapes = {
        "dirichlet": gamma,
        "note": f" beta={spec.beta:g}",
        "runs": f" of {spec.run_length or USUAL_RUN:g}{gamma}",
        "markov": f" (class {_chain(spec.class_stay)}{domain})",
    }
    shape = shapes.get(spec.order, "")
    times = f" x{spec.repeats}" if spec.repeats > 1 else ""
    times += f" delta={spec.delta:g}" if spec.schedule == "cdc" else ""
    copies = f", classes {spec.class_imbalance:g} to 1" if spec.class_imbalance > 1 else ""
    copies += ", drawn for each domain" if spec.head == "random" else ""
    copies += f", domains {spec.domain_imbalance:g} to 1" if spec.domain_imbalance > 1 else ""
    copies += f", each image {spec.duplicates} times" if spec.duplicates > 1 else ""
    copies += f", {spec.frames} frames of each clip" if spec.frames else ""
    copies += f", {spec.foreign:.0%} foreign" if spec.foreign else ""
    border = ", reset at each domain" if spec.reset_at_domain else ""
    return f"{spec.order}{shape} x {spec.schedule}{times}{copies}{border}, seed {spec.seed}"


def interleaved(stream: Stream) -> bool:
    """Whether domains come back otherwise than round by round: mixed, or in pieces."""
    return len(stream.starts) != len(stream.domains)


def _chain(stay: float | None) -> str:
    return "independent" if stay is None else "one after the other" if stay == 1 else f"stays with {stay:g}"


def show_text(stream: Stream, exposed: NDArray[np.bool_] | None = None) -> str:
    """The stream in a few lines for a terminal."""
    known = known_labels(stream.label)
    runs = class_runs(known)
    quartile = np.percentile(runs, [25, 50, 75])
    per_batch = stream.classes_per_batch
    visits = list(dict.fromkeys(stream.domains))
    shown = ", ".join(visits[:20]) + (", ..." if len(visits) > 20 else "")
    times = f" in {len(stream.domains)} visits" if len(visits) < len(stream.domains) else ""
    return "\n".join(
        [
            f"stream       {title(stream.spec)}",
            f"hash         {stream.hash}",
            f"samples      {stream.num_samples} in {len(stream)} batches of up to {stream.batch_size}",
            *_clip_lines(stream),
            f"classes      {len(np.unique(known))} of {stream.num_classes}",
            *_foreign_lines(stream),
            f"domains      {len(visits)}{times}: {shown}",
            f"class runs   {len(runs)}; length mean {runs.mean():.1f}, quartiles "
            f"{quartile[0]:g} / {quartile[1]:g} / {quartile[2]:g}, longest {runs.max()}",
            f"classes in a batch   mean {per_batch.mean():.1f}, fewest {per_batch.min()}, most {per_batch.max()}",
            *_change_lines(stream),
            *([] if exposed is None else [f"adapted to   {exposed.sum()} of {len(stream)} batches; all are scored"]),
            *(f"note         {note}" for note in stream.notes),
        ]
    )


def _change_lines(stream: Stream) -> list[str]:
    """Sizes of classes and runs of domains, where they are of interest."""
    found = []
    count = np.bincount(known_labels(stream.label), minlength=stream.num_classes)
    if stream.spec.class_imbalance > 1:
        found.append(f"class sizes  {count.max()} at most, {count.min()} at least")
    if interleaved(stream):
        runs = class_runs(stream.domain)
        sizes = np.bincount(stream.domain, minlength=len(stream.domains))
        found.append(f"domain runs  {len(runs)}; length mean {runs.mean():.1f}, longest {runs.max()}")
        found.append(f"domain sizes {sizes.max()} at most, {sizes.min()} at least")
    return found


def _foreign_lines(stream: Stream) -> list[str]:
    count = int((stream.label == FOREIGN).sum())
    return [f"foreign      {count} samples of no class, between the others"] if count else []


def _clip_lines(stream: Stream) -> list[str]:
    if not hasattr(stream.dataset, "clips"):
        return []
    lengths = np.diff(np.append(stream.clip_starts, stream.num_samples))
    return [f"clips        {len(lengths)} of {lengths.min()} to {lengths.max()} frames, one after the other"]
