"""What others do wrong, or wish ill, ends neither the archive nor what it does for the rest, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aerowire.archive import AeronArchive, ArchiveErrorCode, FixedCredentials, ReplicationParams
from aerowire.archive.client.descriptors import RecordingDescriptor
from aerowire.base.errors import RingBufferFullError
from aerowire.codecs.tables.counters import CounterType
from aerowire.security.authentication import Authenticator
from tests.archive.conductor.conftest import CHANNEL, STREAM_ID, Rig
from tests.archive.conductor.test_recordings import refusal
from tests.support.processes import free_port


class Fragile(Authenticator):
    """Raises for a client with other credentials than none, and for one that closes while it `fails`."""

    def __init__(self) -> None:
        self.fails = False

    def on_connect_request(self, _session_id: int, encoded_credentials: bytes, _now_ms: int, /) -> None:
        if encoded_credentials:
            raise ValueError("the credentials are no number")

    def on_session_closed(self, session_id: int, /) -> None:
        if self.fails:
            raise KeyError(session_id)


class WithoutCounters:
    """A client that adds no counter."""

    def __init__(self, aeron: Any, add_counter: Any) -> None:
        self._aeron = aeron
        self.async_add_counter = add_counter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._aeron, name)


@pytest.fixture
def fragile(tmp_path: Path) -> Iterator[tuple[Rig, Fragile]]:
    authenticator = Fragile()
    found = Rig(tmp_path / "archive", authenticator=authenticator)
    yield found, authenticator
    authenticator.fails = False
    found.close()


def session_counters(rig: Rig) -> tuple[int, int]:
    """Return how many control sessions the archive counts, and how many counters of sessions the driver has."""
    counters = list(rig.aeron.counters_reader.for_each())
    [counted] = [one.value for one in counters if one.type_id == CounterType.ARCHIVE_CONTROL_SESSIONS]
    return counted, sum(one.type_id == CounterType.ARCHIVE_CONTROL_SESSION for one in counters)


def test_an_authenticator_that_raises_for_a_client_leaves_nothing_of_it(fragile: tuple[Rig, Fragile]) -> None:
    rig, _ = fragile
    for _ in range(3):
        pending = AeronArchive.async_connect(
            aeron=rig.aeron,
            control_request_channel=CHANNEL,
            control_response_channel=CHANNEL,
            credentials_supplier=FixedCredentials(b"seven"),
            agent_invoker=rig.archive.invoker,
        )
        for _ in range(500):
            rig.cycle()
            assert not pending.poll()
        pending.abandon()
    assert session_counters(rig) == (1, 1)
    assert any("the credentials are no number" in text for text in rig.errors())
    rig.connect()
    assert session_counters(rig) == (2, 2)


def test_an_authenticator_that_raises_for_a_session_that_has_ended_keeps_nothing_of_it(fragile: tuple[Rig, Fragile]) -> None:
    rig, authenticator = fragile
    other = rig.connect()
    assert session_counters(rig) == (2, 2)
    authenticator.fails = True
    rig.disconnect(other)
    rig.run(lambda: session_counters(rig) == (1, 1))
    assert rig.client.list_recordings() == []


def test_a_driver_that_takes_no_commands_leaves_no_recording_that_never_ends(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: Any, **_options: Any) -> None:
        raise RingBufferFullError("the driver takes no commands", where="to-driver ring")

    rig.client.start_recording(CHANNEL, STREAM_ID)
    monkeypatch.setattr(rig.archive.conductor.core, "aeron", WithoutCounters(rig.archive.conductor.core.aeron, full))
    publication = rig.publication()
    rig.run(lambda: rig.failures)
    monkeypatch.undo()
    assert "the driver takes no commands" in str(rig.failures[0])
    [found] = rig.client.list_recordings()
    assert (found.start_position, found.stop_position) == (0, 0)
    assert rig.offer(publication, 300) > 3 * 65536  # nothing holds the publisher up


def test_a_deletion_that_is_under_way_when_the_archive_closes_is_completed(rig: Rig) -> None:
    recording_id, _ = rig.record(500)
    assert len(rig.segments()) == 9
    assert rig.client.truncate_recording(recording_id, 65536) == 8
    rig.archive.close()
    assert rig.segments() == [f"{recording_id}-0.rec"]


@pytest.fixture
def copying(tmp_path: Path) -> Iterator[Rig]:
    """An archive that is its own source, by its control channel."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    found = Rig(tmp_path / "archive", control_channel_enabled=True, control_channel=channel)
    yield found
    found.close()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"term_buffer_length": 0}, "termBufferLength 0"),
        ({"segment_file_length": 65537}, "segmentFileLength 65537"),
        ({"mtu_length": -1}, "mtuLength -1"),
        ({"start_position": -64}, "startPosition -64"),
        ({"start_position": 1 << 40, "stop_position": 64}, "stopPosition 64"),
        ({"stripped_channel": "aeron:ipc?alias=" + "x" * 9000}, "too long for a descriptor"),
        ({"source_identity": "x" * 9000}, "too long for a descriptor"),
    ],
)
def test_a_source_whose_descriptor_cannot_be_is_not_copied(
    copying: Rig, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], text: str
) -> None:
    recording_id, _ = copying.record(5)
    before = (copying.directory / "archive.catalog").read_bytes()
    of = RecordingDescriptor.of
    monkeypatch.setattr(RecordingDescriptor, "of", lambda found: replace(of(found), **changes))
    copying.client.replicate(recording_id, 10, copying.archive.context.control_channel, ReplicationParams())
    copying.run(lambda: any(signal.signal.name == "REPLICATE_END" for signal in copying.signals), cycles=2_000_000)
    monkeypatch.undo()
    assert text in str(copying.failures[0])
    assert (copying.directory / "archive.catalog").read_bytes() == before
    assert [one.recording_id for one in copying.client.list_recordings()] == [recording_id]


