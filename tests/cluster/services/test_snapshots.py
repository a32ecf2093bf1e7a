"""Snapshots of services: taken to a real archive and loaded from it, in each form, and what becomes of those that fail."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from aerowire.archive.files.offline_catalog import OfflineCatalog
from aerowire.archive.files.recorded_frames import RecordedFrame, recorded_frames
from aerowire.base.errors import ClusterSnapshotError, ConfigurationError
from aerowire.client import ExclusivePublication, Header, Image
from aerowire.cluster.services import Cluster, ClusteredServiceContainer, restores
from aerowire.cluster.services.service_calls import ServiceCalls
from aerowire.cluster.services.snapshot_forms import StateForm
from aerowire.cluster.snapshots.markers import SnapshotDetails
from aerowire.cluster.snapshots.stream import write_messages
from aerowire.codecs.flyweights.archive.messages.start_position_request import StartPositionRequest
from aerowire.codecs.flyweights.archive.messages.stop_position_request import StopPositionRequest
from aerowire.codecs.flyweights.cluster.messages.service_ack import ServiceAck
from aerowire.codecs.flyweights.cnc import ClusterRole
from aerowire.codecs.tables.counters import CounterType
from aerowire.system.file_system import FileSystem
from tests.cluster.services.noting_service import NotingService
from tests.cluster.services.scripted_module import TERM_ID, Rig, session_message

RECORDS = [StartPositionRequest(control_session_id=1, correlation_id=2, recording_id=number) for number in range(3)]


@dataclass
class Account:
    owner: str
    balance: int


class Streaming(NotingService):
    """Writes its state itself, more than fits the window, and reads it."""

    def __init__(self, parts: int = 0) -> None:
        super().__init__()
        self.parts = [bytes([part]) * 1000 for part in range(parts)]

    def on_start(self, cluster: Cluster, snapshot_image: Image | None) -> None:
        super().on_start(cluster, snapshot_image)
        while snapshot_image is not None and not snapshot_image.is_end_of_stream:
            snapshot_image.poll(self._load, 10)
            cluster.idle_strategy.idle()

    def on_take_snapshot(self, publication: ExclusivePublication) -> None:
        for part in self.parts:
            while publication.offer(part) < 0:
                self.cluster.idle_strategy.idle()

    def _load(self, buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        self.parts.append(bytes(buffer[offset : offset + length]))


class Stepping(Streaming):
    """The same without blocking."""

    def on_start(self, cluster: Cluster, snapshot_image: Image | None) -> Generator[None, None, None]:  # type: ignore[override]
        NotingService.on_start(self, cluster, snapshot_image)
        while snapshot_image is not None and not snapshot_image.is_end_of_stream:
            snapshot_image.poll(self._load, 10)
            yield

    def on_take_snapshot(self, publication: ExclusivePublication) -> Generator[None, None, None]:  # type: ignore[override]
        for part in self.parts:
            while publication.offer(part) < 0:
                yield


class Remembering(NotingService):
    """Has a state that is an object."""

    state_types = (Account,)

    def __init__(self, state: Any = None) -> None:
        super().__init__()
        self.state = state

    def snapshot_state(self) -> Any:
        return self.state

    def restore_state(self, state: Any) -> None:
        self.state = state


class Recording(NotingService):
    """Has a state that is records."""

    def __init__(self, records: list[StartPositionRequest] | None = None) -> None:
        super().__init__()
        self.records = [] if records is None else records

    def snapshot_records(self) -> Iterator[StartPositionRequest]:
        yield from self.records

    @restores(StartPositionRequest)
    def on_record(self, record: StartPositionRequest) -> None:
        self.records.append(record)


def take_snapshot(rig: Rig, container: ClusteredServiceContainer) -> int:
    """Take a snapshot, and return its recording; the container is closed then."""
    position = rig.snapshot(timestamp=4000)
    ack = rig.take(ServiceAck)
    assert (ack.log_position, ack.timestamp, ack.ack_id, ack.service_id) == (position, 4000, 2, 0)
    rig.append(session_message(5, b"after"))
    rig.run(lambda: container.cluster.time == 2000)
    recording_id: int = ack.relevant_id
    return recording_id


def start_again(rig: Rig, service: object, recording_id: int, **options: Any) -> ClusteredServiceContainer:
    """Start a container in place of the one that runs, from a snapshot."""
    rig.containers[-1].close()
    rig.messages.clear()
    container = rig.launch(service, **options)
    rig.recover(recording_id, term_id=TERM_ID, position=4096, timestamp=4000)
    return container


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Streaming(150), Streaming()),
        (Stepping(150), Stepping()),
        (Remembering({"accounts": {7: Account("x", 3)}, "log": b"\xff" * 100_000}), Remembering()),
        (Recording(RECORDS), Recording()),
        (Remembering(), Remembering(1)),
        (Recording(), Recording()),
    ],
)
def test_a_service_goes_on_from_its_snapshot(rig: Rig, before: Any, after: Any) -> None:
    rig.start_archive()
    container = rig.start(before)
    for session_id in (9, 5):
        rig.open_session(session_id, principal=bytes([session_id]) * 1500)
    recording_id = take_snapshot(rig, container)
    assert container.agent.core.counters[CounterType.CLUSTERED_SERVICE_MAX_SNAPSHOT_DURATION].value > 0
    again = start_again(rig, after, recording_id)
    assert rig.take(ServiceAck).relevant_id == again.aeron.client_id
    assert [(session.id, session.encoded_principal) for session in again.cluster.client_sessions] == [
        (5, b"\x05" * 1500),
        (9, b"\x09" * 1500),
    ]
    assert (again.cluster.log_position, again.cluster.time, again.cluster.time_unit) == (4096, 4000, container.cluster.time_unit)
    for name in ("parts", "state", "records"):
        assert getattr(after, name, None) == getattr(before, name, None)
    assert after.events[0] == ("start", isinstance(after, Streaming))
    assert rig.errors(again) == []


def test_the_snapshot_is_in_the_archive_as_the_official_container_would_write_it(rig: Rig, tmp_path: Path) -> None:
    rig.start_archive()
    container = rig.start(Streaming(1))
    recording_id = take_snapshot(rig, container)
    container.close()
    assert rig.archive is not None
    rig.archive.close()
    with OfflineCatalog(FileSystem(), tmp_path / "archive") as catalog:
        entry = catalog.entry(recording_id)
        frames = list(recorded_frames(FileSystem(), tmp_path / "archive", entry))
    assert (entry.stream_id, entry.start_position, entry.original_channel.partition("?")[0]) == (106, 0, "aeron:ipc")
    assert "alias=snapshot" in entry.original_channel
    assert all(isinstance(frame, RecordedFrame) for frame in frames)
    marker = "280064006f0011000200000000000000c0000000000000000300000000000000000000000{}0000000000000001000000"
    assert [frame.payload.hex() for frame in frames if isinstance(frame, RecordedFrame)] == [
        marker.format(0),
        marker.format(2),
        (b"\x00" * 1000).hex(),
    ]


def test_a_snapshot_that_fails_is_acknowledged_without_a_recording(rig: Rig) -> None:
    class Failing(Streaming):
        def on_take_snapshot(self, _publication: ExclusivePublication) -> None:
            raise OSError("no")

    rig.start_archive()
    container = rig.start(Failing())
    assert take_snapshot(rig, container) == -1
    assert rig.errors(container) == ["OSError: no"]
    assert not container.has_ended


def test_a_snapshot_for_which_the_archive_has_no_room_ends_the_container(rig: Rig) -> None:
    rig.start_archive(low_storage_space_threshold=1 << 60)
    container = rig.start(Streaming())
    rig.snapshot()
    assert rig.take(ServiceAck).relevant_id == -1
    rig.run(lambda: container.has_ended)
    assert "no room for a snapshot" in rig.errors(container)[0]


def test_a_snapshot_of_standby_nodes_is_not_taken(rig: Rig) -> None:
    container = rig.start(Streaming())
    end = rig.snapshot(flags=1)
    rig.run(lambda: container.cluster.log_position == end)
    rig.cycles()
    assert rig.messages == []


@pytest.mark.parametrize(
    ("service", "options", "problem"),
    [
        (Streaming(), {"app_version": 0x010000}, "the version of the application does not fit that of a snapshot"),
        (Streaming(), {"service_id": 1}, "the consensus module has no snapshot of this service"),
        (Recording(), {}, "no method of the service is for a message"),
        (type("Other", (Remembering,), {"state_types": ()})(), {}, "names a class that is not allowed"),
    ],
)
def test_a_snapshot_that_does_not_fit_ends_the_container(rig: Rig, service: Any, options: dict[str, Any], problem: str) -> None:
    rig.start_archive()
    recording_id = take_snapshot(rig, rig.start(Remembering(Account("x", 1))))
    container = start_again(rig, service, recording_id, **options)
    assert rig.take(ServiceAck).relevant_id == -1
    rig.run(lambda: container.has_ended)
    assert problem in rig.errors(container)[0]


def test_a_recording_that_is_not_there_ends_the_container(rig: Rig) -> None:
    rig.start_archive()
    container = rig.launch(Streaming())
    rig.recover(77, term_id=TERM_ID)
    assert rig.take(ServiceAck).relevant_id == -1
    rig.run(lambda: container.has_ended)
    assert "unknown recording" in rig.errors(container)[0]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda state: [state[0], b"1", state[2]], "the state of a service is damaged; at stream 300 position"),
        (lambda state: [b"x", *state[1:]], "the state of a service has no length"),
        (lambda state: state[2:], "the state of a service has no length"),
        (lambda state: state[:2], "a snapshot has ended before its END marker"),
    ],
)
def test_a_state_that_was_cut_or_changed_is_refused(rig: Rig, change: Callable[[list[bytes]], list[bytes]], problem: str) -> None:
    form = StateForm(Remembering({"x": 1}))
    subscription = rig.aeron.add_subscription("aeron:ipc", 300)
    publication = rig.aeron.add_exclusive_publication("aeron:ipc", 300)
    rig.run(lambda: subscription.images)
    loading = form.load(subscription.images[0], int)
    details = SnapshotDetails(type_id=2, log_position=0, leadership_term_id=0)
    list(write_messages(publication, change(list(form.messages(details)))))
    publication.close()
    with pytest.raises(ClusterSnapshotError, match=problem):
        exhaust(rig, loading)


def exhaust(rig: Rig, steps: Iterator[None]) -> None:
    for _ in steps:
        rig.cycle()


def test_a_service_has_snapshots_of_one_form() -> None:
    class Two(Remembering):
        def on_take_snapshot(self, _publication: ExclusivePublication) -> None:
            raise AssertionError("not called")

    with pytest.raises(ConfigurationError, match="two forms"):
        ServiceCalls(Two())


def test_a_service_that_writes_what_it_cannot_read_is_refused() -> None:
    class Half(NotingService):
        def snapshot_records(self) -> list[StopPositionRequest]:
            return []

    with pytest.raises(ConfigurationError, match=r"cannot read.*both snapshot_records and methods with @restores"):
        ServiceCalls(Half())


def test_a_follower_takes_snapshots_too(rig: Rig) -> None:
    rig.start_archive()
    container = rig.start(Streaming(2), role=ClusterRole.FOLLOWER)
    assert take_snapshot(rig, container) >= 0
