"""UDP streams that archives record and replay between two drivers: an archive on a driver of the other side, clients of both sides."""

from __future__ import annotations

import pytest

from aerowire.archive import REPLAY_ALL_AND_STOP, AeronArchive, ReplayParams, SourceLocation
from aerowire.client import build_channel, initial_position
from tests.interop.archive.content import Batch, hash_of
from tests.interop.archive.nodes import finish, start_archive
from tests.interop.harness import Side
from tests.interop.scenarios import LENGTH_MAX, LIMIT_S, TERM_LENGTH, End, Scenario, describe, lossy_network, other
from tests.support.processes import free_port
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

STREAM_ID, REPLAY_STREAM_ID = 8001, 8101
GROUP = "239.255.71.41"
FIRST, SECOND = Batch(41, 300), Batch(42, 200)


def publish(scenario: Scenario, archive: AeronArchive, end: End, channel: str, batch: Batch, *, recording_id: int = 0) -> int:
    """Let a client publish a batch, wait until it is recorded and its stream has ended; return the position behind it."""
    given = {"channel": channel, "stream": STREAM_ID, "seed": batch.seed, "length_max": LENGTH_MAX, "messages": batch.messages}
    publisher = scenario.bench.peer(end.side, "publisher", end.driver, timeout=int(LIMIT_S), **given)
    sent = publisher.outcome("publisher", LIMIT_S)
    position = int(sent["position"])
    archive.await_recorded(recording_id, position)
    assert publisher.finish() == 0, publisher.said()
    wait_until(lambda: archive.get_stop_position(recording_id) == position, "the recording's stop", work=archive.poll)
    scenario.row.terms = position // TERM_LENGTH
    return position


def replay(scenario: Scenario, archive: AeronArchive, end: End, *content: Batch, recording_id: int = 0) -> None:
    """Let a client receive a replay over UDP, and assert that it gets this content."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    messages = sum(batch.messages for batch in content)
    given = {"channel": channel, "stream": REPLAY_STREAM_ID, "messages": messages, "timeout": int(LIMIT_S)}
    subscriber = scenario.bench.peer(end.side, "subscriber", end.driver, **given)
    assert subscriber.result(LIMIT_S)["ready"]
    archive.start_replay(recording_id, channel, REPLAY_STREAM_ID, ReplayParams(length=REPLAY_ALL_AND_STOP))
    found = subscriber.outcome("subscriber", LIMIT_S)
    expected = hash_of(*content)
    assert {name: found[name] for name in expected} == expected
    assert subscriber.finish() == 0, subscriber.said()
    scenario.row.messages = messages
    scenario.row.subscribing = [describe(end)]
    scenario.observed("content hash")


@pytest.mark.parametrize("network", ["clean", pytest.param("lossy", marks=pytest.mark.lossy)])
@pytest.mark.parametrize("archive_side", ["official", "aerowire"])
def test_a_udp_stream_is_recorded_replayed_and_extended(scenario: Scenario, archive_side: Side, network: str) -> None:
    is_lossy = network == "lossy"
    loss = ", 5 % loss each way" if is_lossy else ""
    near, far = (scenario.driver(side, lossy_network(side) if is_lossy else None) for side in (other(archive_side), archive_side))
    node = start_archive(scenario, archive_side, near)
    publishers = [End(side, far) for side in (other(archive_side), archive_side)]
    endpoint = f"127.0.0.1:{free_port()}"
    channel = f"aeron:udp?endpoint={endpoint}"
    with node.connect("ipc") as archive:
        scenario.feature(f"Archive: UDP stream recorded and replayed{loss}")
        scenario.row.publishing = f"{describe(publishers[0])}, by the {archive_side} archive, {near.side} driver"
        archive.start_recording(channel, STREAM_ID, SourceLocation.REMOTE, auto_stop=True)
        position = publish(scenario, archive, publishers[0], f"{channel}|term-length=64k", FIRST)
        replay(scenario, archive, publishers[0], FIRST)

        scenario.next_feature(f"Archive: UDP stream recorded and replayed{loss}")
        replay(scenario, archive, publishers[1], FIRST)

        scenario.next_feature(f"Archive: UDP stream extended by another client, and replayed{loss}")
        (recording,) = archive.list_recording(0)
        start = initial_position(position, recording.initial_term_id, recording.term_buffer_length)
        archive.extend_recording(0, channel, STREAM_ID, SourceLocation.REMOTE, auto_stop=True)
        publish(scenario, archive, publishers[1], build_channel("udp", is_spy=False, endpoint=endpoint, **start), SECOND)
        replay(scenario, archive, publishers[0], FIRST, SECOND)
        if is_lossy:
            scenario.prove(near, "NAKs sent")
            scenario.prove(near, "Retransmits sent")
            scenario.prove(far, "NAKs sent")
            scenario.prove(far, "Retransmits sent")
        else:
            scenario.next_feature("Archive: multicast stream recorded and replayed")
            group = f"aeron:udp?endpoint={GROUP}:{free_port()}|interface=localhost"
            archive.start_recording(group, STREAM_ID, SourceLocation.REMOTE, auto_stop=True)
            publish(scenario, archive, publishers[0], f"{group}|term-length=64k", FIRST, recording_id=1)
            replay(scenario, archive, publishers[0], FIRST, recording_id=1)
    finish(scenario, node)
