"""`gotta advise`: which method and memory for a network and a stream?"""

from typing import Annotated

import typer


def advise(
    model: Annotated[
        str, typer.Argument(help="module:function that builds the model, module:model, or a name of gotta's.")
    ],
    settings: Annotated[
        list[str] | None, typer.Argument(help="Settings of a stream as name=value, such as gamma=0.1 batch_size=16.")
    ] = None,
    data: Annotated[str, typer.Option(help="The data set of that stream (gotta ls datasets).")] = "cifar10-mini",
    weights: Annotated[
        str | None, typer.Option(help="A checkpoint for a name of gotta's (a whole path, or one in the data home).")
    ] = None,
    run_length: Annotated[
        float | None, typer.Option(help="How many samples of one class come in a row, on average.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Samples in a batch. Default: 64, or the stream's.")] = None,
    budget: Annotated[
        float | None, typer.Option(help="Forwards that may be spent on a sample, a backward being two.")
    ] = None,
) -> None:
    """Say which method and memory were best in the measured situation nearest to yours.

    It looks at the network's normalisation layers, at the length of class runs, the batch size and the budget. What was
    measured: docs/choosing.md.

    Examples:

    - `gotta advise my_module:build_model --run-length 20 --batch-size 1`

    - `gotta advise resnet20 order=dirichlet gamma=0.1 --budget 2`
    """
    from gotta.advice import advise as find_advice
    from gotta.cli.commands.doctor import find_model
    from gotta.data import dataset
    from gotta.experiment.spec.given import read_settings
    from gotta.streams import Stream, StreamSpec
    from gotta.streams.order import class_runs

    if settings:
        stream = Stream(dataset(data), StreamSpec.of(**read_settings(settings)))
        run_length = run_length or float(class_runs(stream.label).mean())
        batch_size = batch_size or stream.batch_size
    print(find_advice(find_model(model, weights), run_length, 64 if batch_size is None else batch_size, budget))
