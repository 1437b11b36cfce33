"""Pages of the site that are made from the code: the API, the commands, and a card for each memory and method."""

import shutil
from pathlib import Path

from generate.api import api_pages
from generate.cards import card_pages
from generate.commands import command_pages


def write_pages(folder: Path) -> None:
    """Write every generated page, and leave none of an earlier state."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in {**api_pages(), **command_pages(), **card_pages()}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
