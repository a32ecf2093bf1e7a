"""Recordings asked for, begun, extended, stopped and refused; all in one thread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aerowire.archive import ArchiveErrorCode, RecordingSignal, SourceLocation
from aerowire.base.errors import ArchiveError
from aerowire.client import initial_position
from aerowire.codecs.tables.counters import CounterType
from tests.archive.conductor.conftest import CHANNEL, FRAME_LENGTH, SEGMENT_LENGTH, STREAM_ID, TERM_LENGTH, Rig


def refusal(call: Any, *arguments: Any, **options: Any) -> tuple[str, ArchiveErrorCode]:
    with pytest.raises(ArchiveError) as caught:
        call(*arguments, **options)
    assert caught.value.error_code is not None
    return str(caught.value), ArchiveErrorCode(caught.value.error_code)


def extending_channel(rig: Rig, recording_id: int, **changes: int) -> str:
    """Return a channel that continues a recording, but for some parameters."""
    [found] = rig.client.list_recording(recording_id)
    position = changes.pop("position", found.stop_position)
    parameters = initial_position(
        position, changes.pop("initial_term_id", found.initial_term_id), changes.pop("term_length", found.term_buffer_length)
    )
    text = "|".join(f"{name.replace('_', '-')}={value}" for name, value in parameters.items())
    return f"aeron:ipc?{text}" + "".join(f"|{name}={value}" for name, value in changes.items())


def test_records_what_is_published(rig: Rig) -> None:
    subscription_id = rig.client.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    recording_id = rig.started()
    assert (rig.signals[0].signal, rig.signals[0].subscription_id, rig.signals[0].position) == (RecordingSignal.START, subscription_id, 0)
    end = rig.offer(publication, 10)
    rig.run(lambda: rig.client.get_recording_position(recording_id) == end)
    assert rig.client.get_stop_position(recording_id) == -1
    assert rig.client.get_max_recorded_position(recording_id) == end
    [found] = rig.client.list_recording(recording_id)
    assert (found.session_id, found.stream_id, found.stripped_channel, found.original_channel, found.source_identity) == (
        publication.session_id,
        STREAM_ID,
        "aeron:ipc",
        CHANNEL,
        "aeron:ipc",
    )
    assert (found.segment_file_length, found.term_buffer_length, found.is_active) == (SEGMENT_LENGTH, TERM_LENGTH, True)
    rig.client.stop_recording(subscription_id)
    rig.run(lambda: len(rig.signals) == 2)
    assert (rig.signals[1].signal, rig.signals[1].position) == (RecordingSignal.STOP, end)
    assert rig.client.get_stop_position(recording_id) == end
    assert rig.client.get_recording_position(recording_id) == -1
    assert rig.errors() == []


def test_shows_a_recording_by_its_counter(rig: Rig) -> None:
    rig.client.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    recording_id = rig.started()
    end = rig.offer(publication, 3)
    rig.run(lambda: rig.client.get_recording_position(recording_id) == end)
    counters = {counter.type_id: counter for counter in rig.aeron.counters_reader.for_each()}
    position = counters[CounterType.ARCHIVE_RECORDING_POSITION]
    assert position.value == end
    assert position.label == f"rec-pos: {recording_id} {publication.session_id} {STREAM_ID} aeron:ipc - archiveId=4711"
    key = recording_id.to_bytes(8, "little") + publication.session_id.to_bytes(4, "little", signed=True) + b"\x09\0\0\0aeron:ipc"
    assert position.key.startswith(key + (4711).to_bytes(8, "little"))
    assert counters[CounterType.ARCHIVE_RECORDING_SESSION_COUNT].value == 1
    assert counters[CounterType.ARCHIVE_CONTROL_SESSIONS].value == 1
    session = counters[CounterType.ARCHIVE_CONTROL_SESSION]
    assert session.value == rig.client.control_session_id
    assert session.reference_id > 0
    rig.client.stop_recording(CHANNEL, STREAM_ID)
    rig.run(lambda: len(rig.signals) == 2)
    rig.run(lambda: CounterType.ARCHIVE_RECORDING_POSITION not in {found.type_id for found in rig.aeron.counters_reader.for_each()})
    assert rig.aeron.counters_reader.value(counters[CounterType.ARCHIVE_RECORDING_SESSION_COUNT].counter_id) == 0


def test_each_image_of_a_subscription_is_a_recording(rig: Rig) -> None:
    subscription_id = rig.client.start_recording(CHANNEL, STREAM_ID)
    publications = [rig.publication(), rig.publication()]
    rig.run(lambda: len(rig.signals) == 2)
    found = {entry.recording_id: entry.session_id for entry in rig.client.list_recordings()}
    assert sorted(found.values()) == sorted(publication.session_id for publication in publications)
    rig.client.stop_recording(subscription_id)
    rig.run(lambda: len(rig.signals) == 4)
    assert rig.client.list_recording_subscriptions() == []


def test_a_recording_ends_with_its_publication_and_the_subscription_stays(rig: Rig) -> None:
    rig.client.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    recording_id = rig.started()
    end = rig.offer(publication, 2)
    publication.close()
    rig.run(lambda: len(rig.signals) == 2)
    assert rig.client.get_stop_position(recording_id) == end
    assert len(rig.client.list_recording_subscriptions()) == 1
    rig.publication()
    rig.run(lambda: len(rig.signals) == 3)
    assert rig.signals[2].recording_id == recording_id + 1


def test_with_auto_stop_the_subscription_ends_with_its_recording(rig: Rig) -> None:
    rig.client.start_recording(CHANNEL, STREAM_ID, auto_stop=True)
    publication = rig.publication()
    rig.started()
    publication.close()
    rig.run(lambda: len(rig.signals) == 2)
    assert rig.client.list_recording_subscriptions() == []


def test_refuses_what_is_recorded_already(rig: Rig) -> None:
    rig.client.start_recording(CHANNEL, STREAM_ID)
    text, code = refusal(rig.client.start_recording, "aeron:ipc?alias=other", STREAM_ID)
    assert code is ArchiveErrorCode.ACTIVE_SUBSCRIPTION
    assert f"recording exists for streamId={STREAM_ID} channel=aeron:ipc?alias=other" in text
    assert rig.client.start_recording(CHANNEL, STREAM_ID + 1) > 0


@pytest.mark.parametrize("channel", ["", "aeron:tcp?endpoint=h:1", "nonsense", "aeron:udp?endpoint=no-such-host.invalid:1|so-rcvbuf=much"])
def test_refuses_a_channel_that_is_none(rig: Rig, channel: str) -> None:
    _, code = refusal(rig.client.start_recording, channel, STREAM_ID, SourceLocation.REMOTE)
    assert code is ArchiveErrorCode.GENERIC
    assert rig.client.list_recording_subscriptions() == []


def test_tells_what_the_driver_refuses(rig: Rig) -> None:
    text, code = refusal(rig.client.start_recording, "aeron:udp?endpoint=127.0.0.1", STREAM_ID, SourceLocation.REMOTE)
    assert code is ArchiveErrorCode.GENERIC
    assert "the driver refused to add subscription" in text
    assert rig.client.list_recording_subscriptions() == []


def test_records_a_udp_publication_of_the_same_driver_through_a_spy(rig: Rig) -> None:
    channel = "aeron:udp?endpoint=127.0.0.1:24325|ssc=true|term-length=64k"
    rig.client.start_recording(channel, STREAM_ID, SourceLocation.LOCAL)
    publication = rig.publication(channel)
    recording_id = rig.started()
    end = rig.offer(publication, 5)
    rig.run(lambda: rig.client.get_recording_position(recording_id) == end)
    [found] = rig.client.list_recording_subscriptions()
    assert found.stripped_channel == "aeron-spy:aeron:udp?endpoint=127.0.0.1:24325"
    [entry] = rig.client.list_recording(recording_id)
    assert entry.stripped_channel == "aeron:udp?endpoint=127.0.0.1:24325"


def test_start_and_stop_without_an_image_give_the_place_back(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "archive", max_concurrent_recordings=2)
    for _ in range(5):
        subscription_id = rig.client.start_recording(CHANNEL, STREAM_ID)
        rig.client.stop_recording(subscription_id)
    for stream_id in (1, 2):
        rig.client.start_recording(CHANNEL, stream_id)
    text, code = refusal(rig.client.start_recording, CHANNEL, 3)
    assert code is ArchiveErrorCode.MAX_RECORDINGS
    assert "max concurrent recordings reached 2" in text
    rig.client.stop_recording(CHANNEL, 1)
    assert rig.client.start_recording(CHANNEL, 3) > 0
    rig.close()


def test_refuses_recordings_when_space_is_low(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "archive", low_storage_space_threshold=1 << 62)
    text, code = refusal(rig.client.start_recording, CHANNEL, STREAM_ID)
    assert code is ArchiveErrorCode.STORAGE_SPACE
    assert f"low storage threshold={1 << 62} <= usableSpace=" in text
    rig.close()


def test_a_start_that_is_stopped_before_the_driver_has_answered_is_refused(rig: Rig) -> None:
    start, stop = rig.client.async_start_recording(CHANNEL, STREAM_ID), rig.client.async_stop_recording(CHANNEL, STREAM_ID)
    rig.run(lambda: start.poll() and stop.poll())
    stop.result()
    with pytest.raises(ArchiveError, match="ended before the driver had answered: stop recording"):
        start.result()
    assert rig.client.start_recording(CHANNEL, STREAM_ID) > 0


def test_stops_in_all_forms(rig: Rig) -> None:
    for stop in ("subscription", "channel", "identity"):
        subscription_id = rig.client.start_recording(CHANNEL, STREAM_ID)
        publication = rig.publication()
        recording_id = rig.started()
        if stop == "subscription":
            rig.client.stop_recording(subscription_id)
        elif stop == "channel":
            rig.client.stop_recording("aeron:ipc", STREAM_ID)
        else:
            assert rig.client.try_stop_recording_by_identity(recording_id)
        rig.run(lambda: rig.signals[-1].signal is RecordingSignal.STOP)
        publication.close()
        assert rig.client.list_recording_subscriptions() == []
        rig.signals.clear()
    assert not rig.client.try_stop_recording_by_identity(0)
    assert not rig.client.try_stop_recording(99)
    assert refusal(rig.client.stop_recording, "aeron:ipc", 5)[1] is ArchiveErrorCode.UNKNOWN_SUBSCRIPTION
    assert refusal(rig.client.try_stop_recording_by_identity, 99)[1] is ArchiveErrorCode.UNKNOWN_RECORDING


def test_a_recording_that_ends_on_a_segment_end_leaves_no_extra_file(rig: Rig) -> None:
    payload = bytes(FRAME_LENGTH - 32)
    subscription_id = rig.client.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    recording_id = rig.started()
    rig.offer(publication, 62)
    rest = 65536 - publication.position
    rig.run(lambda: publication.offer(payload[: rest - 32]) > 0)
    assert publication.position == 65536
    rig.run(lambda: rig.client.get_recording_position(recording_id) == 65536)
    rig.client.stop_recording(subscription_id)
    rig.run(lambda: rig.client.get_stop_position(recording_id) == 65536)
    assert rig.segments() == [f"{recording_id}-0.rec"]


def test_extends_a_recording_from_where_it_stopped(rig: Rig) -> None:
    recording_id, end = rig.record(5)
    subscription_id = rig.client.extend_recording(recording_id, CHANNEL, STREAM_ID)
    publication = rig.publication(extending_channel(rig, recording_id))
    assert rig.started() == recording_id
    assert (rig.signals[0].signal, rig.signals[0].position, rig.signals[0].subscription_id) == (
        RecordingSignal.EXTEND,
        end,
        subscription_id,
    )
    assert rig.offer(publication, 5) == 2 * end
    rig.run(lambda: rig.client.get_recording_position(recording_id) == 2 * end)
    rig.client.stop_recording(subscription_id)
    rig.run(lambda: rig.client.get_stop_position(recording_id) == 2 * end)
    [found] = rig.client.list_recordings()
    assert (found.start_position, found.session_id) == (0, publication.session_id)


@pytest.mark.parametrize(
    ("changes", "parameter"),
    [
        ({"position": FRAME_LENGTH}, "image.joinPosition=1056 != rec.stopPosition=5280"),
        ({"initial_term_id": 3}, "image.initialTermId=3 != rec.initialTermId="),
        ({"term_length": 2 * TERM_LENGTH}, "image.termBufferLength=131072 != rec.termBufferLength=65536"),
        ({"mtu": 2048}, "image.mtuLength=2048 != rec.mtuLength=1408"),
    ],
)
def test_says_which_parameter_does_not_continue_a_recording(rig: Rig, changes: dict[str, int], parameter: str) -> None:
    recording_id, end = rig.record(5)
    rig.client.extend_recording(recording_id, CHANNEL, STREAM_ID)
    rig.publication(extending_channel(rig, recording_id, **changes))
    rig.run(lambda: rig.failures)
    assert parameter in str(rig.failures[0])
    assert rig.failures[0].error_code == ArchiveErrorCode.INVALID_EXTENSION
    assert rig.client.get_stop_position(recording_id) == end


def test_refuses_extensions_that_cannot_be(rig: Rig) -> None:
    recording_id, _ = rig.record(5)
    assert refusal(rig.client.extend_recording, 99, CHANNEL, STREAM_ID)[1] is ArchiveErrorCode.UNKNOWN_RECORDING
    text, code = refusal(rig.client.extend_recording, recording_id, CHANNEL, 5)
    assert code is ArchiveErrorCode.UNKNOWN_RECORDING
    assert f"streamId=5 for existing streamId={STREAM_ID}" in text
    rig.client.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    active = rig.started()
    assert refusal(rig.client.extend_recording, active, "aeron:ipc?session-id=5", STREAM_ID)[1] is ArchiveErrorCode.ACTIVE_RECORDING
    publication.close()


def test_publishes_the_events_of_recordings(tmp_path: Path) -> None:
    from aerowire.codecs.flyweights import archive

    rig = Rig(tmp_path / "archive", recording_events_enabled=True, recording_events_channel="aeron:ipc?alias=events")
    messages: list[Any] = []
    subscription = rig.aeron.add_subscription("aeron:ipc?alias=events", 30)
    rig.run(lambda: subscription.is_connected)
    recording_id, end = rig.record(5)
    rig.run(
        lambda: subscription.poll(lambda buffer, offset, length, _: messages.append(archive.decode(buffer[offset : offset + length]))) == 0
    )
    started, *progress, stopped = messages
    assert (started.recording_id, started.start_position, started.stream_id, started.channel) == (recording_id, 0, STREAM_ID, CHANNEL)
    assert [type(message).__name__ for message in progress] == ["RecordingProgress"] * len(progress)
    assert progress[-1].position == end
    assert (stopped.recording_id, stopped.start_position, stopped.stop_position) == (recording_id, 0, end)
    rig.close()


def test_a_recording_goes_on_when_its_client_has_gone(rig: Rig) -> None:
    other = rig.connect()
    other.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    recording_id = rig.started()
    rig.disconnect(other)
    end = rig.offer(publication, 5)
    rig.run(lambda: rig.client.get_recording_position(recording_id) == end)
    rig.client.stop_recording(CHANNEL, STREAM_ID)
    rig.run(lambda: rig.client.get_stop_position(recording_id) == end)


def test_a_restart_knows_what_was_recorded(rig: Rig) -> None:
    rig.client.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    recording_id = rig.started()
    end = rig.offer(publication, 5)
    rig.run(lambda: rig.client.get_recording_position(recording_id) == end)
    rig.clients.clear()
    rig.archive.close()
    rig.run(lambda: True)
    rig.archive = rig.launch()
    rig.client = rig.connect()
    assert rig.client.get_stop_position(recording_id) == end
    assert rig.client.archive_id == 4711


@pytest.mark.parametrize("count", [10, 62])
def test_an_extension_gives_up_what_a_truncation_that_died_has_left_behind(rig: Rig, count: int) -> None:
    recording_id, _ = rig.record(300)
    position = count * FRAME_LENGTH if count < 62 else SEGMENT_LENGTH
    rig.archive.conductor.core.catalog.set_stop_position(recording_id, position)  # which a truncation does first
    rig.client.extend_recording(recording_id, CHANNEL, STREAM_ID)
    publication = rig.publication(extending_channel(rig, recording_id))
    assert rig.started() == recording_id
    end = rig.offer(publication, 5)
    rig.run(lambda: rig.client.get_recording_position(recording_id) == end)
    last = end - end % SEGMENT_LENGTH
    left = [name for name in rig.segments() if name.endswith(".rec")]
    assert left[-1] == f"{recording_id}-{last}.rec"
    assert not any((rig.directory / left[-1]).read_bytes()[end - last :])
    rig.offer(publication, 200)


def test_an_image_that_is_not_recorded_does_not_hold_its_publisher_up(rig: Rig) -> None:
    recording_id, _ = rig.record(1)
    rig.client.extend_recording(recording_id, CHANNEL, STREAM_ID)
    publication = rig.publication()
    rig.run(lambda: rig.failures)
    assert rig.failures[0].error_code == ArchiveErrorCode.INVALID_EXTENSION
    rig.offer(publication, 4 * TERM_LENGTH // FRAME_LENGTH)


def test_an_image_whose_recording_was_stopped_does_not_hold_its_publisher_up(rig: Rig) -> None:
    rig.client.start_recording(CHANNEL, STREAM_ID)
    publications = [rig.publication() for _ in range(2)]
    rig.run(lambda: len(rig.signals) == 2)
    stopped, other = (signal.recording_id for signal in rig.signals)
    assert rig.client.try_stop_recording_by_identity(stopped)
    publications.append(rig.publication())  # which is not recorded, and comes while another one still is
    ends = [rig.offer(publication, 4 * TERM_LENGTH // FRAME_LENGTH) for publication in publications]
    rig.run(lambda: rig.client.get_recording_position(other) == ends[1])


def test_an_error_of_the_archives_client_is_in_its_error_log(rig: Rig) -> None:
    report = rig.archive.aeron.context.error_handler
    assert report is not None
    report(OSError("no memory for a log"))
    rig.run(lambda: any("no memory for a log" in text for text in rig.errors()))
