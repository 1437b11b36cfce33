"""Controls: named rows that no published table has, and what each of them makes of a spec."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gotta.core.loop import TRUE_LABELS
from gotta.experiment.spec.sections import own_method
from gotta.methods import Method

if TYPE_CHECKING:
    from gotta.experiment.spec.run_spec import RunSpec

FORMER = {"oracle": "true_kcenter"}  # controls by the names that they had
CONTROLS = {  # names, and what each of them is
    "running_statistics": "no memory; the method predicts with running statistics that the batches move",
    "same_samples": "no memory, and as many samples per step as the rows with a memory",
    "true_kcenter": "a memory that is told the true labels: k-centre within each class",
    "true_cstu": "the same with RoTTA's rule, CSTU",
    "true_pbrs": "the same with NOTE's rule, PBRS",
    "domain_statistics": "no memory; the statistics of each whole domain, known beforehand: the limit of statistics",
}


def rename_control(given: dict[str, Any]) -> dict[str, Any]:
    """The same with the names that controls have now."""
    memory, control = given.get("memory"), given.get("control")
    if isinstance(control, str) and control in FORMER:
        given = {**given, "control": FORMER[control]}
        if isinstance(memory, Mapping) and memory.get("name") == control:
            given["memory"] = {**memory, "name": FORMER[control]}
    return given


def apply_control(spec: "RunSpec") -> "RunSpec":
    """The spec as its control has it, if it is one; each keeps the steps of the memory rows it stands beside."""
    if spec.control is None:
        return spec
    name = spec.control if spec.control in TRUE_LABELS else "none"
    changes: dict[str, Any] = {"memory": spec.memory.model_copy(update={"name": name, "arguments": {}})}
    if spec.control == "domain_statistics":
        changes["method"] = spec.method.model_copy(update={"statistics": "source"})
    if spec.control == "running_statistics":
        rate = spec.method.rate or (own_method(spec.method) or Method).paired.rate
        running = {"statistics": "running", "fed_by": "batch", "rate": rate}
        changes["method"] = spec.method.model_copy(update=running)
    return spec.model_copy(update=changes)
