"""Adapted models on the Hugging Face hub: what `save` writes, with a card, by the hub's own mixin (extra `hub`)."""

from pathlib import Path
from typing import Any

from torch import nn

from gotta import __version__
from gotta.core.adapted import Adapted
from gotta.core.build import load
from gotta.errors import import_extra, one_error

__all__ = ["from_pretrained", "save_pretrained"]

FILES = ["config.json", "state.json", "tensors-*.safetensors"]  # all that is fetched of a repository


def save_pretrained(model: Adapted, folder: str | Path, **hub: Any) -> Any:
    """Save an adapted model as `model.save(folder)` does, with a card and a `config.json`.

    `hub` goes to the mixin: `push_to_hub=True, repo_id="me/mine"` publishes the folder, whose state has samples in it
    if the model has a memory.
    """
    about: Any = {"library_name": "gotta-tta", "tags": ["test-time-adaptation"]}

    class OnHub(_library().ModelHubMixin, **about):  # type: ignore[call-arg,misc,name-defined,unused-ignore]
        def _save_pretrained(self, save_directory: Path) -> None:
            model.save(save_directory)

    kept = OnHub()
    kept._hub_mixin_config = {"gotta": __version__, "method": type(model.method).__name__}
    return kept.save_pretrained(folder, **hub)


def from_pretrained(name: str | Path, model: nn.Module, *, revision: str | None = None, **again: Any) -> Adapted:
    """Go on from a saved state in a folder, or in a repository of the hub, with the network that was adapted.

    Like `load`: nothing is unpickled, and no code that the state names is run. `again` as there.
    """
    hub = _library()
    with one_error(f"'{name}' cannot be had from the hub"):
        there = Path(name).is_dir()
        folder = name if there else hub.snapshot_download(str(name), allow_patterns=FILES, revision=revision)
        return load(folder, model, **again)


def _library() -> Any:
    return import_extra("huggingface_hub", "the hub needs its library", "hub")
