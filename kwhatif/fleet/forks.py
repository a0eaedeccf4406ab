"""Tasks in forks of this process, which begin with all that it knows: worth it for tasks of a tenth of a second.

Where a fork is not safe, or there is one core, the tasks run here, one after the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, TypeVar

from kwhatif.fleet.executors import can_fork, cores_here, follow_parent
from kwhatif.progress import use_listener

T = TypeVar("T")

_tasks: Sequence[Callable[[], object]] = ()
"""In a fork: the tasks, of which it is handed the numbers."""


def run_in_forks(tasks: Sequence[Callable[[], T]], processes: int | None = None) -> list[T]:
    """The results of the tasks, in their order; None stands for a process for each core.

    What a task changes is lost with its fork, and its result is pickled. Raises what a task raises.
    """
    global _tasks
    processes = min(len(tasks), processes or cores_here())
    if processes <= 1 or not can_fork():
        return [task() for task in tasks]
    _tasks = tasks
    forks = ProcessPoolExecutor(processes, get_context("fork"), follow_parent, (os.getpid(),))
    try:
        return [future.result() for future in [forks.submit(_run_task, number) for number in range(len(tasks))]]
    finally:
        forks.shutdown(cancel_futures=True)
        _tasks = ()


def _run_task(number: int) -> Any:
    with use_listener(None):
        return _tasks[number]()
