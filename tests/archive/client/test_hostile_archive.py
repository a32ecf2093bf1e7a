"""A client stays usable whatever an archive answers: most of all what the protocol's rules accept."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from aerowire.archive import AeronArchive, RecordingSignal, ReplayParams
from aerowire.base.errors import AerowireError
from aerowire.client import Pending
from aerowire.codecs.flyweights.archive.enums import ControlResponseCode
from aerowire.codecs.flyweights.archive.messages.challenge import Challenge
from aerowire.codecs.flyweights.archive.messages.control_response import ControlResponse
from aerowire.codecs.flyweights.archive.messages.ping import Ping
from aerowire.codecs.flyweights.archive.messages.recording_descriptor import RecordingDescriptor
from aerowire.codecs.flyweights.archive.messages.recording_signal_event import RecordingSignalEvent
from aerowire.codecs.flyweights.archive.messages.recording_subscription_descriptor import RecordingSubscriptionDescriptor
from aerowire.simulation.world import SimulatedWorld
from tests.conftest import SEED
from tests.support.hostile.values import INT32S, INT64S
from tests.support.scripted.archive import PROTOCOL_VERSION, SESSION_ID, ScriptedArchive, ok

MS = 1_000_000
SECOND = 1_000_000_000
QUICK: dict[str, Any] = {"environ": {}, "term_buffer_length": "64k", "ipc_term_buffer_length": "64k"}
REQUESTS = "aeron:udp?endpoint=10.0.0.1:8010"
REPLAYS = "aeron:udp?endpoint=10.0.0.2:0"
INT32_EDGES = (*INT32S, 1024)
INT64_EDGES = (*INT64S, 7, 1 << 32)
CHANNELS: tuple[Any, ...] = (
    "",
    "aeron",
    "aeron:ipc",
    "aeron:udp?endpoint=10.0.0.1:9002",
    "aeron:udp?endpoint=10.0.0.1:9002|session-id=7",
    "aeron:udp?endpoint=|control=",
    "aeron:udp?session-id=x|term-length=3",
    "aeron:udp?alias=" + "a" * 3_000,
    b"aeron:ipc?alias=\xe4",
    "aeron-spy:aeron:ipc",
)
OPERATIONS: dict[str, Callable[[AeronArchive], Pending[Any]]] = {
    "start recording": lambda client: client.async_start_recording("aeron:ipc", 1),
    "extend recording": lambda client: client.async_extend_recording(7, "aeron:ipc", 1),
    "stop recording": lambda client: client.async_try_stop_recording("aeron:ipc", 1),
    "recorded publication": lambda client: client.async_add_recorded_publication("aeron:ipc", 1),
    "recorded exclusive publication": lambda client: client.async_add_recorded_exclusive_publication("aeron:udp?endpoint=10.0.0.2:77", 1),
    "continued publication": lambda client: client.async_add_continued_publication("aeron:ipc", 1),
    "start replay": lambda client: client.async_start_replay(7, REPLAYS, 2),
    "replay": lambda client: client.async_replay(7, REPLAYS, 2, ReplayParams(position=0)),
    "open replay": lambda client: client.async_open_replay(7, REPLAYS, 2),
    "tail": lambda client: client.async_tail(7, REPLAYS, 2, length=65_536),
    "replay token": lambda client: client.async_request_replay_token(7),
    "await recorded": lambda client: client.async_await_recorded(7, 65_536),
    "copy recording": lambda client: client.async_copy_recording(7, 10, "aeron:udp?endpoint=10.0.0.3:8010"),
    "list recordings": lambda client: client.async_list_recordings(),
    "list recording": lambda client: client.async_list_recording(7),
    "list subscriptions": lambda client: client.async_list_recording_subscriptions(),
    "recording position": lambda client: client.async_get_recording_position(7),
    "purge segments": lambda client: client.async_purge_segments(7, 65_536),
    "truncate": lambda client: client.async_truncate_recording(7, 0),
}


def random_message(choice: random.Random, correlation_id: int) -> Any:
    """Return a message that the codec accepts, mostly one that belongs to the request."""
    session_id = SESSION_ID if choice.random() < 0.95 else choice.choice(INT64_EDGES)
    if choice.random() > 0.9:
        correlation_id = choice.choice(INT64_EDGES)
    kind = choice.randrange(10)
    if kind == 0:
        return RecordingSignalEvent(
            control_session_id=session_id,
            correlation_id=correlation_id,
            recording_id=choice.choice(INT64_EDGES),
            subscription_id=choice.choice(INT64_EDGES),
            position=choice.choice(INT64_EDGES),
            signal=choice.choice([one for one in RecordingSignal if one.name != "NULL_VALUE"]),
        )
    if kind == 1:
        return choice.choice(
            (
                Ping(control_session_id=session_id),
                Challenge(control_session_id=session_id, correlation_id=correlation_id, version=0, encoded_challenge=b"who?"),
                choice.randbytes(choice.randrange(64)),
            )
        )
    if kind == 2:
        return RecordingSubscriptionDescriptor(
            control_session_id=session_id,
            correlation_id=correlation_id,
            subscription_id=choice.choice(INT64_EDGES),
            stream_id=choice.choice(INT32_EDGES),
            stripped_channel=choice.choice(CHANNELS),
        )
    if kind <= 5:
        return RecordingDescriptor(
            control_session_id=session_id,
            correlation_id=correlation_id,
            recording_id=choice.choice(INT64_EDGES),
            start_timestamp=choice.choice(INT64_EDGES),
            stop_timestamp=choice.choice(INT64_EDGES),
            start_position=choice.choice(INT64_EDGES),
            stop_position=choice.choice(INT64_EDGES),
            initial_term_id=choice.choice(INT32_EDGES),
            segment_file_length=choice.choice(INT32_EDGES),
            term_buffer_length=choice.choice(INT32_EDGES),
            mtu_length=choice.choice(INT32_EDGES),
            session_id=choice.choice(INT32_EDGES),
            stream_id=choice.choice(INT32_EDGES),
            stripped_channel=choice.choice(CHANNELS),
            original_channel=choice.choice(CHANNELS),
            source_identity="10.0.0.1:4000",
        )
    codes = [one for one in ControlResponseCode if one.name != "NULL_VALUE"]
    code = ControlResponseCode.OK if choice.random() < 0.6 else choice.choice(codes)
    return ControlResponse(
        control_session_id=session_id,
        correlation_id=correlation_id,
        relevant_id=choice.choice(INT64_EDGES),
        code=code,
        version=PROTOCOL_VERSION,
        error_message=choice.choice(("", "a text")),
    )


class HostileArchive(ScriptedArchive):
    """An archive that opens sessions as it should, and answers everything else with up to four random messages until it is honest."""

    def __init__(self, world: SimulatedWorld, choice: random.Random) -> None:
        super().__init__(world.add_host("10.0.0.1", **QUICK), REQUESTS)
        self.is_honest = False
        self._choice = choice

    def _answer(self, request: Any) -> None:
        if self.is_honest:
            self.say(ok(request, 65_536))
        elif type(request).__name__ in self.answers:
            super()._answer(request)
        else:
            self.say(*(random_message(self._choice, request.correlation_id) for _ in range(self._choice.randrange(5))))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_whatever_an_archive_answers_an_operation_has_an_end(operation: str) -> None:
    choice = random.Random(f"{SEED} {operation}")
    with SimulatedWorld(seed=choice.getrandbits(32)) as world:
        archive = HostileArchive(world, choice)
        client = world.add_host("10.0.0.2", **QUICK).connect()

        def started(pending: Pending[Any]) -> Pending[Any]:
            client.start(lambda: int(not pending.is_done and pending.poll()), lambda: world.clock.now_ns() + MS)
            return pending

        session: AeronArchive = client.complete(
            started(
                AeronArchive.async_connect(
                    aeron=client.aeron,
                    control_request_channel=REQUESTS,
                    control_response_channel="aeron:udp?endpoint=10.0.0.2:0",
                    message_timeout_ns="500ms",
                    environ={},
                )
            )
        )
        for _ in range(4):
            pending = started(OPERATIONS[operation](session))
            world.run(5 * SECOND, until=lambda one=pending: one.is_done)  # type: ignore[misc]
            if not pending.is_done:  # it waits for what may come later: a position, the end of a copy
                pending.cancel()
                continue
            try:
                found = pending.result()
            except AerowireError:
                continue
            if hasattr(found, "close"):
                found.close()
        archive.is_honest = True
        assert client.complete(started(session.async_get_start_position(7))) == 65_536
