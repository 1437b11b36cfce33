"""`gotta check`: does a memory policy keep the rules?"""

from typing import Annotated

import typer


def check(
    policy: Annotated[str, typer.Argument(help="A memory by name, or module:Class.")],
    examples: Annotated[int, typer.Option(help="Random streams per property.")] = 30,
    seed: Annotated[int, typer.Option(help="Another seed draws other streams.")] = 0,
) -> None:
    """Try a memory policy on random and awkward streams and say which properties hold. Exit code 1 if one does not.

    Example: `gotta check my_module:MyPolicy`
    """
    from gotta.checks.memory import run

    report = run(policy, examples=examples, seed=seed)
    print(report)
    if not report.passed:
        raise typer.Exit(1)
