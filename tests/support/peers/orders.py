"""Orders that a test gives a running peer: lines on its standard input, each answered by a JSON object when it has been carried out."""

from __future__ import annotations

import json
import os
import queue
import threading
from collections.abc import Callable, Mapping

from aerowire.client.context import Invoker


class Orders:
    """Reads standard input in a thread of its own; the peer's loop asks for what has arrived.

    Invariant: an order is carried out by the thread that calls `obey`, the one that uses the client.
    """

    def __init__(self, table: Mapping[str, Callable[[str], object]], invoker: Invoker | None = None) -> None:
        """`table` has what each order does with the rest of its line; `invoker` does the work of a client without threads."""
        self._table = table
        self._invoker = invoker
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._ended = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def obey(self) -> bool:
        """Carry out what has arrived; return False once standard input has ended and nothing is left."""
        if self._invoker is not None:
            self._invoker.invoke()
        ended = self._ended.is_set()
        while not self._lines.empty():
            order, _, rest = self._lines.get().partition(" ")
            self._table[order](rest)
            print(json.dumps({"event": "obeyed", "order": order}), flush=True)
            ended = False
        return not ended

    def _read(self) -> None:
        # Not through sys.stdin: a daemon thread that holds its lock would stop the interpreter from ending.
        pending = b""
        while data := os.read(0, 65536):
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                self._lines.put(line.decode())
        self._ended.set()
