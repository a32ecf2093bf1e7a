"""A recorded log through a service: what is noted of it, where a replay begins and ends, and recorded snapshots beside replayed ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aerowire.archive.files.offline_catalog import OfflineCatalog
from aerowire.base.errors import ArchiveFileError, ClusterServiceError, ConfigurationError
from aerowire.client import ExclusivePublication, Header, Image
from aerowire.cluster.files.recording_log import RecordingLog
from aerowire.cluster.replay.log_replay import END_OF_LOG, LogReplay, ReplayedMessage
from aerowire.cluster.replay.member_log import MemberLog, open_member_log
from aerowire.cluster.replay.outputs import Output
from aerowire.cluster.replay.stored_snapshots import compare_snapshot
from aerowire.cluster.services import Cluster, ClusteredService, MessageBatch
from aerowire.cluster.services.snapshot_forms import StateForm
from aerowire.cluster.snapshots.markers import SERVICE_SNAPSHOT_TYPE_ID, SnapshotDetails
from aerowire.cluster.snapshots.service_snapshot import ClientSessionRecord, encode_service_snapshot
from aerowire.system.file_system import FileSystem
from aerowire.system.ports import Ports
from tests.cluster.replay.replayed_services import Sound
from tests.support.archives.member_logs import MemberLogWriter

SOUND = "tests.cluster.replay.replayed_services:Sound"
CLIENT = ClientSessionRecord(1, 102, "aeron:udp?endpoint=localhost:1", b"")
LARGE = bytes(range(256)) * 20
WORDS = ("timer", "all", "claim", "raise", "close")


class Streaming(ClusteredService):
    """Keeps messages, which are its snapshot as a stream; takes batches."""

    def on_start(self, cluster: Cluster, snapshot_image: Image | None) -> None:
        self.cluster = cluster
        self.parts: list[bytes] = []
        while snapshot_image is not None and not snapshot_image.is_end_of_stream:
            snapshot_image.poll(self._load, 10)
            cluster.idle_strategy.idle()

    def on_batch(self, batch: MessageBatch) -> None:
        self.parts += batch
        self.cluster.offer(b"|".join(self.parts))

    def on_take_snapshot(self, publication: ExclusivePublication) -> None:
        for part in self.parts:
            publication.offer(part)

    def _load(self, buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        self.parts.append(bytes(buffer[offset : offset + length]))


class Waiting(ClusteredService):
    def on_start(self, cluster: Cluster, _snapshot_image: Image | None) -> None:
        while True:
            cluster.idle_strategy.idle()


class Offering(ClusteredService):
    def on_start(self, cluster: Cluster, _snapshot_image: Image | None) -> None:
        cluster.offer(b"too early")


class OnTheDriver(ClusteredService):
    def on_start(self, cluster: Cluster, _snapshot_image: Image | None) -> None:
        cluster.aeron.add_publication("aeron:ipc", 1)


@pytest.fixture
def writer(tmp_path: Path) -> MemberLogWriter:
    """A log whose term has begun, and a session."""
    made = MemberLogWriter(tmp_path / "node")
    made.term()
    made.open_session(1)
    return made


def member_log(writer: MemberLogWriter) -> MemberLog:
    writer.write()
    return open_member_log(FileSystem(), writer.cluster_dir, writer.archive_dir, 0)


def replay(log: MemberLog, service: str = SOUND, **options: Any) -> list[ReplayedMessage]:
    return list(LogReplay(log, service, Ports.system()).run(options.get("snapshot"), log.end_position))


def state(log_position: int, words: dict[str, int], sessions: list[ClientSessionRecord]) -> list[bytes]:
    """Return the messages of a snapshot that a container of Sound takes."""
    details = SnapshotDetails(type_id=SERVICE_SNAPSHOT_TYPE_ID, log_position=log_position, leadership_term_id=0, app_version=1)
    service = Sound()
    service.words = words
    return [*encode_service_snapshot(details, sessions), *StateForm(service).messages(details)]


def test_everything_that_a_service_does_is_noted_with_the_message_that_it_follows(writer: MemberLogWriter) -> None:
    for word in WORDS:
        writer.message(1, word.encode())
    writer.timer(7)
    writer.message(99, b"of a service")
    writer.close_session(1)
    found = replay(member_log(writer))
    first = 1_000_003  # the time of the first message
    assert [(one.template, one.session_id, one.correlation_id) for one in found] == [
        ("NewLeadershipTermEvent", None, None),
        ("SessionOpenEvent", 1, 71),
        *[("SessionMessageHeader", 1, None)] * 5,
        ("TimerEvent", None, 7),
        ("SessionMessageHeader", 99, None),
        ("SessionCloseEvent", 1, None),
        (END_OF_LOG, None, None),
    ]
    answers = [Output("session offer", "to session 1", f"{word} 1 at {first + at}".encode()) for at, word in enumerate(WORDS)]
    assert [one.outputs for one in found[2:8]] == [
        (answers[0], Output("timer scheduled", f"timer 7, deadline {first + 100}"), Output("timer cancelled", "timer 8")),
        (answers[1], Output("cluster offer", "to all services", b"to all")),
        (answers[2], Output("session offer", "to session 1", b"claim")),
        (answers[3], Output("error raised", "ValueError")),
        (answers[4], Output("session closed", "session 1")),
        (Output("timer scheduled", f"timer 8, deadline {first + 6}"),),
    ]
    assert found[-1].position == writer.log.position == found[-2].position


def test_a_replay_from_a_snapshot_goes_on_as_the_one_from_the_beginning(writer: MemberLogWriter) -> None:
    writer.message(1, b"a")
    writer.snapshot(state(writer.log.position + 96, {"a": 1}, [CLIENT]))
    writer.message(1, b"a")
    log = member_log(writer)
    whole, rest = replay(log), replay(log, snapshot=log.last_start())
    assert log.first_start() is None
    assert rest == whole[4:]
    assert rest[0].outputs == (Output("session offer", "to session 1", b"a 2 at 1000005"),)


def test_a_recorded_snapshot_is_compared_with_the_replay_at_its_position(writer: MemberLogWriter) -> None:
    writer.message(1, b"a")
    first = writer.snapshot(state(writer.log.position + 96, {"a": 1}, [CLIENT]))
    second = writer.snapshot(state(writer.log.position + 96, {"a": 2}, [CLIENT]))
    third = writer.snapshot(state(writer.log.position + 96, {"a": 1}, [CLIENT])[:-1])
    writer.snapshot()
    log = member_log(writer)
    compared = [compare_snapshot(log, one) for one in replay(log)]
    found = [one for one in compared if one is not None]
    assert [(one.log_position, one.recording_id, one.index) for one in found] == [(first, 1, None), (second, 2, 3), (third, 3, 5)]
    assert found[1].recorded != found[1].replayed
    assert found[2].recorded is None
    assert found[2].replayed is not None


def test_streams_batches_fragments_and_terms_are_replayed_whole(writer: MemberLogWriter) -> None:
    messages = [bytes([65 + number]) * 5_000 for number in range(30)]  # over two terms of 64 KiB
    for message in messages:
        writer.message(1, message)
    writer.snapshot()
    name = f"{__name__}:Streaming"
    found = replay(member_log(writer), name)
    offers = [one.outputs for one in found if one.template == "SessionMessageHeader"]
    expected = [(Output("cluster offer", "to all services", b"|".join(messages[: count + 1])),) for count in range(len(messages))]
    assert offers == expected
    assert [one.data for one in found[-2].outputs[3:]] == messages


def test_a_stream_of_a_snapshot_is_loaded(writer: MemberLogWriter) -> None:
    details = SnapshotDetails(type_id=SERVICE_SNAPSHOT_TYPE_ID, log_position=writer.log.position + 96, leadership_term_id=0)
    writer.snapshot([*encode_service_snapshot(details, []), b"one", LARGE])
    log = member_log(writer)
    (end,) = replay(log, f"{__name__}:Streaming", snapshot=log.last_start())
    assert b"".join(one.data for one in end.outputs[2:]) == b"one" + LARGE


def test_a_log_whose_beginning_is_purged_is_replayed_from_its_first_snapshot(tmp_path: Path) -> None:
    writer = MemberLogWriter(tmp_path / "node", start=64 << 10)
    writer.message(1, b"before")
    writer.snapshot(state(writer.log.position + 96, {}, [CLIENT]))
    writer.message(1, b"a")
    log = member_log(writer)
    snapshot = log.first_start()
    assert snapshot is not None
    assert [one.template for one in replay(log, snapshot=snapshot)] == ["SessionMessageHeader", END_OF_LOG]


def test_a_purged_log_without_a_snapshot_is_refused(tmp_path: Path) -> None:
    log = member_log(MemberLogWriter(tmp_path / "node", start=64 << 10))
    with pytest.raises(ClusterServiceError, match=r"no longer recorded, and there is no snapshot .* a recording from position 65536 on"):
        log.first_start()
    with pytest.raises(ClusterServiceError, match="no snapshot of the service"):
        log.last_start()


def test_what_is_behind_the_end_of_the_last_term_is_not_replayed(writer: MemberLogWriter) -> None:
    writer.message(1, b"a")
    end = writer.log.position
    writer.message(1, b"not committed")
    writer.write()
    recording_log = RecordingLog.open(writer.cluster_dir, FileSystem())
    recording_log.commit_log_position(0, end)
    recording_log.close()
    log = open_member_log(FileSystem(), writer.cluster_dir, writer.archive_dir, 0)
    assert (log.end_position, log.committed_position) == (end, end)
    assert [one.position for one in replay(log)][-2:] == [end, end]


def test_what_is_recorded_after_the_log_was_opened_is_not_replayed(writer: MemberLogWriter) -> None:
    writer.message(1, b"a")
    log = member_log(writer)
    end = writer.log.position
    writer.message(1, b"later")
    assert (log.end_position, log.committed_position) == (end, 0)
    assert [one.position for one in replay(log)][-2:] == [end, end]


def test_a_damaged_recording_ends_a_replay_with_its_place(writer: MemberLogWriter) -> None:
    writer.message(1, b"a")
    at = writer.log.position
    writer.message(1, b"b")
    writer.log.write(at, (7).to_bytes(4, "little"))
    with pytest.raises(ArchiveFileError, match=f"position {at}.*frame length 7"):
        replay(member_log(writer))


def test_a_member_without_a_term_or_a_recording_is_refused(writer: MemberLogWriter) -> None:
    with pytest.raises(ArchiveFileError, match="no such recording"):
        member_log(writer).recording_of(5)
    (writer.cluster_dir / "recording.log").write_bytes(b"")
    with pytest.raises(ClusterServiceError, match="no log to replay"):
        open_member_log(FileSystem(), writer.cluster_dir, writer.archive_dir, 0)


@pytest.mark.parametrize(
    ("service", "text"),
    [
        ("Waiting", "waits for what does not come"),
        ("Offering", "sending messages or scheduling timers is not allowed from on_start"),
        ("OnTheDriver", r"a replay has no media driver; at cluster\.aeron\.add_publication"),
    ],
)
def test_a_service_that_does_what_a_replay_has_not_is_refused(writer: MemberLogWriter, service: str, text: str) -> None:
    with pytest.raises(ClusterServiceError, match=text):
        replay(member_log(writer), f"{__name__}:{service}")


def test_a_service_that_cannot_be_imported_is_refused(writer: MemberLogWriter) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot be imported.*no_such_module:Service"):
        replay(member_log(writer), "no_such_module:Service")


def test_nothing_is_changed(writer: MemberLogWriter) -> None:
    writer.message(1, b"a")
    log = member_log(writer)
    before = {path: path.read_bytes() for path in writer.directory.rglob("*") if path.is_file()}
    replay(log)
    assert {path: path.read_bytes() for path in writer.directory.rglob("*") if path.is_file()} == before
    with OfflineCatalog(FileSystem(), writer.archive_dir) as catalog:
        assert catalog.problem is None
