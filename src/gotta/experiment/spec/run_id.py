"""The name of a run: the hash of its spec and of what else it was made from."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

FORMAT = 2  # of a stored run. The first had no identity and no checksums


def run_id(spec: Mapping[str, Any], identity: Mapping[str, Any]) -> str:
    """The content as a name: the same for the same content on every machine."""
    return _hash({"spec": spec, "format": identity.get("format"), "parts": identity.get("parts")})


def earlier_id(spec: Mapping[str, Any]) -> str:
    """The name that a run of the first format has."""
    content = dict(spec)
    if content.get("guard") is None:
        content.pop("guard", None)  # there were runs before there was a guard
    return _hash(content)


def _hash(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]
