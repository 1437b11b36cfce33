"""Documented modules that have moved: importing the old name gives the new module."""

import importlib
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

RENAMED = {
    "gotta.data.make": "gotta.data.local.make_cifar_c",
    "gotta.guard": "gotta.core.guard",
    "gotta.loop": "gotta.core.loop",
    "gotta.methods.losses": "gotta.methods.parts.losses",
    "gotta.methods.params": "gotta.methods.parts.params",
}


class Renamed(MetaPathFinder, Loader):
    """Finds modules by their former names; their functions and classes are those of the present module."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in RENAMED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(vars(importlib.import_module(RENAMED[module.__name__])))
