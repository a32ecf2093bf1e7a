"""A stand-in for a simulated host in tests that run in real time: applications with a client of a real driver, each in a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from aerowire.client import Aeron, Pending
from tests.support.waiting import rest, wait_until

T = TypeVar("T")


class LiveClient:
    """A client and a thread that calls its application's `work`, as a SimulatedClient does in a world."""

    def __init__(self, aeron_dir: str, work: Callable[[], int]) -> None:
        self.aeron = Aeron.connect(aeron_dir, environ={})
        self._work = work
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def complete(self, pending: Pending[T]) -> T:
        """Wait for the answer to a command, and return it."""
        wait_until(pending.poll, pending.what)
        return pending.result()

    def close(self) -> None:
        self._is_over.set()
        self._thread.join()
        self.aeron.close()

    def _run(self) -> None:
        while not self._is_over.is_set():
            if self._work() == 0:
                rest()


class LiveHost:
    """The driver's side of such clients; closes them at its end."""

    def __init__(self, aeron_dir: str) -> None:
        self._aeron_dir = aeron_dir
        self._clients: list[LiveClient] = []

    def connect(self, *, work: Callable[[], int]) -> LiveClient:
        client = LiveClient(self._aeron_dir, work)
        self._clients.append(client)
        return client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        for client in self._clients:
            client.close()
