"""A subscriber in a thread of its own, for tests whose own thread waits until a publisher is done."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aerowire.client import Aeron, FragmentAssembler


class Subscriber:
    """What a stream brought, by session, in order."""

    def __init__(self) -> None:
        self.sessions: dict[int, list[tuple[bytes, int]]] = {}

    @property
    def messages(self) -> list[bytes]:
        return [message for found in self.sessions.values() for message, _ in found]


@contextmanager
def subscribed(driver_dir: str, stream_id: int, *, pause_s: float = 0.0) -> Iterator[Subscriber]:
    """Poll in a thread; `pause_s` is the rest between two fragments, for a subscriber that is slow."""
    found, ending = Subscriber(), threading.Event()

    def on_message(buffer: Any, offset: int, length: int, header: Any) -> None:
        message = bytes(buffer[offset : offset + length])
        found.sessions.setdefault(header.session_id, []).append((message, header.reserved_value))

    def poll() -> None:
        assembler = FragmentAssembler(on_message)
        while not ending.is_set() or subscription.poll(assembler, 1):
            if not subscription.poll(assembler, 1 if pause_s else 100) or pause_s:
                ending.wait(pause_s or 0.0001)

    with Aeron.connect(driver_dir) as aeron, aeron.add_subscription("aeron:ipc", stream_id) as subscription:
        thread = threading.Thread(target=poll)
        thread.start()
        try:
            yield found
        finally:
            ending.set()
            thread.join()
