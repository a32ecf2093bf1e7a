"""Seeds side by side: processes that each run one seed at a time, and what becomes of a seed whose process ends."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from aerowire.process.interruption import SIGNALS, Interruption, deferred
from aerowire.tools.simulate.seeds import Result, Task, lost_seed, run_seed

STOP_TIMEOUT_S = 15.0


class Jobs:
    """Up to `count` processes, each of which is given the next task when it is done with one. Ended at the end of a `with`."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._context = get_context("spawn")
        self._processes: dict[Connection, BaseProcess] = {}
        self._under_way: dict[Connection, Task] = {}

    def run(self, tasks: Iterator[Task], is_over: Callable[[], bool]) -> Iterator[Result]:
        """Yield the result of each task as they end; begin no more once `is_over`. The task of a process that is killed is lost."""
        while True:
            while len(self._under_way) < self._count and not is_over() and (task := next(tasks, None)) is not None:
                self._begin(task)
            if not self._under_way:
                return
            for ready in wait(list(self._under_way)):
                assert isinstance(ready, Connection)
                yield self._result(ready)

    def _begin(self, task: Task) -> None:
        idle = next((connection for connection in self._processes if connection not in self._under_way), None)
        connection = self._start() if idle is None else idle
        self._under_way[connection] = task
        with suppress(BrokenPipeError):  # killed while it was idle: its end is the result
            connection.send(task)

    def _result(self, connection: Connection) -> Result:
        task = self._under_way.pop(connection)
        try:
            result: Result = connection.recv()
        except (EOFError, ConnectionError):
            process = self._processes.pop(connection)
            connection.close()
            process.join(STOP_TIMEOUT_S)
            return lost_seed(task, f"its process ended, exit code {process.exitcode}")
        return result

    def _start(self) -> Connection:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs,))
        with deferred():
            resource_tracker.ensure_running()  # its start ends with an empty mask
            # The mask is inherited: the new process holds signals back until it looks after them.
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
            try:
                process.start()
                self._processes[ours] = process
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        theirs.close()
        return ours

    def __enter__(self) -> Jobs:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.terminate()
        for connection, process in self._processes.items():
            connection.close()
            process.join(STOP_TIMEOUT_S)
            if process.is_alive():
                process.kill()
                process.join()


def _serve(parent: Connection) -> None:
    """Run what the parent sends, until it is gone."""
    with Interruption(is_last=True) as interruption:
        try:
            interruption.release()
            while True:
                name, seed, twice = parent.recv()
                parent.send(run_seed(name, seed, twice=twice))
        except (KeyboardInterrupt, EOFError, BrokenPipeError):
            return  # the parent has said it, or is gone
