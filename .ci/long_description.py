"""The README as an index shows it: links and pictures lead to the repository, since there are no files beside it."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#|mailto:)([^)]+)\)")


def make_absolute(text: str, home: str) -> str:
    """Markdown whose links into the repository are whole addresses; pictures by their raw files."""

    def whole(found: re.Match[str]) -> str:
        kind = "raw" if found[1] else "blob"
        return f"{found[1]}[{found[2]}]({home}/{kind}/main/{found[3]})"

    return LINK.sub(whole, text)


class LongDescription(MetadataHookInterface):
    def update(self, metadata: dict) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        home = metadata["urls"]["Homepage"]
        metadata["readme"] = {"content-type": "text/markdown", "text": make_absolute(text, home)}
