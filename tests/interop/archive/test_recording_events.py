"""Recording events and counters of an official archive, read by our client."""

from __future__ import annotations

import pytest

from aerowire.archive import (
    RecordingProgress,
    RecordingStarted,
    RecordingStopped,
    describe_recording_counter,
    find_counter_id_by_recording,
    find_counter_id_by_session,
    is_recording_active,
)
from tests.interop.archive.nodes import ARCHIVE_ID, finish, start_archive
from tests.interop.harness import Side
from tests.interop.scenarios import Scenario
from tests.support.processes import free_port
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


@pytest.mark.parametrize("driver_side", ["official", "aerowire"])
def test_a_recording_is_followed_by_its_events_and_by_its_counter(scenario: Scenario, driver_side: Side) -> None:
    scenario.feature("Archive client: recording events and positions")
    channel = f"aeron:udp?control-mode=dynamic|control=127.0.0.1:{free_port()}"
    properties = {"aeron.archive.recording.events.enabled": "true", "aeron.archive.recording.events.channel": channel}
    node = start_archive(scenario, "official", scenario.driver(driver_side), properties)
    with node.connect("ipc", recording_events_channel=channel) as archive:
        events = archive.add_recording_events()
        wait_until(lambda: events.subscription.is_connected, "the archive's events")
        publication = archive.add_recorded_exclusive_publication("aeron:ipc?term-length=64k", 7)
        for _ in range(100):
            publication.send(b"recorded", timeout_ns="60s")
        counters = archive.aeron.counters_reader
        wait_until(lambda: find_counter_id_by_session(counters, publication.session_id) >= 0, "the counter")
        counter_id = find_counter_id_by_recording(counters, 0, int(ARCHIVE_ID))
        found = describe_recording_counter(counters, counter_id)
        assert found is not None
        assert (found.recording_id, found.session_id, found.archive_id) == (0, publication.session_id, int(ARCHIVE_ID))
        wait_until(lambda: counters.value(counter_id) == publication.position, "all recorded")
        archive.stop_recording(publication)
        seen: list[object] = []

        def has_stopped() -> bool:
            seen.extend(events.poll())
            return any(isinstance(one, RecordingStopped) for one in seen)

        wait_until(has_stopped, "the end of the recording")
        wait_until(lambda: not is_recording_active(counters, counter_id, 0), "the counter is given back")
        end = publication.position
    assert seen[0] == RecordingStarted(
        0, 0, publication.session_id, 7, f"aeron:ipc?term-length=64k|session-id={publication.session_id}", "aeron:ipc"
    )
    assert [one.position for one in seen if isinstance(one, RecordingProgress)][-1] == end
    assert seen[-1] == RecordingStopped(0, 0, end)
    scenario.observed(f"{len(seen)} events, the counter up to {end}")
    finish(scenario, node)
