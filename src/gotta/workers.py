"""Work done ahead of its use, in threads or processes: in order, a bounded number of results at a time."""

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
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
    pool, submit = _start(work, shared, workers, processes and may_start_processes())
    waiting: deque[Future[Result]] = deque()
    try:
        for task in tasks:
            waiting.append(submit(task))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise GottaError(
            "a worker process died. Expected enough memory for each and a script guarded by "
            'if __name__ == "__main__"; or use no worker processes.'
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def may_start_processes() -> bool:
    """Whether this process may have children: the workers of a sweep may not."""
    return not current_process().daemon


def _start(
    work: Callable[[Any, Task], Result], shared: Any, workers: int, processes: bool
) -> tuple[Executor, Callable[[Task], "Future[Result]"]]:
    if not processes:
        threads = ThreadPoolExecutor(workers, "gotta-ahead")
        return threads, lambda task: threads.submit(work, shared, task)
    # Spawned, because forking a process that has threads can deadlock.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _begin, (work, shared))
    return pool, lambda task: pool.submit(_work, task)


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
