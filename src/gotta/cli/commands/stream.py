"""`gotta stream`: look at a stream before running anything on it."""

from pathlib import Path


def show(
    settings: list[str] | None = None,
    data: str = "cifar10-mini",
    data_argument: list[str] | None = None,
    out: Path = Path("stream.png"),
) -> None:
    """Print a stream's class-run lengths and draw it: class over time, domains as bands.

    Examples:

    - `gotta stream show order=dirichlet gamma=0.1 per_class=25`

    - `gotta stream show per_class=25 expose_every=4`, with the batches that a method adapts to in dark

    - `gotta stream show order=iid schedule=gradual domain_order=snow,fog per_class=5 --out gradual.png`

    - `gotta stream show order=markov schedule=mixed class_stay=0.95 domain_stay=0.85 per_class=20` : chains

    - `gotta stream show order=iid schedule=cdc per_class=20` : domains in pieces of drawn lengths

    Arguments:
        settings: Settings of the stream as name=value, such as gamma=0.1 schedule=mixed; also expose_every=4.

    Options:
        data: A data set (gotta ls datasets).
        data_argument: An argument of the data set as name=value; may be repeated.
        out: The picture to write.
    """
    from gotta.core.exposure import SETTINGS, Exposure
    from gotta.data import dataset
    from gotta.experiment.spec.text import read_settings, split_settings
    from gotta.experiment.spec.user_parts import permit
    from gotta.show.stream_picture import draw, show_text
    from gotta.streams import Stream, StreamSpec

    read = read_settings(settings or [])
    exposure = Exposure(**{name: read.pop(name) for name in SETTINGS if name in read})
    spec = StreamSpec.of(**read)
    permit({"stream": split_settings(settings or [])[1]})  # what a file names is not to be imported
    stream = Stream(dataset(data, **read_settings(data_argument or [])), spec)
    exposed = exposure.steps(stream, spec.seed) if exposure.is_limited else None
    print(show_text(stream, exposed))
    draw(stream, out, exposed)
    print(f"Picture: {out}")
