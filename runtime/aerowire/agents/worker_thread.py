"""A thread for a conductor's calls that may take long: name look-ups, and files of gigabytes. It never keeps a process from ending.

The standard library's pool joins its threads at the interpreter's exit: a look-up that hangs would hang the process's end.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_Job = tuple["Future[Any]", Callable[[], Any]]


class WorkerThread(Executor):
    """Runs one call after the other on a daemon thread that starts with the first."""

    def __init__(self, name: str) -> None:
        """`name` is the thread's."""
        self._name = name
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_shut_down = False

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a call as soon as those before it have ended. Raises RuntimeError after `shutdown`."""
        future: Future[T] = Future()
        with self._lock:
            if self._is_shut_down:
                raise RuntimeError(f"{self._name}: expected a call before shutdown, actual one after it")
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            self._jobs.put((future, lambda: function(*args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls; `wait` for those under way, `cancel_futures` that have not begun."""
        with self._lock:
            if not self._is_shut_down:
                self._is_shut_down = True
                if cancel_futures:
                    self._cancel_waiting()
                self._jobs.put(None)
        if wait and self._thread is not None:
            self._thread.join()

    def _cancel_waiting(self) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            if job is not None:
                job[0].cancel()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            _carry_out(*job)
            # What the call refers to does not stay until the next one.
            del job


def _carry_out(future: Future[Any], call: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
