"""`gotta check`: does a part keep the rules of its kind?"""

from typing import Annotated

import typer


def check(
    part: str,
    settings: list[str] | None = None,
    kind: str = "",
    examples: Annotated[int | None, typer.Option(min=1)] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Try a part on random and awkward cases and say which properties of its kind hold. Exit code 1 if one does not.

    Examples:

    - `gotta check my_module:MyPolicy`

    - `gotta check my_module:MyMethod lr=1e-4`

    - `gotta check my_module:MyData folder=photos`

    - `gotta check patient`

    - `gotta check note --kind order`

    Arguments:
        part: A method, memory, statistics, prior, data set, order or schedule.
        settings: Its settings as name=value.

    Options:
        kind: Which kind is meant, where several have the name.
        examples: Random cases per property. Default: by the kind.
        seed: Another seed draws other cases.
    """
    from gotta.checks.parts import check_part
    from gotta.experiment.spec.text import sections as parse_settings

    report = check_part(part, kind, examples=examples, seed=seed, settings=parse_settings(settings or []))
    print(report)
    if not report.passed:
        raise typer.Exit(1)
