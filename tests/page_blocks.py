"""The blocks of code and the commands of a Markdown page, with the marks that say why one is not run."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
MARK = re.compile(r"<!-- (not run|only parsed): (\S.*) -->")
FENCE = re.compile(r"^```(\S*)(?: .*)?$")  # of `{toctree}` and its like, which are no code, too
SHELL = ("", "sh", "indented")
COMMENT = re.compile(r"\s{2,}#.*$")
OTHER = re.compile(r"^(?:make|python3?|pip|npm|git|source|pytest|docker|\w+=\S+) ")  # commands that are not gotta's


@dataclass(frozen=True)
class Block:
    """A block of a page. `mark` is `not run`, `only parsed`, or nothing: then it is run."""

    page: str
    line: int
    language: str
    text: str
    mark: str = ""
    reason: str = ""

    @property
    def commands(self) -> list[str]:
        """The calls of gotta in it, one by one and without comments."""
        if self.language not in SHELL:
            return []
        lines = [COMMENT.sub("", line).strip() for line in self.text.splitlines()]
        return [part for line in lines if line.startswith("gotta ") for part in line.split(" && ")]

    @property
    def others(self) -> list[str]:
        """The calls of other programs in it."""
        return [line for line in self.text.splitlines() if self.language in SHELL and OTHER.match(line.strip())]

    @property
    def file(self) -> str:
        """The file that a block of Python is the content of, by its first line."""
        found = re.match(r"# (\w+\.py)\n", self.text)
        return found[1] if found and self.language == "python" else ""


def pages() -> list[str]:
    """Every page that people read, by its path in the repository."""
    made = {"_build", "reference"}
    found = [path for path in (ROOT / "docs").rglob("*.md") if not made & set(path.relative_to(ROOT).parts)]
    return sorted(path.relative_to(ROOT).as_posix() for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *found])


def read_blocks(page: str, text: str | None = None) -> list[Block]:
    """Fenced blocks and indented commands, in their order."""
    lines = ((ROOT / page).read_text(encoding="utf-8") if text is None else text).splitlines()
    found, mark, k = [], ("", ""), 0
    while k < len(lines):
        line = lines[k]
        if fence := FENCE.match(line):
            end = lines.index("```", k + 1)
            if not fence[1].startswith("{"):
                found.append(Block(page, k + 1, fence[1], "\n".join(lines[k + 1 : end]) + "\n", *mark))
            mark, k = ("", ""), end
        elif line.startswith("    gotta "):
            found.append(Block(page, k + 1, "indented", line + "\n", *mark))
        elif seen := MARK.fullmatch(line.strip()):
            mark = seen[1], seen[2]
        elif line.strip() and not line.startswith("    "):
            mark = ("", "")
        k += 1
    return found


def inline_commands(page: str) -> list[str]:
    """Commands in the middle of a sentence, such as `gotta ls`."""
    text = (ROOT / page).read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return [" ".join(found.split()) for found in re.findall(r"`(gotta [^`]+)`", prose)]
