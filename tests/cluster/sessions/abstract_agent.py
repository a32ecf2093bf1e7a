"""An agent that carries out the effects of sessions on nothing: a log of positions, and clients that are there or not.

It checks what must hold whatever happens, and raises ViolationError at the first step that breaks a rule.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from aerowire.cluster.sessions import effects, inputs
from aerowire.cluster.sessions.effects import Effect, Send
from aerowire.cluster.sessions.inputs import Input
from aerowire.cluster.sessions.session_manager import SessionManager
from aerowire.cluster.snapshots.consensus_module_snapshot import ClusterSessionRecord
from aerowire.codecs.flyweights.cluster.enums import CloseReason, EventCode
from aerowire.codecs.flyweights.cluster.messages.session_event import SessionEvent

ENTRY_LENGTH = 64
APPEND_RESULTS = (inputs.OpenAppended, inputs.CloseAppended, inputs.AppendRefused)


class ViolationError(AssertionError):
    """A rule of sessions was broken."""


def require(condition: bool, rule: str) -> None:
    if not condition:
        raise ViolationError(rule)


class AbstractAgent:
    """Gives inputs to a manager, and carries out what it returns until nothing more follows.

    `has_log_room` and `has_egress_room` say whether appends and sends succeed; `are_results_held` keeps their results back until `release`.
    """

    def __init__(
        self,
        manager: SessionManager,
        max_sessions: int,
        told: Callable[[Effect], object] = lambda _: None,
        sent: Callable[[Send], object] = lambda _: None,
    ) -> None:
        """`told` is called with each effect before it is carried out, `sent` with each message that a client gets."""
        self.manager = manager
        self.now_ns = 0
        self.has_log_room = True
        self.has_egress_room = True
        self.is_driver_answering = True
        self.are_results_held = False
        self.is_snapshot_possible = True
        self.log_position = 0
        # What the log says: position, whether it opens or closes, and which session.
        self.log: list[tuple[int, bool, int]] = []
        self.loaded: set[int] = set()
        # Response publications: key -> channel. Clients by their channels: whether they are there.
        self.responses: dict[int, str] = {}
        self.added: set[int] = set()
        self._asked: dict[int, int] = {}
        self.clients: set[str] = set()
        # What clients have heard, by their channels.
        self.heard: dict[str, list[effects.EgressMessage]] = {}
        self._max_sessions = max_sessions
        self._told = told
        self._sent = sent
        self._keys: set[int] = set()
        self._connected: set[int] = set()
        self._opened_ids: set[int] = set()
        self._open: set[int] = set()
        self._ended_keys: set[int] = set()
        self._waiting: deque[Input] = deque()
        self._actions: dict[type, Callable[[Any], None]] = {
            effects.OpenResponse: self._open_response,
            effects.CloseResponse: self._close_response,
            effects.Send: self._send,
            effects.AppendSessionOpen: self._append_open,
            effects.AppendSessionClose: self._append_close,
            effects.SessionOpened: self._session_opened,
            effects.SessionClosing: self._session_closing,
            effects.SessionClosed: self._session_closed,
            effects.RequestSnapshot: self._request_snapshot,
        }

    def give(self, given: Input) -> None:
        """Give an input, and carry out what follows."""
        self._carry_out(self._handle(given))

    def tick(self) -> None:
        """Run a cycle."""
        self._carry_out(self.manager.tick(self.now_ns, self.now_ns // 1_000_000))

    def release(self) -> None:
        """Give the results that were held."""
        self.are_results_held = False
        self._carry_out(())

    def end_term(self, log_position: int) -> None:
        """Begin an election: what was appended beyond a position is gone. Results of appends are given before, others perhaps later."""
        appended = [result for result in self._waiting if isinstance(result, APPEND_RESULTS)]
        self._waiting = deque(result for result in self._waiting if not isinstance(result, APPEND_RESULTS))
        for result in appended:
            self.give(result)
        self.log_position = log_position
        self.log = [entry for entry in self.log if entry[0] <= log_position]
        self.give(inputs.LeadershipEnded(log_position))

    def replay(self, *, opened: int | None = None, closed: int | None = None, channel: str = "") -> None:
        """Let the log of another leader open or close a session."""
        self.log_position += ENTRY_LENGTH
        if opened is not None:
            self.log.append((self.log_position, True, opened))
            self.give(inputs.OpenReplayed(self.log_position, 1_000 + opened, opened, 102, channel))
        elif closed is not None:
            self.log.append((self.log_position, False, closed))
            self.give(inputs.CloseReplayed(closed, CloseReason.TIMEOUT))

    def sessions_of_log(self) -> list[int]:
        """Return the sessions that the log has opened, and not closed."""
        open_ids: set[int] = set(self.loaded)
        for _, is_opened, session_id in self.log:
            (open_ids.add if is_opened else open_ids.discard)(session_id)
        return sorted(open_ids)

    def connect_client(self, channel: str, *, is_there: bool) -> None:
        """Let a client come or go."""
        (self.clients.add if is_there else self.clients.discard)(channel)
        for key, response_channel in tuple(self.responses.items()):
            if response_channel == channel and key in self.added:
                self._result(inputs.ResponseConnected(key, is_there))
        self._carry_out(())

    def add_responses(self) -> None:
        """Let the driver answer what it was asked."""
        self.is_driver_answering = True
        for key in self.responses:
            if key not in self.added:
                self._response_added(key)
        self._carry_out(())

    def load(self, next_session_id: int, records: list[ClusterSessionRecord]) -> None:
        """Let the manager go on from a snapshot."""
        self.loaded = {record.session_id for record in records}
        self._open |= self.loaded
        self._carry_out(self.manager.load(next_session_id, records, self.now_ns))

    def close(self) -> None:
        """Close the manager."""
        self._carry_out(self.manager.close())
        require(not self.responses, "all response publications are given back at the end")

    def refusable_keys(self) -> list[int]:
        """Return the keys of publications that the driver has still to add, but those of open sessions."""
        return [key for key, session_id in self._asked.items() if key not in self.added and session_id not in self._open]

    def next_free_id(self) -> int:
        """Return an id that another leader would use next."""
        return max([0, *self._opened_ids, *self._open]) + 1

    def heard_open(self, session_id: int) -> bool:
        """Return whether the client of a session was told that it is open."""
        return any(
            isinstance(message, SessionEvent) and message.code == EventCode.OK and message.cluster_session_id == session_id
            for messages in self.heard.values()
            for message in messages
        )

    def _handle(self, given: Input) -> tuple[Effect, ...]:
        if isinstance(given, inputs.ResponseConnected):
            (self._connected.add if given.is_connected else self._connected.discard)(given.key)
        return self.manager.handle(given, self.now_ns, self.now_ns // 1_000_000)

    def _carry_out(self, decided: tuple[Effect, ...]) -> None:
        """Carry effects out, then give their results, and so on."""
        waiting = deque(decided)
        while waiting or (self._waiting and not self.are_results_held):
            if not waiting:
                waiting.extend(self._handle(self._waiting.popleft()))
                continue
            effect = waiting.popleft()
            self._told(effect)
            action = self._actions.get(type(effect))
            if action is not None:
                action(effect)
        require(len(self._open) <= self._max_sessions, "sessions are never more than the maximum")

    def _result(self, result: Input) -> None:
        self._waiting.append(result)

    def _open_response(self, effect: effects.OpenResponse) -> None:
        require(effect.key not in self._keys, "a key is new")
        self._keys.add(effect.key)
        self.responses[effect.key] = effect.response_channel
        self._asked[effect.key] = effect.cluster_session_id
        if self.is_driver_answering:
            self._response_added(effect.key)

    def _response_added(self, key: int) -> None:
        self.added.add(key)
        self._result(inputs.ResponseAdded(key))
        if self.responses[key] in self.clients:
            self._result(inputs.ResponseConnected(key, True))

    def _close_response(self, effect: effects.CloseResponse) -> None:
        require(effect.key in self.responses, "a response publication is closed once")
        del self.responses[effect.key], self._asked[effect.key]

    def _send(self, effect: Send) -> None:
        require(effect.key in self.responses, "messages are sent on open response publications")
        require(effect.key not in self._ended_keys, "after its CLOSED event, a session sends nothing")
        channel = self.responses[effect.key]
        require(effect.key in self._connected, "messages are sent to clients that are there")
        if not self.has_egress_room or channel not in self.clients:
            self._result(inputs.NotSent(effect.key, effect.message))
            return
        self.heard.setdefault(channel, []).append(effect.message)
        self._sent(effect)
        if isinstance(effect.message, SessionEvent) and effect.message.code == EventCode.CLOSED:
            self._ended_keys.add(effect.key)
        self._result(inputs.Sent(effect.key, effect.message))

    def _append_open(self, effect: effects.AppendSessionOpen) -> None:
        require(effect.cluster_session_id not in self._opened_ids, "an id is never used again")
        if self.has_log_room:
            if effect.opened is not None:
                self._told(effect.opened)
                self._send(effect.opened)
            self._opened_ids.add(effect.cluster_session_id)
            self.log_position += ENTRY_LENGTH
            self.log.append((self.log_position, True, effect.cluster_session_id))
            self._result(inputs.OpenAppended(effect.cluster_session_id, self.log_position))
        else:
            self._result(inputs.AppendRefused(effect.cluster_session_id))

    def _append_close(self, effect: effects.AppendSessionClose) -> None:
        if self.has_log_room:
            self.log_position += ENTRY_LENGTH
            self.log.append((self.log_position, False, effect.cluster_session_id))
            self._result(inputs.CloseAppended(effect.cluster_session_id, self.log_position))
        else:
            self._result(inputs.AppendRefused(effect.cluster_session_id))

    def _session_opened(self, effect: effects.SessionOpened) -> None:
        require(effect.cluster_session_id not in self._open, "a session is opened once")
        self._open.add(effect.cluster_session_id)

    def _session_closing(self, effect: effects.SessionClosing) -> None:
        require(effect.cluster_session_id in self._open, "a session that closes was open")

    def _session_closed(self, effect: effects.SessionClosed) -> None:
        self._open.discard(effect.cluster_session_id)

    def _request_snapshot(self, effect: effects.RequestSnapshot) -> None:
        self._result(inputs.SnapshotRequested(effect.cluster_session_id, effect.correlation_id, self.is_snapshot_possible))
