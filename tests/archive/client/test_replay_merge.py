"""A merge of a replay with its live stream in a simulated world: what it delivers, when it is merged, and why it fails."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from aerowire.archive import AeronArchive, MergeState, ReplayMerge
from aerowire.base.errors import AerowireError, ArchiveConnectionError, ArchiveError, ArchiveTimeoutError, ConfigurationError
from aerowire.client import Header
from aerowire.simulation.clients import SimulatedClient
from aerowire.simulation.world import SimulatedWorld
from tests.archive.client.replaying_archive import FRAME, LIVE_DESTINATION, RECORDING_ID, STREAM_ID, ReplayingArchive
from tests.support.scripted.archive import SESSION_ID, error, ok

MS = 1_000_000
SECOND = 1_000_000_000
QUICK: dict[str, Any] = {"environ": {}, "term_buffer_length": "64k", "ipc_term_buffer_length": "64k"}
REQUESTS = "aeron:udp?endpoint=10.0.0.1:8010"
RECORDED_FIRST = 1200


class Setting:
    """A replaying archive on one host, and on another a client that merges."""

    def __init__(self, world: SimulatedWorld) -> None:
        self.world = world
        self.archive = ReplayingArchive(world.add_host("10.0.0.1", **QUICK), REQUESTS)
        self.client: SimulatedClient = world.add_host("10.0.0.2", **QUICK).connect()
        self.received: list[int] = []
        self.failure: BaseException | None = None
        self._merges: list[ReplayMerge] = []
        connecting = AeronArchive.async_connect(
            aeron=self.client.aeron,
            control_request_channel=REQUESTS,
            control_response_channel="aeron:udp?endpoint=10.0.0.2:0",
            environ={},
            message_timeout_ns="30s",
        )
        self.client.start(lambda: int(not connecting.is_done and connecting.poll()), self._in_a_ms)
        self.session = self.client.complete(connecting)
        channel = "aeron:udp?control-mode=manual"
        self.subscription = self.client.complete(self.client.aeron.async_add_subscription(channel, STREAM_ID))
        self.client.start(self._work, self._in_a_ms)

    def merge(self, live_destination: str = LIVE_DESTINATION, **options: Any) -> ReplayMerge:
        merge = ReplayMerge(
            self.subscription, self.session, "aeron:udp", "aeron:udp?endpoint=10.0.0.2:0", live_destination, RECORDING_ID, **options
        )
        self._merges.append(merge)
        return merge

    def run(self, merge: ReplayMerge, limit_ns: int = 60 * SECOND) -> None:
        """Let the world run until the merge has ended one way or the other."""
        ended = self.world.run(limit_ns, until=lambda: merge.is_merged or self.failure is not None)
        assert ended, merge
        if self.failure is not None:
            raise self.failure

    def _in_a_ms(self) -> int:
        return self.world.clock.now_ns() + MS

    def _work(self) -> int:
        try:
            return sum(merge.poll(self._take, 20) for merge in self._merges)
        except AerowireError as failure:
            self.failure = failure
            return 0

    def _take(self, buffer: memoryview, offset: int, _length: int, _header: Header) -> None:
        self.received.append(struct.unpack_from("<i", buffer, offset)[0])


def test_delivers_every_message_once_and_ends_the_replay(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.archive.send(RECORDED_FIRST)
    world.run(SECOND)
    merge = setting.merge()
    setting.run(merge)
    assert len(setting.received) >= RECORDED_FIRST
    setting.archive.send(300)
    world.run(2 * SECOND)
    assert setting.received == list(range(RECORDED_FIRST + 300))
    (replay,) = [one for one in setting.archive.requests if type(one).__name__ == "ReplayRequest"]
    assert (replay.recording_id, replay.position, replay.length) == (RECORDING_ID, 0, (1 << 63) - 1)
    for parameter in (f"session-id={setting.archive.live.session_id}", "linger=0", "eos=false"):
        assert parameter in replay.replay_channel
    assert setting.archive.names().count("StopReplayRequest") == 1
    assert (merge.state, setting.archive.replays) == (MergeState.MERGED, [])
    assert merge.image is not None
    assert merge.image.active_transport_count == 1


def test_begins_where_it_is_told(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.archive.send(RECORDED_FIRST)
    world.run(SECOND)
    setting.run(setting.merge(start_position=1000 * FRAME))
    assert setting.received == list(range(1000, RECORDED_FIRST))


def test_loss_takes_no_message_and_merges_nothing_too_early(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(5):
        world_seed = rng.randrange(1 << 30)
        with SimulatedWorld(seed=world_seed) as world:
            setting = Setting(world)
            setting.archive.send(rng.randrange(100, 1500))
            world.run(SECOND)
            world.network.set_faults(loss=rng.choice([0.01, 0.05, 0.1]))
            merge = setting.merge()
            for _ in range(400):
                setting.archive.send(rng.randrange(20))
                if world.run(20 * MS, until=lambda: merge.is_merged):  # noqa: B023 - of this turn
                    break
            assert merge.is_merged, (world_seed, merge, setting.failure)
            assert merge.image is not None
            asked = [one for one in setting.archive.requests if type(one).__name__ == "MaxRecordedPositionRequest"]
            assert len(asked) >= 2
            assert merge.image.position >= merge._target > 0, world_seed
            setting.archive.send(200)
            world.run(20 * SECOND, until=lambda: len(setting.received) == setting.archive.sent and not setting.archive.unsent)  # noqa: B023
            assert setting.received == list(range(setting.archive.sent)), world_seed


def test_replays_again_what_the_live_stream_does_not_bring(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.archive.send(RECORDED_FIRST)
    world.run(SECOND)
    merge = setting.merge()

    def answer(request: Any) -> list[Any]:
        # A publisher that has no status message of this receiver yet goes on without sending, and the archive records it by a spy.
        if merge.state is MergeState.AWAIT_LIVE:
            setting.archive.ahead = 10 * FRAME
        return [ok(request, setting.archive.position + setting.archive.ahead)]

    setting.archive.answers["MaxRecordedPositionRequest"] = answer
    setting.run(merge)
    assert setting.received == list(range(RECORDED_FIRST + 10))
    first, second = [one for one in setting.archive.requests if type(one).__name__ == "ReplayRequest"]
    assert (first.position, second.position) == (0, RECORDED_FIRST * FRAME)
    assert f"session-id={setting.archive.live.session_id}" in second.replay_channel
    assert second.replay_channel != first.replay_channel  # a port of its own: the replay before may still be ending
    assert setting.archive.names().count("StopReplayRequest") == 2


def test_is_not_merged_while_the_live_stream_does_not_come(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.archive.send(RECORDED_FIRST)
    world.run(SECOND)
    merge = setting.merge("aeron:udp?endpoint=10.0.0.2:0|control=10.0.0.1:9999|control-mode=dynamic", merge_progress_timeout_ns="3s")
    started = world.clock.now_ns()
    with pytest.raises(ArchiveTimeoutError, match="a merge of recording 6 makes no progress") as caught:
        setting.run(merge)
    assert world.clock.now_ns() - started < 5 * SECOND
    assert f"at position {RECORDED_FIRST * FRAME} of {RECORDED_FIRST * FRAME}, with 1 transports" in str(caught.value)
    assert "does the live stream arrive" in str(caught.value)
    assert merge.has_failed
    assert setting.received == list(range(RECORDED_FIRST))
    assert merge.do_work() == 0


def test_is_not_merged_while_the_replay_is_behind_the_recording(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.archive.send(RECORDED_FIRST)
    world.run(SECOND)
    merge = setting.merge(merge_progress_timeout_ns="60s")
    setting.archive.answers["MaxRecordedPositionRequest"] = lambda _: []
    world.run(2 * SECOND)
    assert merge.state is MergeState.GET_RECORDING_POSITION
    assert setting.received == []


def test_an_image_that_begins_with_the_live_stream_cannot_be_merged(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.archive.send(RECORDED_FIRST)
    world.run(SECOND)
    setting.client.complete(setting.subscription.async_add_destination(LIVE_DESTINATION))
    setting.archive.send(10)
    world.run(SECOND)
    assert setting.subscription.is_connected
    with pytest.raises(AerowireError, match="begins behind the position to merge from, so that messages would be missing"):
        setting.run(setting.merge())
    assert setting.received == []


def test_an_error_of_the_replay_ends_the_merge_and_reaches_nobody_else(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.archive.send(RECORDED_FIRST)
    world.run(SECOND)
    merge = setting.merge("aeron:udp?endpoint=10.0.0.2:0|control=10.0.0.1:9999|control-mode=dynamic")
    world.run(SECOND, until=lambda: merge.state is MergeState.CATCHUP)
    (replay,) = [one for one in setting.archive.requests if type(one).__name__ == "ReplayRequest"]
    setting.archive.say(error(replay, 0, "replay failed to read"))
    with pytest.raises(ArchiveError, match="the archive reports an error: replay failed to read"):
        setting.run(merge)
    assert setting.session.poll_for_error_response() is None


def test_a_replay_that_ends_is_told(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.archive.send(RECORDED_FIRST)
    world.run(SECOND)
    live = "aeron:udp?endpoint=10.0.0.2:0|control=10.0.0.1:9999|control-mode=dynamic"
    merge = setting.merge(live, merge_progress_timeout_ns="60s")
    world.run(SECOND, until=lambda: len(setting.received) > 100)
    setting.archive.stop_replaying()
    with pytest.raises(AerowireError, match="the image of a merge has ended before it was merged"):
        setting.run(merge)


def test_a_refused_replay_and_an_unknown_recording_are_told(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.archive.send(10)
    setting.archive.answers["ReplayRequest"] = lambda request: [error(request, 7, "max concurrent replays reached 20")]
    with pytest.raises(ArchiveError, match="max concurrent replays reached 20"):
        setting.run(setting.merge())


def test_an_archive_that_goes_ends_the_merge(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.archive.send(RECORDED_FIRST)
    world.run(SECOND)
    live = "aeron:udp?endpoint=10.0.0.2:0|control=10.0.0.1:9999|control-mode=dynamic"
    merge = setting.merge(live, merge_progress_timeout_ns="60s")
    world.run(SECOND, until=lambda: merge.state is MergeState.CATCHUP)
    assert setting.archive.publication is not None
    setting.archive.publication.close()
    with pytest.raises(ArchiveConnectionError, match="not connected any more"):
        setting.run(merge)


def test_close_stops_the_replay_and_gives_its_destination_back(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.archive.send(RECORDED_FIRST)
    world.run(SECOND)
    with setting.merge("aeron:udp?endpoint=10.0.0.2:0|control=10.0.0.1:9999|control-mode=dynamic") as merge:
        world.run(SECOND, until=lambda: len(setting.received) > 100)
    world.run(15 * SECOND)
    assert merge.state is MergeState.CLOSED
    assert setting.archive.names().count("StopReplayRequest") == 1
    assert not setting.subscription.is_connected
    assert setting.session.control_session_id == SESSION_ID


@pytest.mark.parametrize(
    ("channel", "live", "expected"),
    [
        ("aeron:ipc", LIVE_DESTINATION, "only UDP channels can merge"),
        ("aeron:udp?control-mode=manual", "aeron:ipc", "only UDP channels can merge"),
        ("aeron:udp?endpoint=10.0.0.2:0", LIVE_DESTINATION, "the subscription takes no destinations"),
    ],
)
def test_refuses_channels_that_cannot_merge(world: SimulatedWorld, channel: str, live: str, expected: str) -> None:
    setting = Setting(world)
    setting.subscription = setting.client.complete(setting.client.aeron.async_add_subscription(channel, STREAM_ID))
    with pytest.raises(ConfigurationError, match=expected):
        setting.merge(live)
