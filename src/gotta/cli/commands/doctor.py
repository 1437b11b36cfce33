"""`gotta doctor`: what is a model like, and is anything wrong with it?"""

from typing import TYPE_CHECKING

import typer

from gotta.cli.options import AsJson, print_json

if TYPE_CHECKING:
    from torch import nn


def doctor(model: str, weights: str | None = None, method: str = "*", as_json: AsJson = False) -> None:
    """Look a model over: normalisation layers, inputs, outputs, which methods would do nothing, the cost of a step.

    Exit code 1 if something needs fixing. Example: `gotta doctor my_module:build_model`

    Arguments:
        model: module:function that builds the model, module:model, or a name of gotta's.

    Options:
        weights: A checkpoint for a name of gotta's (a whole path, or one in the data home), or 'random'.
        method: Measure a step of these methods only: names or wildcards, by comma.
    """
    from gotta.doctor import examine

    report = examine(find_model(model, weights), tried=method)
    if as_json:
        print_json({**vars(report), "problems": report.problems})
    else:
        print(report)
    if report.problems:
        raise typer.Exit(1)


def find_model(name: str, weights: str | None = None) -> "nn.Module":
    """A model from `module:attribute`, called if it is not a model itself, or one of gotta's own names."""
    from gotta.experiment.run.loaded import find_weights
    from gotta.models import load
    from gotta.models.own import build_network, is_own

    return build_network(name) if is_own(name) and weights is None else load(name, find_weights(weights))
