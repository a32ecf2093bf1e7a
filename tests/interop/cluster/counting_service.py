"""The counterpart of CountingService.java: the same state, the same answers, and the same events, noted in a list."""

from __future__ import annotations

import struct
from typing import Any

from aerowire.client import ExclusivePublication, Header, Image
from aerowire.cluster.services import ClientSession, Cluster, ClusteredService
from aerowire.codecs.flyweights.cluster.enums import CloseReason
from aerowire.codecs.flyweights.cnc import ClusterRole

_COUNT = struct.Struct("<q")


class CountingService(ClusteredService):
    """Counts messages, and obeys them."""

    def __init__(self) -> None:
        self.count = 0
        self.events: list[dict[str, Any]] = []

    def on_start(self, cluster: Cluster, snapshot_image: Image | None) -> None:
        self.cluster = cluster
        while snapshot_image is not None and not snapshot_image.is_end_of_stream and not snapshot_image.is_closed and self.count == 0:
            snapshot_image.poll(self._load, 1)
            cluster.idle_strategy.idle()
        self._note("start", count=self.count, sessions=len(cluster.client_sessions))

    def on_session_open(self, session: ClientSession, at: int) -> None:
        assert at == self.cluster.time
        self._note("open", session=session.id, principal=len(session.encoded_principal))

    def on_session_close(self, session: ClientSession, at: int, reason: CloseReason) -> None:
        assert at == self.cluster.time
        self._note("close", session=session.id, reason=reason.name)

    def on_session_message(self, session: ClientSession | None, message: bytes, at: int) -> None:
        text = message.decode()
        self.count += 1
        self._note("message", session=None if session is None else session.id, text=text)
        word, _, rest = text.partition(" ")
        if session is None:
            return
        if word == "echo":
            while session.offer(f"{self.cluster.context.service_id}:{rest}".encode()) < 0:
                self.cluster.idle_strategy.idle()
        elif word == "timer":
            correlation_id, delay = rest.split(" ")
            self.cluster.schedule_timer(int(correlation_id), at + int(delay))
        elif word == "cancel":
            self.cluster.cancel_timer(int(rest))
        elif word == "tell":
            self.cluster.offer(rest.encode())
        elif word == "close":
            session.close()
        elif word == "fail":
            raise RuntimeError(text)

    def on_timer_event(self, correlation_id: int, at: int) -> None:
        assert at == self.cluster.time
        self._note("timer", id=correlation_id)

    def on_take_snapshot(self, publication: ExclusivePublication) -> None:
        while publication.offer(_COUNT.pack(self.count)) < 0:
            self.cluster.idle_strategy.idle()
        self._note("snapshot", count=self.count)

    def on_role_change(self, role: ClusterRole) -> None:
        self._note("role", role=role.name)

    def on_terminate(self, _cluster: Cluster) -> None:
        self._note("terminate", count=self.count)

    def named(self, what: str) -> list[dict[str, Any]]:
        """Return the events of one kind."""
        return [event for event in self.events if event["what"] == what]

    def _load(self, buffer: memoryview, offset: int, _length: int, _header: Header) -> None:
        (self.count,) = _COUNT.unpack_from(buffer, offset)

    def _note(self, what: str, **fields: Any) -> None:
        self.events.append({"what": what, "position": self.cluster.log_position, "time": self.cluster.time, **fields})
