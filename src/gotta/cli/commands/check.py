"""`gotta check`: does a part keep the rules of its kind?"""

from typing import Annotated

import typer


def check(
    part: Annotated[str, typer.Argument(help="A method, memory, statistics, prior, data set, order or schedule.")],
    settings: Annotated[list[str] | None, typer.Argument(help="Its settings as name=value.")] = None,
    kind: Annotated[str, typer.Option(help="Which kind is meant, where several have the name.")] = "",
    examples: Annotated[
        int | None, typer.Option(min=1, help="Random cases per property. Default: by the kind.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed draws other cases.")] = 0,
) -> None:
    """Try a part on random and awkward cases and say which properties of its kind hold. Exit code 1 if one does not.

    Examples:

    - `gotta check my_module:MyPolicy`

    - `gotta check my_module:MyMethod lr=1e-4`

    - `gotta check my_module:MyData folder=photos`

    - `gotta check patient`

    - `gotta check note --kind order`
    """
    from gotta.checks.parts import check_part
    from gotta.experiment.spec.text import dotted as parse_settings

    report = check_part(part, kind, examples=examples, seed=seed, settings=parse_settings(settings or []))
    print(report)
    if not report.passed:
        raise typer.Exit(1)
