"""`gotta advise`: which method and memory for a network and a stream?"""

from pathlib import Path
from typing import Any

from gotta.cli.options import AsJson, show_answer
from gotta.cli.terminal import Console
from gotta.errors import GottaError

OF_THE_REGIME = ("batch_size", "reset")  # settings that may be given without their section, as those of the stream


def advise(
    model: str,
    settings: list[str] | None = None,
    data: str = "",
    weights: str | None = None,
    budget: float | None = None,
    labels: bool = True,
    out: Path = Path("runs/advise"),
    jobs: int = 1,
    device: str = "cpu",
    as_json: AsJson = False,
) -> None:
    """Run the candidates on your network and your stream, and name the line of gotta.adapt that did best.

    With labels they are judged by accuracy, without them by signs of it. The answer has its margin and its cost.

    Examples:

    - `gotta advise my_nets:build --data folder ./photos size=64` : your network, your images in <class>/<image>

    - `gotta advise resnet20 order=runs run_length=20 batch_size=1 --budget 2` : on bundled images

    Arguments:
        model: module:function that builds the network, or a name of gotta's.
        settings: The path of the data, and what the stream is like: order=iid, batch_size=16, ...

    Options:
        data: Your data set (gotta ls datasets), such as folder.
        weights: A checkpoint for a name of gotta's (a whole path, or one in the data home).
        budget: Forwards that may be spent on a sample, a backward being two.
        labels: Whether the data has labels to go by.
        out: Where the runs are kept.
        jobs: Candidates at a time.
        device: Where the network runs: cpu, cuda, mps.
    """
    from gotta.workflow.advice import advise as measure

    network: Any = {"name": model, **({} if weights is None else {"weights": weights})}
    console = Console()

    def tell(event: Any) -> None:
        if event.kind == "finished" and not as_json:
            console.print(f"{event.label}: {event.accuracy:.1f} %" if labels else event.label, style="dim")

    like: Any = {"settings": [_place(text, data) for text in settings or []], "budget": budget, "labels": labels}
    advice = measure(network, data or None, **like, out=out, jobs=jobs, device=device, listen=tell)
    show_answer(advice, as_json)


def _place(text: str, data: str) -> str:
    """A setting with its section: the path and the arguments of the data, the batch size, all else of the stream."""
    name, equals, _ = text.partition("=")
    if not equals:
        if not data:
            raise GottaError(f"'{text}' is not a setting. The path of data needs its kind: --data folder {text}")
        return f"data.path={text}"
    if "." in name:
        return text
    if name in OF_THE_REGIME:
        return f"regime.{text}"
    from gotta.experiment.spec.arguments import list_arguments

    return f"data.{text}" if data and name in (list_arguments("data", data) or ()) else f"stream.{text}"
