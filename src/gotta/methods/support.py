"""What a prediction can lean on besides the network: the memory's rows and the batch itself, with their features."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from gotta.errors import GottaError
from gotta.heads import find_head
from gotta.methods.method import Method
from gotta.methods.parts.features import check_features
from gotta.statistics.normalization import widen
from gotta.types import MemoryBatch, Prediction


class OfFeatures(Method):
    """Works on features; the network stays as it is. The memory goes by what the network says itself."""

    native_labels = "raw"
    needs_features = True

    def check(self, model: nn.Module) -> None:
        check_features(model, self.name)

    @torch.no_grad()
    def classify(self, features: Tensor) -> Tensor:
        """The logits of features [N, D]."""
        classifier = find_classifier(self.predictor, features.shape[1])
        if classifier is None:
            raise GottaError(f"method '{self.name}' needs a linear classifier at the end of the network.")
        found = classifier(features)
        return widen(found) if isinstance(classifier, nn.Linear) else self._read(found)


class Reader(OfFeatures):
    """A method that only reads: the memory's rows change predictions."""

    reads_memory = True
    recalled: tuple[Tensor, Tensor] | None = None  # of the rows, where a thread behind has asked already

    def gather(self, own: Prediction) -> tuple[Tensor, Tensor]:
        """Logits [N, C] and features [N, D] of the memory's rows and of the batch that is predicted, in this order."""
        assert own.features is not None
        logits, features, rows = own.logits, own.features.to(own.logits), self.recalled or self.recall_held()
        if rows is None:
            return logits, features
        said, found = rows
        return torch.cat([said.to(logits), logits]), torch.cat([found.to(logits), features])

    def recall_held(self) -> tuple[Tensor, Tensor] | None:
        """The same of the rows alone, if there are any."""
        held = self.held()
        return None if held is None else self.recall(held)

    def recall(self, held: MemoryBatch) -> tuple[Tensor, Tensor]:
        """Logits and features of stored rows: from the features that are stored with them, or by a forward."""
        if self.embed == "features" and find_classifier(self.predictor, held.embedding.shape[1]) is not None:
            features = held.embedding.to(next(self.predictor.parameters()))
            return self.classify(features), features
        logits, found = self.consult(held.x)
        assert found is not None
        return logits, found


def find_classifier(net: nn.Module, width: int) -> Callable[[Tensor], Tensor] | None:
    """What makes logits of features [N, width], if known."""
    if hasattr(net, "classify"):
        return net.classify  # type: ignore[return-value]
    head = find_head(net)
    return head if isinstance(head, nn.Linear) and head.in_features == width else None


def most_certain(label: Tensor, uncertain: Tensor, count: int) -> Tensor:
    """Which samples are among the `count` least uncertain of their class; of equal ones the earlier. [N] bool."""
    order = uncertain.argsort(stable=True)
    order = order[label[order].argsort(stable=True)]  # by class, then by uncertainty
    classes = label[order]
    rank = torch.arange(len(order), device=label.device) - torch.searchsorted(classes, classes)
    kept = torch.zeros_like(label, dtype=torch.bool)
    kept[order] = rank < count
    return kept
