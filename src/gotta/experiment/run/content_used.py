"""Which data and weights a run used, by their content: a run's name tells what they are called, and files change."""

from pathlib import Path

from gotta.data.content import content_hash
from gotta.experiment.run.model import find_head, find_weights
from gotta.experiment.spec.run_spec import RunSpec
from gotta.files import digest
from gotta.streams import Stream

WEIGHTS, HEAD, DATA = "weights_sha256", "head_sha256", "data_sha256"
KEPT = "data-hashes.json"  # in a store: what data files were hashed to, by their sizes and dates


def inputs_used(spec: RunSpec, stream: Stream, kept: Path | None = None) -> dict[str, str]:
    """What a summary says of them; nothing of bundled or random weights, which their name tells."""
    return {DATA: content_hash(stream.dataset, stream.domains, kept), **weights_used(spec)}


def weights_used(spec: RunSpec) -> dict[str, str]:
    own = spec.model.name if spec.model.name.endswith(".safetensors") else None
    path = find_weights(spec.model.weights) if own is None else Path(own)
    files = {WEIGHTS: path, HEAD: find_head(spec.model.head)}
    return {name: digest(file) for name, file in files.items() if isinstance(file, Path) and file.is_file()}