def test_a_recording_that_would_have_countless_segments_is_purged_by_the_files_that_are_there(rig: Rig) -> None:
    recording_id, _ = rig.record(300)
    catalog = rig.archive.conductor.core.catalog
    far = 1 << 56
    catalog.set_stop_position(recording_id, far)
    assert rig.client.purge_segments(recording_id, far - 65536) == 5
    rig.run(lambda: rig.segments() == [])
    catalog.set_start_position(recording_id, 0)
    (rig.directory / f"{recording_id}-131072.rec").write_bytes(bytes(65536))
    rig.signals.clear()
    assert rig.client.truncate_recording(recording_id, 65536) == 1
    rig.run(lambda: rig.signals)
    assert rig.segments() == []
    assert refusal(rig.client.truncate_recording, recording_id, 1 << 57)[1] is ArchiveErrorCode.INVALID_POSITION


def test_the_start_of_an_attached_segment_is_found_without_a_look_at_each_of_its_zeros(tmp_path: Path) -> None:
    from aerowire.archive.conductor.segment_files import start_of_segment
    from aerowire.recordings.catalog_entry import RecordingEntry
    from tests.support.archives.recordings import RecordingWriter, write_catalog

    file_length = 4 << 20

    class Sliced(bytes):
        """Counts what is taken of it."""

        taken = 0

        def __getitem__(self, key: Any) -> Any:
            Sliced.taken += 1
            return super().__getitem__(key)

    class Zeros:
        """A segment file whose first frame is at its end."""

        path = "0-0.rec"

        def read(self, offset: int, length: int) -> bytes:
            end = min(offset + length, len(content))
            return Sliced(content[offset:end]) if offset < file_length - 4096 else content[offset:end]

    writer = RecordingWriter(tmp_path, stream_id=STREAM_ID)
    writer.message(b"x")
    frame = bytearray((tmp_path / "0-0.rec").read_bytes()[:64])
    frame[8:12] = (file_length - 64).to_bytes(4, "little")
    content = bytes(file_length - 64) + bytes(frame)
    write_catalog(tmp_path, [writer])
    entry = RecordingEntry(
        recording_id=0,
        start_timestamp_ms=0,
        start_position=file_length,
        initial_term_id=writer.initial_term_id,
        segment_file_length=file_length,
        term_buffer_length=file_length,
        mtu_length=1408,
        session_id=0,
        stream_id=STREAM_ID,
        stripped_channel="",
        original_channel="",
        source_identity="",
    )
    assert start_of_segment(Zeros(), entry, 0) == file_length - 64  # type: ignore[arg-type]
    assert Sliced.taken < 5_000, "131,072 frames could begin there"
