"""Pages of the site that are made from code and results: API, commands, leaderboard, cards of memories and methods."""

import shutil
from pathlib import Path

from generate.api import api_pages
from generate.board import write_board
from generate.cards import RESULTS, card_pages
from generate.commands import command_pages


def write_pages(folder: Path) -> None:
    """Write every generated page, and leave none of an earlier state."""
    shutil.rmtree(folder, ignore_errors=True)
    board = {"leaderboard.md": write_board(RESULTS, folder / "extra")}
    for name, text in {**api_pages(), **command_pages(), **card_pages(), **board}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
