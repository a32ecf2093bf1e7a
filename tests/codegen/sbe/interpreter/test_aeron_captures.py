"""Messages of the Archive and the Cluster as official programs sent them: all are read by our schemas, and written as they were."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aerowire.codecs.flyweights import archive, cluster
from aerowire.codegen.sbe.interpreter import DecodedMessage, MessageCodec
from aerowire.codegen.sbe.reader import load_message_schema
from aerowire.codegen.sources import default_spec
from aerowire.pcap import read_frames

CAPTURES = Path(__file__).parents[3] / "data" / "captures-archive-cluster"
INDEX: dict[str, dict[str, int]] = json.loads((CAPTURES / "index.json").read_text())
BEGIN, END = 0x80, 0x40
COLUMNS = ["type", "flags", "session_id", "stream_id", "term_id", "term_offset", "dst_address", "dst_port", "payload"]
# What stands behind these: what a client or a service says, and the zeros that pad a descriptor in the catalog.
SESSION_MESSAGE, RECORDING_DESCRIPTOR = (111, 1), (101, 22)
HEADER = struct.Struct("<4H")
GENERATED: dict[int, Any] = {101: archive, 111: cluster}


@pytest.fixture(scope="module")
def codecs() -> dict[int, MessageCodec]:
    schemas = [load_message_schema(default_spec() / f"{name}.xml") for name in ("archive", "cluster")]
    return {schema.id: MessageCodec(schema) for schema in schemas}


def messages_in(capture: str, codecs: dict[int, MessageCodec]) -> Iterator[tuple[int, int, bytes]]:
    """Yield schema, template and bytes of each DATA frame that begins a message, once for each port that it goes to."""
    seen = set()
    for row in read_frames(CAPTURES / capture, columns=COLUMNS).to_pylist():
        if row["type"] != "DATA" or not row["payload"] or not row["flags"] & BEGIN:
            continue
        place = tuple(row[name] for name in ("dst_port", "session_id", "stream_id", "term_id", "term_offset"))
        if place in seen or len(row["payload"]) < HEADER.size:
            continue
        seen.add(place)
        _, template_id, schema_id, _ = HEADER.unpack_from(row["payload"])
        if schema_id in codecs and codecs[schema_id].schema.message(template_id) is not None:
            assert row["flags"] & END, "these captures hold no message in fragments"
            yield schema_id, template_id, row["payload"]


@pytest.mark.parametrize("capture", INDEX)
def test_finds_as_many_messages_as_an_independent_parser(codecs: dict[int, MessageCodec], capture: str) -> None:
    found = Counter((schema_id, template_id) for schema_id, template_id, _ in messages_in(capture, codecs))
    names = {key: codecs[key[0]].schema.message(key[1]) for key in found}
    assert {f"{key[0]}:{key[1]} {message.name}": found[key] for key, message in names.items() if message is not None} == INDEX[capture]


@pytest.mark.parametrize("capture", INDEX)
def test_reads_every_message_to_its_end_and_writes_it_as_it_was(codecs: dict[int, MessageCodec], capture: str) -> None:
    for schema_id, template_id, raw in messages_in(capture, codecs):
        decoded = codecs[schema_id].decode(raw)
        behind = raw[decoded.length :]
        if (schema_id, template_id) == RECORDING_DESCRIPTOR:
            behind = behind.strip(b"\0")
        assert not behind or (schema_id, template_id) == SESSION_MESSAGE, decoded.message.name
        assert codecs[schema_id].encode(template_id, decoded.values, decoded.header) == raw[: decoded.length], decoded.message.name


@pytest.mark.parametrize("capture", INDEX)
def test_generated_code_reads_and_writes_every_message_as_it_was(codecs: dict[int, MessageCodec], capture: str) -> None:
    for schema_id, _, raw in messages_in(capture, codecs):
        message = GENERATED[schema_id].decode(raw).encode()
        assert raw.startswith(message)
        assert len(message) == codecs[schema_id].decode(raw).length


def decoded_messages(capture: str, codecs: dict[int, MessageCodec], name: str) -> list[dict[str, Any]]:
    decoded: list[DecodedMessage] = [codecs[schema_id].decode(raw) for schema_id, _, raw in messages_in(capture, codecs)]
    return [one.values for one in decoded if one.message.name == name]


def test_a_descriptor_says_what_the_client_printed(codecs: dict[int, MessageCodec]) -> None:
    first = decoded_messages("archive_control.pcap.gz", codecs, "RecordingDescriptor")[0]
    expected = {"recordingId": 0, "startPosition": 0, "stopPosition": 3200, "initialTermId": 978275672, "segmentFileLength": 65536}
    expected |= {"termBufferLength": 65536, "mtuLength": 1408, "sessionId": 1126005870, "streamId": 1001}
    assert {name: first[name] for name in expected} == expected
    assert first["strippedChannel"] == "aeron:udp?endpoint=127.0.0.1:8015"
    assert first["originalChannel"] == "aeron:udp?endpoint=127.0.0.1:8015|term-length=64k"
    assert first["sourceIdentity"] == "127.0.0.1:57784"


def test_signals_come_in_the_order_that_the_client_printed(codecs: dict[int, MessageCodec]) -> None:
    signals = decoded_messages("archive_control.pcap.gz", codecs, "RecordingSignalEvent")
    first = [(one["signal"].name, one["recordingId"], one["subscriptionId"], one["position"]) for one in signals[:3]]
    assert first == [("START", 0, 21, 0), ("STOP", 0, 21, 3200), ("START", 1, 26, 0)]


def test_a_client_with_bad_credentials_is_told_so(codecs: dict[int, MessageCodec]) -> None:
    challenges = decoded_messages("archive_auth.pcap.gz", codecs, "Challenge")
    assert [bytes(one["encodedChallenge"]) for one in challenges] == [b"who-are-you"] * 2
    responses = decoded_messages("archive_auth.pcap.gz", codecs, "ControlResponse")
    assert [one["code"].name for one in responses] == ["OK", "OK", "ERROR"]
    assert (responses[2]["relevantId"], responses[2]["errorMessage"]) == (10, "authentication rejected")
    # The first answer opens the session, whose number it is; the second is the archive's id.
    assert [one["relevantId"] for one in responses[:2]] == [92096728, 8010]


def test_an_elected_leader_opens_the_session_and_takes_a_snapshot(codecs: dict[int, MessageCodec]) -> None:
    capture = "cluster_election_session.pcap.gz"
    (event,) = decoded_messages(capture, codecs, "SessionEvent")
    assert (event["code"].name, event["clusterSessionId"], event["leaderMemberId"], event["leadershipTermId"]) == ("OK", 1, 2, 0)
    assert event["leaderHeartbeatTimeoutNs"] == 1_000_000_000
    (response,) = decoded_messages(capture, codecs, "AdminResponse")
    assert (response["requestType"].name, response["responseCode"].name) == ("SNAPSHOT", "OK")
    timers = decoded_messages(capture, codecs, "TimerEvent")
    assert {(one["correlationId"], one["timestamp"]) for one in timers} == {(777, 1795253308042)}
    assert {one["candidateMemberId"] for one in decoded_messages(capture, codecs, "RequestVote")} == {2}
    assert {one["vote"].name for one in decoded_messages(capture, codecs, "Vote")} == {"TRUE"}
