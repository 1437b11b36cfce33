"""Which process on which machine, and whether it still lives."""

import hashlib
import os
import platform
from functools import cache
from pathlib import Path


@cache
def machine() -> str:
    """A name for what shares process ids with this process: the host since its start, and inside it the container."""
    parts = [platform.node(), _text("/proc/sys/kernel/random/boot_id")]
    try:
        parts.append(os.readlink("/proc/self/ns/pid"))
    except OSError:  # no such thing here
        parts.append("")
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:8]


def start_time(pid: int) -> str:
    """When a process began, in the kernel's ticks, so that a process id used again is noticed; '' if unknown."""
    return "".join(_fields(pid)[19:20])


def alive(pid: int, since: str = "") -> bool:
    """Whether a process of this machine lives; a killed one that nobody has collected yet does not."""
    if os.name == "nt":  # signal 0 would interrupt the process there
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    fields = _fields(pid)
    if fields and fields[0] in ("Z", "X"):
        return False
    return not since or start_time(pid) in ("", since)


def _fields(pid: int) -> list[str]:
    """What the kernel says of a process from its state on; the name before may hold anything."""
    return _text(f"/proc/{pid}/stat").rpartition(") ")[2].split()


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
