"""Workers are forked from a process that has imported what they need, begun before this one imports it itself."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import BaseContext
from types import ModuleType

# Elsewhere a fork is missing (Windows), or not safe once system libraries are loaded (macOS).
START = "forkserver" if sys.platform == "linux" else "spawn"
# torch imports its compiler, two seconds of it, when the first optimizer is made.
NEEDED = ["gotta.experiment.sweep.engines.local", "torch._dynamo"]


def workers_context() -> BaseContext:
    """How worker processes are started here."""
    context = multiprocessing.get_context(START)
    if START == "forkserver":
        context.set_forkserver_preload(NEEDED)
    return context


@contextmanager
def without_main() -> Iterator[None]:
    """Start processes here that do not import the script which started this one: a script that calls `gotta.bench`
    at its top level would call it again in every worker."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def begin(threads: int) -> None:
    """Let the process that workers are forked from import, beside whatever this one does until it needs them."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    if workers_context().get_start_method() != "forkserver":
        return
    resource_tracker.ensure_running()  # which the next would do, and let Ctrl-C through again
    # Ctrl-C is for this process, which then stops the others.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
