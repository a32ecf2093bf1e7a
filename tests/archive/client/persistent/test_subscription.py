"""A persistent subscription in a simulated world: from recording to live stream and back, with whatever goes and comes again."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from aerowire.archive import (
    FROM_LIVE,
    FROM_START,
    ArchiveClientContext,
    ArchiveEventLog,
    FailureReason,
    PersistentStream,
    PersistentSubscription,
    PersistentSubscriptionError,
)
from aerowire.base.errors import AerowireError, ArchiveTimeoutError, ConfigurationError
from aerowire.client import Action, Header
from aerowire.codecs.flyweights.archive.enums import ControlResponseCode
from aerowire.codecs.flyweights.archive.messages.control_response import ControlResponse
from aerowire.codecs.flyweights.cnc import PersistentSubscriptionState as State
from aerowire.codecs.tables.counters import CounterType
from aerowire.simulation.world import SimulatedWorld
from tests.archive.client.replaying_archive import FRAME, LIVE_DESTINATION, RECORDING_ID, STREAM_ID, ReplayingArchive
from tests.support.scripted.archive import SESSION_ID, error

MS = 1_000_000
SECOND = 1_000_000_000
QUICK: dict[str, Any] = {"environ": {}, "term_buffer_length": "64k", "ipc_term_buffer_length": "64k"}
REQUESTS = "aeron:udp?endpoint=10.0.0.1:8010"


class Setting:
    """A replaying archive on one host, and on another a persistent subscription that is polled all the time."""

    def __init__(
        self,
        world: SimulatedWorld,
        *,
        recorded: int = 0,
        is_controlled: bool = False,
        event_log: ArchiveEventLog | None = None,
        **stream: Any,
    ) -> None:
        self.world = world
        self.archive = ReplayingArchive(world.add_host("10.0.0.1", **QUICK), REQUESTS)
        self.archive.send(recorded)
        world.run(SECOND)
        self.client = world.add_host("10.0.0.2", **QUICK).connect()
        self.received: list[int] = []
        self.told: list[str] = []
        self.errors: list[AerowireError] = []
        self._is_controlled = is_controlled
        given: dict[str, Any] = {
            "recording_id": RECORDING_ID,
            "live_channel": LIVE_DESTINATION,
            "live_stream_id": STREAM_ID,
            "replay_channel": "aeron:udp?endpoint=10.0.0.2:0",
            "replay_stream_id": STREAM_ID + 1,
            "start_position": FROM_START,
            **stream,
        }
        context = ArchiveClientContext(
            control_request_channel=REQUESTS,
            control_response_channel="aeron:udp?endpoint=10.0.0.2:0",
            environ={},
            message_timeout_ns="3s",
        )
        self.subscription = PersistentSubscription(
            self.client.aeron,
            PersistentStream(**given),
            context,
            on_live_joined=lambda: self.told.append("joined"),
            on_live_left=lambda: self.told.append("left"),
            on_error=self.errors.append,
            event_log=event_log,
        )
        self.client.start(self._work, lambda: world.clock.now_ns() + MS)

    def until(self, state: State, limit_ns: int = 60 * SECOND) -> None:
        found = self.world.run(limit_ns, until=lambda: self.subscription.state in (state, State.FAILED))
        assert found, (self.subscription, self.errors)
        assert self.subscription.state is state, self.errors

    def until_received(self, count: int, limit_ns: int = 60 * SECOND) -> None:
        assert self.world.run(limit_ns, until=lambda: len(self.received) >= count), (self.subscription, len(self.received), self.errors)

    def counter(self, kind: CounterType) -> int:
        return next(one.value for one in self.client.aeron.counters_reader.for_each() if one.type_id == kind)

    def _work(self) -> int:
        if self._is_controlled:
            return self.subscription.controlled_poll(self._take, 20)
        return self.subscription.poll(self._take, 20)

    def _take(self, buffer: memoryview, offset: int, _length: int, _header: Header) -> Action:
        self.received.append(struct.unpack_from("<i", buffer, offset)[0])
        return Action.CONTINUE


@pytest.mark.parametrize("is_controlled", [False, True])
def test_goes_from_the_recording_to_the_live_stream(world: SimulatedWorld, *, is_controlled: bool) -> None:
    setting = Setting(world, recorded=1000, is_controlled=is_controlled)
    setting.until(State.LIVE)
    world.run(SECOND)  # in which the publisher hears of its new receiver
    setting.archive.send(200)
    setting.until_received(1200)
    assert setting.received == list(range(1200))
    assert (setting.told, setting.errors) == (["joined"], [])
    assert setting.subscription.is_live
    assert setting.subscription.position == 1200 * FRAME
    assert setting.archive.names().count("StopReplayRequest") == 1
    assert setting.counter(CounterType.PERSISTENT_SUBSCRIPTION_STATE) == State.LIVE
    assert setting.counter(CounterType.PERSISTENT_SUBSCRIPTION_JOIN_DIFFERENCE) == 0
    assert setting.counter(CounterType.PERSISTENT_SUBSCRIPTION_LIVE_JOINED_COUNT) == 1
    assert setting.counter(CounterType.PERSISTENT_SUBSCRIPTION_LIVE_LEFT_COUNT) == 0


def test_begins_at_a_position(world: SimulatedWorld) -> None:
    setting = Setting(world, recorded=1000, start_position=900 * FRAME)
    setting.until(State.LIVE)
    assert setting.received == list(range(900, 1000))


def test_begins_with_the_live_stream(world: SimulatedWorld) -> None:
    setting = Setting(world, recorded=1000, start_position=FROM_LIVE)
    setting.until(State.LIVE)
    setting.archive.send(50)
    setting.until_received(50)
    assert setting.received == list(range(1000, 1050))
    assert "ReplayRequest" not in setting.archive.names()


def test_a_publisher_that_is_started_again_is_followed_without_a_gap(world: SimulatedWorld) -> None:
    setting = Setting(world, recorded=300)
    setting.until(State.LIVE)
    setting.archive.restart_live()
    setting.archive.send(500)
    setting.until_received(800)
    setting.until(State.LIVE)
    setting.archive.send(100)
    setting.until_received(900)
    assert setting.received == list(range(900))
    assert setting.told == ["joined", "left", "joined"]
    assert setting.counter(CounterType.PERSISTENT_SUBSCRIPTION_LIVE_LEFT_COUNT) == 1


def test_an_archive_that_goes_during_the_replay_is_connected_anew(world: SimulatedWorld) -> None:
    setting = Setting(world, recorded=1000)
    setting.until_received(100)
    assert setting.archive.publication is not None
    setting.archive.publication.close()
    setting.until(State.LIVE)
    assert setting.received == list(range(1000))
    assert setting.archive.names().count("AuthConnectRequest") == 2


def test_an_archive_that_is_not_there_yet_is_waited_for(world: SimulatedWorld) -> None:
    setting = Setting(world, recorded=10)
    answer = setting.archive.answers.pop("AuthConnectRequest")
    world.run(10 * SECOND)
    assert setting.subscription.state is State.AWAIT_ARCHIVE_CONNECTION
    assert isinstance(setting.errors[0], ArchiveTimeoutError)
    setting.archive.answers["AuthConnectRequest"] = answer
    setting.until(State.LIVE)
    assert setting.received == list(range(10))


def test_reads_the_recording_while_the_live_stream_does_not_come(world: SimulatedWorld) -> None:
    setting = Setting(world, recorded=100, live_channel="aeron:udp?endpoint=10.0.0.2:0|control=10.0.0.1:9999|control-mode=dynamic")
    setting.until_received(100)
    setting.archive.send(100)
    setting.until_received(200)
    world.run(10 * SECOND)
    assert setting.received == list(range(200))
    assert [error.what for error in setting.errors] == ["the live stream of a persistent subscription does not come"]
    assert setting.subscription.is_replaying


def test_loss_and_restarts_take_no_message(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(3):
        world_seed = rng.randrange(1 << 30)
        with SimulatedWorld(seed=world_seed) as world:
            setting = Setting(world, recorded=rng.randrange(1000))
            world.network.set_faults(loss=rng.choice([0.0, 0.02, 0.1]))
            for _ in range(8):
                setting.archive.send(rng.randrange(100))
                world.run(rng.randrange(20, 2000) * MS)
                match rng.randrange(4):
                    case 0 if not setting.archive.unsent:
                        setting.archive.restart_live()
                    case 1 if setting.archive.publication is not None:
                        setting.archive.publication.close()
            world.network.set_faults(loss=0.0)
            world.run(60 * SECOND, until=lambda: not setting.archive.unsent and len(setting.received) >= setting.archive.sent)  # noqa: B023
            assert setting.received == list(range(setting.archive.sent)), (world_seed, setting.subscription, setting.errors)


# ---- failures


def unknown(request: Any) -> list[ControlResponse]:
    return [
        ControlResponse(
            control_session_id=SESSION_ID,
            correlation_id=request.correlation_id,
            relevant_id=request.recording_id,
            code=ControlResponseCode.RECORDING_UNKNOWN,
        )
    ]


def fail(setting: Setting) -> PersistentSubscriptionError:
    assert setting.world.run(20 * SECOND, until=lambda: setting.subscription.has_failed), setting.subscription
    failure = setting.subscription.failure
    assert isinstance(failure, PersistentSubscriptionError)
    assert setting.errors[-1] is failure
    assert setting.subscription.poll(lambda *_: None) == 0
    return failure


def test_a_recording_that_does_not_exist_fails(world: SimulatedWorld) -> None:
    setting = Setting(world, recorded=10)
    setting.archive.answers["ListRecordingRequest"] = unknown
    failure = fail(setting)
    assert (failure.reason, failure.what) == (FailureReason.RECORDING_NOT_FOUND, "there is no recording 6")
    world.run(20 * SECOND)
    assert setting.archive.names()[-1] == "CloseSessionRequest"


@pytest.mark.parametrize(
    ("stream", "reason", "expected"),
    [
        ({"live_stream_id": 9}, FailureReason.STREAM_ID_MISMATCH, "expected stream 9; got stream 3001"),
        ({"start_position": 1 << 40}, FailureReason.INVALID_START_POSITION, "requested replay position is beyond"),
    ],
)
def test_a_stream_that_the_recording_does_not_hold_fails(
    world: SimulatedWorld, stream: dict[str, Any], reason: FailureReason, expected: str
) -> None:
    setting = Setting(world, recorded=10, **stream)
    setting.archive.answers["ReplayRequest"] = lambda request: [error(request, 16, "requested replay position is beyond the limit")]
    failure = fail(setting)
    assert failure.reason is reason
    assert expected in str(failure)


def test_close_leaves_nothing_open(world: SimulatedWorld) -> None:
    setting = Setting(world, recorded=1000)
    setting.until(State.LIVE)
    setting.client.start(lambda: 0)
    setting.subscription.close()
    setting.subscription.close()
    world.run(20 * SECOND)
    assert setting.archive.names()[-1] == "CloseSessionRequest"
    labels = [one.label for one in setting.client.aeron.counters_reader.for_each()]
    assert not [label for label in labels if label.startswith(("Persistent Subscription", "sub-pos", "rcv-channel"))]


@pytest.mark.parametrize("stream", [{"recording_id": -1}, {"start_position": -3}])
def test_refuses_a_stream_that_cannot_be(stream: dict[str, int]) -> None:
    given: dict[str, Any] = {
        "recording_id": 0,
        "live_channel": LIVE_DESTINATION,
        "live_stream_id": 1,
        "replay_channel": "aeron:ipc",
        "replay_stream_id": 2,
    }
    with pytest.raises(ConfigurationError, match="a persistent subscription cannot begin there"):
        PersistentStream(**{**given, **stream})
