"""The name of a run: the hash of its identity."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

FORMAT = 3  # of a spec and of a stored run


def run_id(identity: Mapping[str, Any]) -> str:
    """The content as a name: the same for the same content on every machine."""
    canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]
