"""What gotta can use, the forms it may have on a disk, and where it comes from; the facts are in catalogue.yaml."""

import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gotta.data.home import named_home
from gotta.errors import GottaError, check_known, match_names
from gotta.safe_text import tell_bytes

FACTS = Path(__file__).with_name("catalogue.yaml")


@dataclass(frozen=True)
class Form:
    """One way in which a data set or checkpoint may lie in a folder. Unknown fields are empty."""

    names: tuple[str, ...]  # any of these, relative to the folder
    part: str = ""  # what `--only` calls it
    packed: bool = False  # an archive that has to be unpacked to be used
    into: str = ""  # the folder it is unpacked into, if it does not bring its own
    address: str = ""
    size: int = 0  # of what has an address: bytes, with a checksum
    md5: str = ""
    sha256: str = ""

    @property
    def name(self) -> str:
        return self.names[0]


@dataclass(frozen=True)
class Entry:
    """A data set or checkpoint."""

    name: str
    title: str
    forms: tuple[Form, ...]
    hint: str = ""  # another way to get it
    fetch: tuple[str, ...] = ()  # the parts that are downloaded if nothing else is asked for
    command: str = ""  # what gets it where gotta does not; {home} stands for the data home
    images: int = 0  # in each domain, where that is known without a look at them

    @property
    def is_there(self) -> bool:
        """Whether the data home has a form of it."""
        return any((named_home() / name).exists() for form in self.forms for name in form.names)

    @property
    def downloads(self) -> tuple[Form, ...]:
        return tuple(form for form in self.forms if form.address)


@cache
def catalogue() -> dict[str, Entry]:
    """Everything known, by name."""
    import yaml
    from pydantic import TypeAdapter

    facts = {name: {"name": name, **entry} for name, entry in yaml.safe_load(FACTS.read_text("utf-8")).items()}
    return TypeAdapter(dict[str, Entry]).validate_python(facts)


def entry(name: str) -> Entry:
    """An entry by its name; cifar10-c is cifar10_c."""
    same = {known.replace("_", "-"): one for known, one in catalogue().items()}
    check_known("data set or checkpoint", name.replace("_", "-"), same)
    return same[name.replace("_", "-")]


def usual_names(name: str) -> list[str]:
    """Under which names a data set may lie in the data home, ready to be used."""
    return [each for form in catalogue()[name].forms if not form.packed for each in form.names]


def command_for(name: str) -> str:
    """The command that gets a data set or a file by its name, with its size; nothing if no command is known to."""
    found = [e for e in catalogue().values() if e.name == name or any(name in form.names for form in e.forms)]
    for one in found:
        if one.downloads:
            fetched = [form for form in one.downloads if form.part in one.fetch]
            unpack = " --unpack" if any(form.packed for form in fetched) else ""
            size = tell_bytes(sum(form.size for form in fetched))
            return f"gotta data download {one.name.replace('_', '-')}{unpack}  # {size}"
        if one.command:
            return one.command.format(home=shlex.quote(str(named_home())))
    return ""


def chosen(entry: Entry, only: str = "") -> list[Form]:
    """The archives to download: those that come by default, or the ones a comma list of names or wildcards picks."""
    if not entry.downloads:
        hint = f"{entry.hint[0].upper()}{entry.hint[1:]}." if entry.hint else "Ask its authors."
        raise GottaError(f"{entry.title} has no address to download from. {hint}")
    parts = {name: form for form in entry.downloads for name in (form.part, form.name)}
    names = match_names(f"part of {entry.name}", only.strip(" ,") or ",".join(entry.fetch), parts)
    return list(dict.fromkeys(parts[name] for name in names))
