"""Messages between members as bytes: those of official members, read and written again; those that say nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aerowire.cluster.consensus import messages
from aerowire.cluster.module.consensus_codec import decode_message, encode_message
from aerowire.codecs.flyweights.cluster.messages.termination_ack import TerminationAck

DATA = Path(__file__).parents[2] / "data" / "cluster" / "consensus" / "bytes.jsonl"
CAPTURED = [json.loads(line) for line in DATA.read_text().splitlines()]


@pytest.mark.parametrize("row", CAPTURED, ids=lambda row: f"{row['template']}-{row['bytes'][16:]}")
def test_messages_of_official_members_are_written_as_they_were_read(row: dict[str, str]) -> None:
    data = bytes.fromhex(row["bytes"])
    message = decode_message(data)
    assert isinstance(message, messages.Message)
    cluster_time = message.timestamp if isinstance(message, messages.NewLeadershipTerm) else 0
    assert encode_message(message, cluster_time) == data


def test_captures_have_every_message_of_elections() -> None:
    assert {row["template"] for row in CAPTURED} == set(range(50, 58))


def test_a_leader_tells_the_time_of_the_cluster() -> None:
    message = messages.NewLeadershipTerm(1, 2, 3, 4, 5, 6, 7, 8, 99, 1, -10, 11, True, 12)
    decoded = decode_message(encode_message(message, 1_700_000_000_000))
    assert isinstance(decoded, messages.NewLeadershipTerm)
    assert (decoded.timestamp, decoded.log_session_id, decoded.is_startup) == (1_700_000_000_000, -10, True)


def test_an_older_peer_sends_neither_flags_nor_a_commit_position() -> None:
    append = bytes.fromhex("140036006f000500" + "0100000000000000" + "4000000000000000" + "02000000")
    assert decode_message(append) == messages.AppendPosition(1, 64, 2, messages.APPEND_POSITION_FLAG_NONE)


def test_a_termination_ack_is_a_request_of_its_own() -> None:
    ack = TerminationAck(leadership_term_id=1, log_position=2, member_id=3)
    assert decode_message(ack.encode()) == ack


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(7),
        bytes.fromhex("150036006500110000"),  # of another schema
        bytes.fromhex("1500e7036f001100") + bytes(21),  # of an unknown template
        bytes.fromhex("150036006f001100") + bytes(20),  # too short
        bytes.fromhex("090001006f001100") + bytes(24),  # a message of clients
    ],
    ids=lambda data: data.hex() or "empty",
)
def test_other_bytes_are_no_message(data: bytes) -> None:
    assert decode_message(data) is None


@pytest.mark.parametrize("endpoint", ["", "host", "host:1|alias=x", "host:1?x", "a=b:1", "ho st:1"])
def test_an_endpoint_that_would_change_a_channel_makes_no_message(endpoint: str) -> None:
    assert decode_message(encode_message(messages.CatchupPosition(1, 2, 3, endpoint), 0)) is None
    assert decode_message(encode_message(messages.CatchupPosition(1, 2, 3, "[::1]:20"), 0)) == messages.CatchupPosition(1, 2, 3, "[::1]:20")
