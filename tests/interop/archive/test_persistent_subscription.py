"""A persistent subscription of our client: from the recording to the live stream, and on when the publisher is started again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pytest

from aerowire.archive import FROM_START, AeronArchive, ArchiveClientContext, PersistentStream, PersistentSubscription
from aerowire.base.errors import AerowireError
from aerowire.client import build_channel, initial_position
from aerowire.codecs.tables.counters import CounterType
from tests.interop.archive.nodes import ArchiveNode, finish, response_channel, restart_archive, start_archive
from tests.interop.archive.test_replay_merge import LIVE_AFTER, RECORDED_FIRST, STREAM_ID, LiveStream
from tests.interop.harness import Side
from tests.interop.scenarios import Scenario, losing_arrivals
from tests.support.waiting import rest, wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


def replay_channel(kind: str) -> str:
    return response_channel() if kind == "response channel" else {"port 0": "aeron:udp?endpoint=127.0.0.1:0", "ipc": "aeron:ipc"}[kind]


def follow(node: ArchiveNode, archive: AeronArchive, kind: str, reconnect: Callable[[], AeronArchive] | None = None) -> None:
    """Follow a stream whose publisher is started again, and whose archive is, where `reconnect` does that and returns its new client."""
    live = LiveStream(archive)
    live.send_all(RECORDED_FIRST)
    (recording,) = archive.list_recordings()
    told: list[str] = []
    errors: list[AerowireError] = []
    requests, responses = node.channels("udp")
    subscription = PersistentSubscription(
        archive.aeron,
        PersistentStream(
            recording_id=recording.recording_id,
            live_channel=live.destination,
            live_stream_id=STREAM_ID,
            replay_channel=replay_channel(kind),
            replay_stream_id=STREAM_ID + 1,
            start_position=FROM_START,
        ),
        ArchiveClientContext(control_request_channel=requests, control_response_channel=responses, environ={}),
        on_live_joined=lambda: told.append("joined"),
        on_live_left=lambda: told.append("left"),
        on_error=errors.append,
    )

    def work() -> None:
        if subscription.poll(live.take, 50) == 0:
            rest()

    def everything(sent: int) -> None:
        def send_and_work() -> None:
            live.send(min(5, sent - live.sent))
            work()

        wait_until(
            lambda: len(live.received) >= sent, lambda: f"{subscription}, {len(live.received)} of {sent}, {errors}", work=send_and_work
        )
        assert live.received == list(range(sent))

    with subscription:
        wait_until(lambda: subscription.is_live, lambda: f"{subscription}, {errors}", work=work)
        everything(RECORDED_FIRST + LIVE_AFTER)
        position = live.publication.position
        wait_until(lambda: archive.get_max_recorded_position(recording.recording_id) == position, "the recording", work=work)
        archive.try_stop_recording_by_identity(recording.recording_id)
        if reconnect is not None:
            archive = reconnect()
        live.publication.close()
        wait_until(lambda: archive.get_stop_position(recording.recording_id) == position, "the recording's stop", work=work)
        start = initial_position(position, recording.initial_term_id, recording.term_buffer_length)
        control = live.destination.partition("control=")[2].partition("|")[0]
        channel = build_channel("udp", is_spy=False, control=control, control_mode="dynamic", ssc=True, **start)
        archive.extend_recording(recording.recording_id, channel, STREAM_ID)
        live.publication = archive.aeron.add_exclusive_publication(channel, STREAM_ID)
        everything(RECORDED_FIRST + 2 * LIVE_AFTER)
        wait_until(lambda: subscription.is_live, lambda: f"{subscription}, {errors}", work=work)
        assert told == ["joined", "left"] * told.count("left") + ["joined"]
        assert "left" in told
        counters = {one.type_id: one.value for one in archive.aeron.counters_reader.for_each()}
        assert counters[CounterType.PERSISTENT_SUBSCRIPTION_LIVE_JOINED_COUNT] == told.count("joined")


@pytest.mark.parametrize(
    ("archive_side", "driver_side", "kind", "network"),
    [
        ("official", "official", "port 0", "clean"),
        ("official", "aerowire", "port 0", "clean"),
        ("official", "aerowire", "ipc", "clean"),
        ("official", "aerowire", "response channel", "clean"),
        ("aerowire", "official", "response channel", "clean"),
        ("aerowire", "official", "port 0", "clean"),
        ("aerowire", "aerowire", "ipc", "clean"),
        pytest.param("official", "aerowire", "response channel", "lossy", marks=pytest.mark.lossy),
        pytest.param("aerowire", "official", "port 0", "lossy", marks=pytest.mark.lossy),
    ],
)
def test_follows_a_stream_from_its_recording_on(scenario: Scenario, archive_side: Side, driver_side: Side, kind: str, network: str) -> None:
    is_lossy = network == "lossy"
    scenario.feature(f"Archive client: persistent subscription, replay by {kind}" + (", 5 % loss" if is_lossy else ""))
    loss = losing_arrivals(driver_side, 0.05) if is_lossy else {}
    driver = scenario.driver(driver_side, {"aeron.image.liveness.timeout": "2s", **loss})
    node = start_archive(scenario, archive_side, driver)
    again = "a publisher that was started again"
    with ExitStack() as clients:
        archive = clients.enter_context(node.connect("ipc"))
        if (archive_side, driver_side, kind, is_lossy) == ("official", "aerowire", "port 0", False):
            again = "an archive and a publisher that were started again"

            def reconnect() -> AeronArchive:
                nonlocal node
                node = restart_archive(scenario, node)
                return clients.enter_context(node.connect("ipc"))

            follow(node, archive, kind, reconnect)
        else:
            follow(node, archive, kind)
        if is_lossy:
            scenario.prove(driver, "NAKs sent")
    scenario.observed(f"every message once, over {again}")
    finish(scenario, node)
