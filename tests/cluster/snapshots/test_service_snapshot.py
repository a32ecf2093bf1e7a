"""Snapshots of services as an official container wrote them, and streams that are no snapshots."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aerowire.base.errors import ClusterSnapshotError
from aerowire.cluster.snapshots.markers import SERVICE_SNAPSHOT_TYPE_ID, SnapshotDetails, SnapshotRecords
from aerowire.cluster.snapshots.service_snapshot import ClientSessionRecord, decode_client_session, encode_service_snapshot
from aerowire.codecs.flyweights.cluster.enums import ClusterTimeUnit, SnapshotMark
from aerowire.codecs.flyweights.cluster.messages.client_session import ClientSession
from aerowire.codecs.flyweights.cluster.messages.snapshot_marker import SnapshotMarker

# Recording 1 of the official cluster "one-node-kill", the service's first snapshot, without the state of the service at its end.
OFFICIAL = [
    bytes.fromhex(text)
    for text in (
        "280064006f00110002000000000000000011000000000000000000000000000000000000000000000000000001000000",
        "0c0066006f0011000100000000000000660000002f0000006165726f6e3a7564703f72656a6f696e3d66616c73657c656e64706f696e743d3132372e302e302e31"
        "3a343135353500000000",
        "280064006f00110002000000000000000011000000000000000000000000000000000000020000000000000001000000",
    )
]
DETAILS = SnapshotDetails(type_id=2, log_position=4352, leadership_term_id=0, time_unit=ClusterTimeUnit.MILLIS, app_version=1)
SESSION = ClientSessionRecord(1, 102, "aeron:udp?rejoin=false|endpoint=127.0.0.1:41555", b"")


def test_a_snapshot_is_written_as_officially() -> None:
    assert list(encode_service_snapshot(DETAILS, [SESSION])) == OFFICIAL


def test_an_official_snapshot_is_read() -> None:
    records = SnapshotRecords(SERVICE_SNAPSHOT_TYPE_ID, "here")
    assert [records.on_message(message) for message in OFFICIAL] == [None, 102, None]
    assert records.is_done
    assert records.details == DETAILS
    assert decode_client_session(102, OFFICIAL[1], "here") == SESSION


def test_a_record_of_another_kind_is_passed_over() -> None:
    assert decode_client_session(77, OFFICIAL[1], "here") is None


def test_a_damaged_session_says_where() -> None:
    with pytest.raises(ClusterSnapshotError, match=r"a session in a snapshot is damaged.*recording 5"):
        decode_client_session(102, OFFICIAL[1][:-6], "recording 5")


def test_a_marker_of_an_older_version_has_no_time_unit_and_no_application() -> None:
    records = SnapshotRecords(2, "here")
    begin = bytearray(DETAILS.encode(SnapshotMark.BEGIN))
    begin[0:2], begin[6:8] = (32).to_bytes(2, "little"), (3).to_bytes(2, "little")
    records.on_message(bytes(begin[:40]))
    assert records.details == replace(DETAILS, app_version=0)


def test_a_section_counts() -> None:
    records = SnapshotRecords(2, "here")
    for mark, index in ((SnapshotMark.BEGIN, 0), (SnapshotMark.SECTION, 1)):
        assert records.on_message(DETAILS.encode(mark, index)) is None
    assert (records.index, records.is_done) == (1, False)


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([b"\x01\x02\x03"], r"too short.*8 bytes of header.*3 bytes"),
        ([OFFICIAL[0][:4] + b"\x70\x00" + OFFICIAL[0][6:]], r"another schema.*schema 111.*schema 112"),
        ([OFFICIAL[1]], r"does not begin with its marker.*a BEGIN marker.*template 102"),
        ([OFFICIAL[2]], r"out of order.*BEGIN.*marker END"),
        ([OFFICIAL[0], OFFICIAL[0]], r"out of order.*SECTION or END.*marker BEGIN"),
        ([replace(DETAILS, type_id=1).encode(SnapshotMark.BEGIN)], r"another kind.*type 2.*type 1"),
        ([OFFICIAL[0][:20]], r"a marker of a snapshot is damaged"),
    ],
)
def test_a_stream_that_is_no_snapshot_says_what_is_wrong(messages: list[bytes], problem: str) -> None:
    records = SnapshotRecords(2, "recording 5")
    for message in messages[:-1]:
        records.on_message(message)
    with pytest.raises(ClusterSnapshotError, match=problem) as caught:
        records.on_message(messages[-1])
    assert "recording 5" in str(caught.value)


def test_messages_have_all_fields() -> None:
    assert SnapshotMarker.decode(DETAILS.encode(SnapshotMark.SECTION, 3)).index == 3
    encoded = list(encode_service_snapshot(DETAILS, [replace(SESSION, encoded_principal=b"admin")]))[1]
    assert ClientSession.decode(encoded).encoded_principal == b"admin"
