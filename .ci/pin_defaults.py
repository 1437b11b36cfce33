"""Write `versions.yaml` anew: the version of each part with a hash of its defaults.

A part whose defaults differ from those that are pinned gets the next version, and its runs another name. With --neutral
it keeps its version: that is for a new setting whose default changes nothing.
"""

import sys

import yaml

from gotta.experiment.spec.identity import FILE, hash_defaults, list_parts, read_versions


def pin(neutral: bool) -> dict[str, dict[str, str]]:
    pinned: dict[str, dict[str, str]] = {}
    for kind, name in list_parts():
        now = hash_defaults(kind, name)
        version, was = read_versions().get((kind, name), (1, now))
        pinned.setdefault(kind, {})[name] = f"{version + (was != now and not neutral)} {now}"
    return pinned


if __name__ == "__main__":
    FILE.write_text(yaml.safe_dump(pin("--neutral" in sys.argv)))
