"""Controls: named rows that no published table has, and what each of them makes of a spec."""

from typing import TYPE_CHECKING, Any

from gotta.core.true_labels import TRUE_LABELS
from gotta.experiment.spec.sections import FIELDS, MemorySpec, own_method
from gotta.methods import Method

if TYPE_CHECKING:
    from gotta.experiment.spec.run_spec import RunSpec

CONTROLS = {  # names, and what each of them is
    "running_statistics": "no memory; the method predicts with running statistics that the batches move",
    "same_samples": "no memory, and as many samples per step as the rows with a memory",
    "true_kcenter": "a memory that knows the true labels: k-centre within each class",
    "true_cstu": "the same with RoTTA's rule, CSTU",
    "true_pbrs": "the same with NOTE's rule, PBRS",
    "domain_statistics": "no memory; the statistics of each whole domain, known beforehand: the limit of statistics",
}


def apply_control(spec: "RunSpec") -> "RunSpec":
    """The spec as its control has it, if it is one; each keeps the steps of the memory rows it stands beside."""
    if spec.control is None:
        return spec
    name = spec.control if spec.control in TRUE_LABELS else "none"
    bare = spec.memory.model_dump(include=set(FIELDS["memory"])) | {"name": name}
    changes: dict[str, Any] = {"memory": MemorySpec.model_validate(bare)}
    if spec.control == "domain_statistics":
        changes["method"] = spec.method.model_copy(update={"statistics": "source"})
    if spec.control == "running_statistics":
        rate = spec.method.rate or (own_method(spec.method) or Method).paired.rate
        running = {"statistics": "running", "fed_by": "batch", "rate": rate}
        changes["method"] = spec.method.model_copy(update=running)
    return spec.model_copy(update=changes)
