"""Adapted models on the Hugging Face hub: what `save` writes, with a card, by the hub's own mixin (extra `hub`)."""

from functools import cache
from pathlib import Path
from typing import Any

from torch import nn

from gotta import __version__
from gotta.core.adapted import Adapted
from gotta.core.build import load
from gotta.errors import import_extra, one_error

FILES = ["state.json", "tensors-*.safetensors"]  # all that is fetched of a repository


def save_pretrained(model: Adapted, folder: str | Path, **hub: Any) -> Any:
    """Save an adapted model as `model.save(folder)` does, with a card and a `config.json`.

    `hub` goes to the mixin: `push_to_hub=True, repo_id="me/mine"` publishes the folder, whose state has samples in it
    if the model has a memory.
    """
    kept = _on_hub()(model)
    kept._hub_mixin_config = {"gotta": __version__, "method": type(model.method).__name__}
    return kept.save_pretrained(folder, **hub)


def from_pretrained(name: str | Path, model: nn.Module, *, revision: str | None = None, **again: Any) -> Adapted:
    """Go on from a saved state in a folder, or in a repository of the hub, with the network that was adapted.

    Like `load`: nothing is unpickled, and no code that the state names is run. `again` as there.
    """
    with one_error(f"'{name}' cannot be had from the hub"):
        adapted: Adapted = _on_hub().from_pretrained(str(name), revision=revision, network=model, again=again).adapted
    return adapted


@cache
def _on_hub() -> Any:
    hub = import_extra("huggingface_hub", "the hub needs its library", "hub")
    about: Any = {"library_name": "gotta-tta", "tags": ["test-time-adaptation"]}

    class OnHub(hub.ModelHubMixin, **about):  # type: ignore[call-arg,misc,name-defined,unused-ignore]
        def __init__(self, adapted: Adapted) -> None:
            self.adapted = adapted

        def _save_pretrained(self, save_directory: Path) -> None:
            self.adapted.save(save_directory)

        @classmethod
        def _from_pretrained(  # type: ignore[override,unused-ignore]
            cls, *, model_id: str, network: nn.Module, again: Any, **where: Any
        ) -> "OnHub":
            there = Path(model_id).is_dir()
            folder = model_id if there else hub.snapshot_download(model_id, allow_patterns=FILES, **where)
            return cls(load(folder, network, **again))

    return OnHub
