"""`gotta doctor`: what is a model like, and is anything wrong with it?"""

import typer

from gotta.cli.options import AsJson, show_answer


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
    from gotta.experiment.run.loaded import find_weights
    from gotta.models import load
    from gotta.models.own import build_network, is_own

    own = is_own(model) and weights is None
    report = examine(build_network(model) if own else load(model, find_weights(weights)), tried=method)
    show_answer({**vars(report), "problems": report.problems}, as_json, str(report))
    if report.problems:
        raise typer.Exit(1)
