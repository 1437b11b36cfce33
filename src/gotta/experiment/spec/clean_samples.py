"""Which clean samples a method looks at before the stream: `method: {name: eata, fisher: {data, number, seed}}`."""

from typing import Annotated, Any

from pydantic import Field, ValidationError

from gotta.errors import GottaError
from gotta.experiment.spec.sections import MethodSpec, Section
from gotta.experiment.spec.spec_errors import describe

TAKERS = {"eata": "fisher", "foa": "source_data", "petta": "source_data"}  # the setting that names them, by method
BUNDLED, CIFAR10, CIFAR100 = "bundled", "cifar10-train", "cifar100-train"
USUAL = {  # by data set: training images, none of which is in a stream
    "cifar10-mini": BUNDLED,
    "cifar10-mini-video": BUNDLED,
    "cifar10": CIFAR10,
    "cifar10_c": CIFAR10,
    "cifar100": CIFAR100,
    "cifar100_c": CIFAR100,
}
NUMBER, NUMBER_BUNDLED = 2000, 500


class CleanSamples(Section):
    """`number` training images that are drawn with `seed` from `data`; what is left open is decided by the data set."""

    data: str | None = None  # bundled, cifar10-train, cifar100-train, or a folder or zip of images in the data home
    number: Annotated[int, Field(ge=2)] | None = None
    seed: Annotated[int, Field(ge=0)] = 0


def decide_samples(setting: str, given: Any, data: str) -> CleanSamples:
    """The samples that a spec asks for, for a stream of this data set, with everything decided."""
    try:
        asked = CleanSamples.model_validate({} if given is None else given)
    except ValidationError as error:
        below = f"method.{setting}"
        wrong = [describe(problem, CleanSamples, below=below) for problem in error.errors()]
        raise GottaError(" ".join(wrong)) from None
    source = asked.data or USUAL.get(data)
    if source is None:
        told = f"no clean samples are known for data set '{data}'. Name a folder or zip of <class>/<image>"
        raise GottaError(f"{told} in the data home: method.{setting}.data=NAME.")
    number = asked.number or (NUMBER_BUNDLED if source == BUNDLED else NUMBER)
    return asked.model_copy(update={"data": source, "number": number})


def asks_for_samples(method: MethodSpec) -> str | None:
    """The setting that names clean samples, if a method has it here."""
    setting = TAKERS.get(method.name)
    return setting if setting in method.arguments else None


def without_samples(method: MethodSpec) -> dict[str, Any]:
    """The arguments that a method can be built with before any image was read."""
    asked = asks_for_samples(method)
    return {name: value for name, value in method.arguments.items() if name != asked}
