"""Snapshots on their way through streams of a driver: long ones, back pressure, and streams that end too early."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aerowire.base.errors import ClusterSnapshotError
from aerowire.client import Aeron, ExclusivePublication, Image
from aerowire.cluster.snapshots.markers import SnapshotDetails, SnapshotRecords
from aerowire.cluster.snapshots.service_snapshot import ClientSessionRecord, decode_client_session, encode_service_snapshot
from aerowire.cluster.snapshots.stream import read_messages, read_records, write_messages
from aerowire.driver import MediaDriver

CHANNEL, STREAM_ID = "aeron:ipc?term-length=64k", 106
DETAILS = SnapshotDetails(type_id=2, log_position=640, leadership_term_id=3, app_version=1)


class Rig:
    """A driver and a client without threads, with a publication and its image."""

    def __init__(self) -> None:
        self.driver = MediaDriver.launch_embedded(threading_mode="INVOKER")
        self.aeron = Aeron.connect(self.driver.aeron_dir, use_conductor_agent_invoker=True, driver_agent_invoker=self.driver.invoker)
        self.subscription = self.aeron.add_subscription(CHANNEL, STREAM_ID)
        self.publication: ExclusivePublication = self.aeron.add_exclusive_publication(CHANNEL, STREAM_ID)
        while not self.subscription.images:
            self.cycle()
        self.image: Image = self.subscription.images[0]

    def cycle(self) -> None:
        self.driver.invoker.invoke()
        self.aeron.invoke()

    def run(self, steps: Iterator[None]) -> None:
        for _ in steps:
            self.cycle()

    def close(self) -> None:
        self.aeron.close()
        self.driver.close()


@pytest.fixture
def rig() -> Iterator[Rig]:
    made = Rig()
    yield made
    made.close()


def test_a_snapshot_longer_than_the_window_goes_through_and_leaves_the_state_of_the_service(rig: Rig) -> None:
    principal = bytes(range(256)) * 12  # longer than a frame
    sessions = [ClientSessionRecord(number, 102, "aeron:ipc", principal) for number in range(100)]
    writing = write_messages(rig.publication, [*encode_service_snapshot(DETAILS, sessions), b"state"])
    records = SnapshotRecords(2, "here")
    found: list[ClientSessionRecord | None] = []
    reading = read_records(rig.image, records, lambda template_id, data: found.append(decode_client_session(template_id, data, "")), int)
    pauses = 0
    is_written = False
    while True:
        if not is_written:
            is_written = next(writing, rig) is rig
            pauses += not is_written
        rig.cycle()
        if next(reading, rig) is rig:
            break
    while not is_written:
        rig.cycle()
        is_written = next(writing, rig) is rig
    assert pauses > 1
    assert found == sessions
    assert records.details == DETAILS
    rest: list[bytes] = []

    def keep(message: bytes) -> bool:
        rest.append(message)
        return True

    rig.run(read_messages(rig.image, keep, int))
    assert rest == [b"state"]


def test_a_publication_without_a_subscriber_is_not_written_to(rig: Rig) -> None:
    rig.subscription.close()
    while rig.publication.is_connected:
        rig.cycle()
    with pytest.raises(ClusterSnapshotError, match=r"a snapshot cannot be written.*aeron:ipc.*stream 106"):
        next(write_messages(rig.publication, [b"x"]))


def test_a_stream_that_ends_before_its_end_marker_says_so(rig: Rig) -> None:
    messages = list(encode_service_snapshot(DETAILS, []))
    list(write_messages(rig.publication, messages[:1]))
    rig.publication.close()
    reading = read_records(rig.image, SnapshotRecords(2, "here"), lambda *_: None, int)
    with pytest.raises(ClusterSnapshotError, match=r"ended before its END marker.*stream 106, position 96"):
        rig.run(reading)


def test_an_error_of_the_archive_ends_the_reading(rig: Rig) -> None:
    def check() -> None:
        raise OSError("the archive says no")

    with pytest.raises(OSError, match="says no"):
        next(read_records(rig.image, SnapshotRecords(2, "here"), lambda *_: None, check))
