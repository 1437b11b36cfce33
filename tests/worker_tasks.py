"""Tasks that a spawned process can import."""

import os

from gotta.errors import GottaError


def double(shared, task):
    return shared * task


def fail_at_three(shared, task):
    if task == 3:
        raise GottaError("three is wrong")
    return task


def whose(shared, task):
    return os.getpid()


def die(shared, task):
    os._exit(3)
