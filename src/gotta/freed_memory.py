"""Memory that a network gives back after each layer is kept for the next one, instead of going back to the system.

Activations are megabytes, which glibc takes from the system and returns again and again; the system clears each page
before it hands it out. That was a fifth of a forward of small images. No number depends on it.
"""

import ctypes
import os
import sys
from functools import cache

TRIM, MMAP = -1, -3  # the names of the two limits in glibc's malloc.h
LARGEST = (256 << 20, 32 << 20)  # bytes of what comes from the heap; older versions take only the second
KEPT = 512 << 20  # unused bytes at the end of the heap that are not given back
CHOSEN_BY_USER = ("GLIBC_TUNABLES", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")


@cache
def keep_freed_memory() -> bool:
    """For processes that run a network over and over. Says whether anything was set: only glibc has these limits, and
    a user who has set them has chosen."""
    if sys.platform != "linux" or any(os.environ.get(name) for name in CHOSEN_BY_USER):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    # The second without the first would be slower than neither.
    return mallopt is not None and any(mallopt(MMAP, size) for size in LARGEST) and bool(mallopt(TRIM, KEPT))
