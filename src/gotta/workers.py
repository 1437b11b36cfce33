"""Work done ahead of its use, in threads or processes: in order, a bounded number of results at a time."""

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import connection, current_process, get_context, parent_process
from typing import Any, TypeVar

from gotta.errors import GottaError

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_in_order(
    work: Callable[[Any, Task], Result], shared: Any, tasks: Iterable[Task], workers: int, processes: bool = False
) -> Generator[Result]:
    """`work(shared, task)` of each task, in their order; with no workers when asked for, else up to two each ahead.

    Processes receive `shared` once. An error of the work is raised here, in its turn; closing the iterator, an error
    and Ctrl-C all stop the workers.
    """
    if workers < 0:
        raise GottaError(f"workers={workers} is negative. Expected 0 or more.")
    if workers == 0:
        yield from (work(shared, task) for task in tasks)
        return
    pool: Executor = ThreadPoolExecutor(workers, "gotta-ahead")
    call: Callable[[Task], Result] = partial(work, shared)
    if processes and not current_process().daemon:  # a worker of a sweep may have no children
        # Spawned, because forking a process that has threads can deadlock.
        pool, call = ProcessPoolExecutor(workers, get_context("spawn"), _begin, (work, shared)), _work
    waiting: deque[Future[Result]] = deque()
    try:
        for task in tasks:
            waiting.append(pool.submit(call, task))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise GottaError(
            'a worker process died. Each needs memory, and the script `if __name__ == "__main__":`. Or use no workers.'
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


_given: dict[str, Any] = {}


def _begin(work: Callable[[Any, Any], Any], shared: Any) -> None:
    """What a worker process does first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then stops us
    end_with_parent()
    _given.update(work=work, shared=shared)


def end_with_parent() -> None:
    """End with the parent: one that is killed cannot stop its workers."""
    if (parent := parent_process()) is not None:
        threading.Thread(target=_watch, args=(parent.sentinel,), daemon=True).start()


def _watch(sentinel: int) -> None:
    connection.wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)


def _work(task: Any) -> Any:
    return _given["work"](_given["shared"], task)
