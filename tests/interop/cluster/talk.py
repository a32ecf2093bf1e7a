"""Messages between clients of the interop suite and the echo service of a cluster."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from typing import Any

from aerowire.client import Header
from aerowire.cluster import AeronCluster, EgressListener
from tests.interop.scenarios import LIMIT_S
from tests.support.waiting import rest

KEEP_ALIVE_S = 0.5


class Ears(EgressListener):
    """Keeps messages and events."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.events: list[Any] = []

    def on_message(self, _session_id: int, _timestamp: int, buffer: memoryview, offset: int, length: int, _header: Header, /) -> None:
        self.messages.append(bytes(buffer[offset : offset + length]))

    def on_session_event(self, event: Any, /) -> None:
        self.events.append(event)

    on_new_leader = on_admin_response = on_session_event


def poll_until(cluster: AeronCluster, is_so: Callable[[], bool], what: str, *, keeps_alive: bool = True) -> None:
    """Poll the egress of a client, and keep its session alive, until something is so."""
    deadline = time.monotonic() + LIMIT_S
    next_keep_alive = time.monotonic()
    while not is_so():
        assert time.monotonic() < deadline, f"{what}: {cluster}"
        if keeps_alive and not cluster.is_closed and time.monotonic() >= next_keep_alive:
            cluster.send_keep_alive()
            next_keep_alive = time.monotonic() + KEEP_ALIVE_S
        if cluster.poll_egress() == 0:
            rest()


def offer(cluster: AeronCluster, *parts: bytes) -> None:
    """Offer a message until there is room for it."""
    poll_until(cluster, lambda: cluster.offer_parts(*parts) > 0, "room in the ingress", keeps_alive=False)


def ask(cluster: AeronCluster, ears: Ears, message: bytes) -> bytes:
    """Send a message and return the service's answer, the next message that comes."""
    count = len(ears.messages)
    offer(cluster, message)
    poll_until(cluster, lambda: len(ears.messages) > count, f"an answer to {message[:20]!r}")
    return ears.messages[count]


def numbers(encoded: bytes) -> list[int]:
    """Return the numbers that the service has applied, of its answer to "applied"."""
    return [number for (number,) in struct.iter_unpack("<q", encoded)]


def encoded(number: int) -> bytes:
    """Return a number as the service takes it."""
    return struct.pack("<q", number)
