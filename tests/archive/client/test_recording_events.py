"""Recording events as an official archive published them, and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.archive import RecordingEventsPoller, RecordingProgress, RecordingStarted, RecordingStopped
from aerowire.archive.client.recording_events import decode_recording_event
from tests.archive.client.fake_session import FakeSubscription
from tests.archive.client.test_requests import captured

# Of archive_control.pcap.
PROGRESS = bytes.fromhex("1800660065000e0000000000000000004006000000000000800c000000000000")


def poller_of(*messages: bytes) -> tuple[RecordingEventsPoller, FakeSubscription]:
    subscription: Any = FakeSubscription()
    subscription.messages = list(messages)
    return RecordingEventsPoller(subscription), subscription


def test_reads_the_events_that_an_official_archive_published() -> None:
    names = {"RecordingStarted", "RecordingProgress", "RecordingStopped"}
    messages = [message for message, record in captured("archive_control") if type(record).__name__ in names]
    poller, _ = poller_of(*messages)
    events = poller.poll(1000)
    assert [len([one for one in events if isinstance(one, kind)]) for kind in (RecordingStarted, RecordingProgress, RecordingStopped)] == [
        4,
        24,
        4,
    ]
    first = events[0]
    assert isinstance(first, RecordingStarted)
    assert (first.recording_id, first.start_position, first.session_id, first.stream_id) == (0, 0, 1126005870, 1001)
    assert first.channel.startswith("aeron:udp?endpoint=127.0.0.1:8015")
    ends = [one for one in events if isinstance(one, RecordingStopped)]
    assert [(one.recording_id, one.start_position, one.stop_position) for one in ends] == [
        (0, 0, 3200),
        (1, 0, 317056),
        (0, 1600, 3200),
        (2, 0, 7680),
    ]
    assert poller.dropped == 0


def test_reads_at_most_as_much_as_it_is_told() -> None:
    poller, subscription = poller_of(PROGRESS, PROGRESS, PROGRESS)
    assert poller.poll(2) == [RecordingProgress(0, 1600, 3200)] * 2
    assert len(subscription.messages) == 1


@pytest.mark.parametrize(
    "message",
    [b"", PROGRESS[:7], PROGRESS[:-1], PROGRESS[:2] + b"\x01\x00" + PROGRESS[4:], PROGRESS[:4] + b"\x6f\x00" + PROGRESS[6:]],
)
def test_counts_and_drops_what_is_no_event(message: bytes) -> None:
    assert decode_recording_event(message) is None
    poller, _ = poller_of(message, PROGRESS)
    assert poller.poll() == [RecordingProgress(0, 1600, 3200)]
    assert poller.dropped == 1
