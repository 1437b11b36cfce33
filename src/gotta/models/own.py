"""Networks of the caller's own: `module:function`, which builds one, `module:Class`, or `module:network`."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from gotta.errors import GottaError
from gotta.models.backbone import Backbone, Input
from gotta.models.foreign import Foreign, is_foreign, last_linear
from gotta.registry import import_named
from gotta.seeds import torch_generator


class Own(Foreign):
    """The caller's network. It may flatten its maps with `view`, so its images come with their channels first."""

    def normalize(self, x: Tensor) -> Tensor:
        return super().normalize(x).contiguous()


def is_own(name: str) -> bool:
    return ":" in name and not is_foreign(name)


def check(name: str) -> None:
    """Complain of what cannot be meant, without importing anything."""
    module, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), attribute)):
        raise GottaError(f"model '{name}' is not the name of a network. Expected module:function, such as mine:build.")


@contextmanager
def drawing(seed: int, name: str = "weights") -> Iterator[None]:
    """What is drawn here the seed decides; the caller's generator must not notice."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_generator(seed, name).initial_seed())
        yield


def find(name: str) -> Any:
    """What the name stands for, imported and not yet called: a network, a class of networks, or a function."""
    with drawing(0):  # a module may draw weights when it is imported, in whichever process that is
        found = import_named("model", name)
    if not callable(found) or (isinstance(found, type) and not issubclass(found, nn.Module)):
        raise _gives_none(name, TypeError(f"it is {found!r}"))
    return found


def build_network(name: str, num_classes: int | None = None) -> nn.Module:
    """What the caller's function gives, or the network itself. A function that asks for `num_classes` receives it."""
    found = find(name)
    try:
        network: Any = deepcopy(found) if isinstance(found, nn.Module) else found(**_asked(found, num_classes))
    except (Exception, SystemExit) as error:
        raise _gives_none(name, error) from error
    if not isinstance(network, nn.Module):
        raise GottaError(f"'{name}' gives a {type(network).__name__}. Expected a torch.nn.Module.")
    return network


def _gives_none(name: str, error: BaseException) -> GottaError:
    return GottaError(
        f"'{name}' gives no model: {type(error).__name__}: {error}. Expected module:function, importable from here, "
        "that returns a torch.nn.Module."
    )


def build(name: str, num_classes: int | None) -> Backbone:
    """The caller's network behind gotta's contract: it takes images from 0 to 1 unless preprocessing is named."""
    network = build_network(name, num_classes)
    if isinstance(network, Backbone):
        return network
    return Own(network, last_linear(network), Input(), _count_classes(name, network, num_classes))


def _count_classes(name: str, network: nn.Module, asked: int | None) -> int:
    told = getattr(network, "num_classes", None)
    if isinstance(told, int):
        return told
    widths = [module.out_features for module in network.modules() if isinstance(module, nn.Linear)]
    if asked and (asked in widths or not widths):
        return asked
    if not widths:
        raise GottaError(f"'{name}' does not tell its number of classes. Give the network an attribute num_classes.")
    return widths[-1]


def _asked(function: Callable[..., Any], num_classes: int | None) -> dict[str, int]:
    with suppress(ValueError):  # functions that are not written in Python do not tell
        takes = "num_classes" in inspect.signature(function).parameters
        return {"num_classes": num_classes} if takes and num_classes else {}
    return {}
