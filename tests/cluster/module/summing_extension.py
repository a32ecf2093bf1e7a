"""An extension that adds up the numbers that clients send in messages of a schema of its own."""

from __future__ import annotations

from struct import Struct
from typing import Any

from aerowire.client import Image
from aerowire.client.subscriptions.actions import Action
from aerowire.cluster import ConsensusControlState, ConsensusModuleControl, ConsensusModuleExtension, ExtensionMessage
from aerowire.codecs.flyweights.cluster.enums import CloseReason

SCHEMA_ID, TEMPLATE_ID, VERSION = 4711, 7, 2
# A number, and the session that is told the sum; 0 for none.
BODY = Struct("<qq")
_HEADER_LENGTH = 8


def message(number: int, session_id: int = 0) -> ExtensionMessage:
    """Return a message of the extension's schema."""
    return ExtensionMessage(SCHEMA_ID, TEMPLATE_ID, VERSION, BODY.size, BODY.pack(number, session_id))


class SummingExtension(ConsensusModuleExtension):
    """Changed by the log alone: `total` is the sum of the numbers in it. `events` has what it was told."""

    def __init__(self) -> None:
        self.total = 0
        self.events: list[Any] = []
        self.positions: list[int] = []
        self.control: ConsensusModuleControl | None = None
        self.state: ConsensusControlState | None = None

    def on_start(self, control: ConsensusModuleControl, snapshot_image: Image | None) -> Any:
        self.control = control
        self.events.append("start" if snapshot_image is None else "start from a snapshot")
        while snapshot_image is not None and not snapshot_image.is_end_of_stream:
            snapshot_image.poll(self._load, 10)
            yield

    def on_election_complete(self, state: ConsensusControlState) -> None:
        self.state = state
        self.events.append("leads" if state.is_leader else "follows")

    def on_new_leadership_term(self, state: ConsensusControlState) -> None:
        self.events.append(f"term {state.leadership_term_id}")

    def on_prepare_for_new_leadership(self) -> None:
        self.state = None
        self.events.append("prepare")

    def on_session_opened(self, cluster_session_id: int) -> None:
        self.events.append(f"session {cluster_session_id} opened")

    def on_session_closed(self, cluster_session_id: int, close_reason: CloseReason) -> None:
        self.events.append(f"session {cluster_session_id} closed: {close_reason.name}")

    def on_ingress_extension_message(self, message: ExtensionMessage) -> Action:
        if self.state is None or self.state.log is None:
            return Action.CONTINUE
        return Action.CONTINUE if self.state.log.append(message.encode(), self.positions.append) else Action.ABORT

    def on_log_extension_message(self, message: ExtensionMessage, log_position: int) -> None:
        assert log_position > 0
        self._apply(message)

    def consensus_work(self, now_ns: int) -> int:
        assert now_ns > 0
        if self.state is None or self.state.leader_log_subscription is None or self.control is None:
            return 0
        image = self.state.leader_log_subscription.image_at_index(0)
        return image.bounded_poll(self._on_own_log, self.control.commit_position, 10)

    def on_take_snapshot(self, publication: Any) -> Any:
        while publication.offer(self.total.to_bytes(8, "little")) < 0:
            yield

    def close(self) -> None:
        self.events.append("close")

    def _on_own_log(self, buffer: memoryview, offset: int, length: int, _header: object) -> None:
        found = ExtensionMessage.decode(bytes(buffer[offset : offset + length]))
        if found.schema_id == SCHEMA_ID:
            self._apply(found)

    def _apply(self, message: ExtensionMessage) -> None:
        number, session_id = BODY.unpack(message.payload)
        self.total += number
        session = None if self.control is None or not session_id else self.control.get_client_session(session_id)
        if session is not None and self.state is not None and self.state.is_leader:
            session.note_activity()
            session.offer(message._replace(payload=BODY.pack(self.total, session_id)).encode())

    def _load(self, buffer: memoryview, offset: int, length: int, _header: object) -> None:
        self.total = int.from_bytes(buffer[offset : offset + length], "little")


class FailingExtension(ConsensusModuleExtension):
    """Raises where it is told to."""

    def __init__(self, where: str) -> None:
        self._where = where

    def on_start(self, _control: ConsensusModuleControl, _snapshot_image: Image | None) -> None:
        self._raise_at("on_start")

    def on_election_complete(self, _state: ConsensusControlState) -> None:
        self._raise_at("on_election_complete")

    def slow_tick_work(self, _now_ns: int) -> int:
        if self._where == "exit":
            raise SystemExit("told to")
        return 0

    def _raise_at(self, name: str) -> None:
        if self._where == name:
            raise ValueError(f"wrong in {name}")
