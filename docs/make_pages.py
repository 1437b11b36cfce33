"""The pages of the docs that are made from runs alone: `python docs/make_pages.py [NAME...]`, all without a name."""

import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMES = (
    "tables",
    "best_rates",
    "choosing",
    "deskew",
    "on_top",
    "when",
    "mini",
    "readme",
    "paper",
    "study",
    "left_open",
    "correlated",
    "readings",
    "texts",
    "teaser",
    "latency",
    "measured",
)  # one file each


def make(name: str) -> dict[Path, str]:
    """The files that a page consists of, by path, with what they should hold."""
    found: dict[Path, str] = import_module(f"pages.{name}").make(ROOT)
    return found


def main(names: list[str]) -> None:
    for name in names or NAMES:
        for path, text in make(name).items():
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
