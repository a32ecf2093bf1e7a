"""Requests as bytes: each kind, foreign and damaged ones, and what is permitted without a choice of one's own."""

from __future__ import annotations

from random import Random

import pytest

from aerowire.cluster.sessions import inputs
from aerowire.cluster.sessions.authorisation import ALLOW_BACKUP_AND_STANDBY
from aerowire.cluster.sessions.cluster_session import SessionAction
from aerowire.cluster.sessions.extension_message import ExtensionMessage
from aerowire.cluster.sessions.inputs import IngressImage
from aerowire.cluster.sessions.request_codec import BackupRecord, backup_request_of, decode_ingress
from aerowire.cluster.sessions.session_options import PROTOCOL_VERSION
from aerowire.codecs.flyweights.cluster.enums import AdminRequestType
from aerowire.codecs.flyweights.cluster.messages.admin_request import AdminRequest
from aerowire.codecs.flyweights.cluster.messages.backup_query import BackupQuery
from aerowire.codecs.flyweights.cluster.messages.challenge import Challenge
from aerowire.codecs.flyweights.cluster.messages.challenge_response import ChallengeResponse
from aerowire.codecs.flyweights.cluster.messages.heartbeat_request import HeartbeatRequest
from aerowire.codecs.flyweights.cluster.messages.session_close_request import SessionCloseRequest
from aerowire.codecs.flyweights.cluster.messages.session_connect_request import SessionConnectRequest
from aerowire.codecs.flyweights.cluster.messages.session_keep_alive import SessionKeepAlive
from aerowire.codecs.flyweights.cluster.messages.standby_snapshot import StandbySnapshot, StandbySnapshotSnapshots
from tests.conftest import SEED

IMAGE = IngressImage(7, "10.0.0.1:4", 9)
CONNECT = SessionConnectRequest(
    correlation_id=1, response_stream_id=102, version=768, response_channel="aeron:ipc", encoded_credentials=b"secret", client_info="trader"
).encode()
MESSAGES = [
    (
        CONNECT,
        inputs.Connect(
            correlation_id=1,
            response_stream_id=102,
            response_channel="aeron:ipc",
            image=IMAGE,
            version=768,
            encoded_credentials=b"secret",
            client_info="trader",
        ),
    ),
    (SessionCloseRequest(leadership_term_id=3, cluster_session_id=5).encode(), inputs.Close(3, 5)),
    (SessionKeepAlive(leadership_term_id=3, cluster_session_id=5).encode(), inputs.KeepAlive(3, 5, 7)),
    (
        ChallengeResponse(correlation_id=2, cluster_session_id=5, encoded_credentials=b"user").encode(),
        inputs.ChallengeResponse(2, 5, b"user"),
    ),
    (
        AdminRequest(leadership_term_id=3, cluster_session_id=5, correlation_id=4, request_type=AdminRequestType.SNAPSHOT).encode(),
        inputs.AdminRequested(3, 5, 4, AdminRequestType.SNAPSHOT),
    ),
]


@pytest.mark.parametrize(("message", "expected"), MESSAGES, ids=lambda given: type(given).__name__)
def test_messages_of_clients_are_read(message: bytes, expected: inputs.Input) -> None:
    assert decode_ingress(message, IMAGE) == expected


def test_a_client_of_an_older_version_tells_less() -> None:
    older = bytearray(CONNECT)
    older[0:2], older[6:8] = (12).to_bytes(2, "little"), (1).to_bytes(2, "little")
    del older[20:24]
    request = decode_ingress(bytes(older), IMAGE)
    assert isinstance(request, inputs.Connect)
    assert (request.version, request.encoded_credentials, request.client_info) == (0, b"secret", "")


def test_a_message_of_another_schema_is_for_the_extension() -> None:
    message = CONNECT[:4] + (950).to_bytes(2, "little") + CONNECT[6:]
    assert decode_ingress(message, IMAGE) == ExtensionMessage(950, 3, 17, 16, message[8:])


@pytest.mark.parametrize(
    "message",
    [
        b"",
        CONNECT[:7],
        CONNECT[:30],
        Challenge(correlation_id=1, cluster_session_id=5).encode(),
        SessionConnectRequest(correlation_id=1, response_stream_id=1, response_channel="aeron:\udcff").encode(),
    ],
)
def test_what_is_no_request_is_none(message: bytes) -> None:
    assert decode_ingress(message, IMAGE) is None


def test_damaged_messages_are_read_or_dropped() -> None:
    random = Random(SEED)
    kinds = set()
    for _ in range(3_000):
        message = bytearray(random.choice(MESSAGES)[0])
        for _ in range(random.randrange(1, 4)):
            message[random.randrange(len(message))] = random.choice([0, 1, 127, 128, 255])
        kinds.add(type(decode_ingress(bytes(message[: random.randrange(len(message) + 1)]), IMAGE)))
    assert {type(None), ExtensionMessage, inputs.Connect} <= kinds


ENTRY = StandbySnapshotSnapshots(
    recording_id=1, leadership_term_id=2, term_base_log_position=3, log_position=4, timestamp=5, service_id=-1, archive_endpoint="a:1"
)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (BackupQuery(correlation_id=1, response_stream_id=2, version=768, log_position=96), (SessionAction.BACKUP, 768, 96, ())),
        (BackupQuery(correlation_id=1, response_stream_id=2, version=768), (SessionAction.BACKUP, 768, -1, ())),
        (HeartbeatRequest(correlation_id=1, response_stream_id=2), (SessionAction.HEARTBEAT, PROTOCOL_VERSION, -1, ())),
        (
            StandbySnapshot(correlation_id=1, version=768, response_stream_id=2, snapshots=[ENTRY]),
            (
                SessionAction.STANDBY_SNAPSHOT,
                768,
                -1,
                (
                    inputs.StandbySnapshotEntry(
                        recording_id=1,
                        leadership_term_id=2,
                        term_base_log_position=3,
                        log_position=4,
                        timestamp=5,
                        service_id=-1,
                        archive_endpoint="a:1",
                    ),
                ),
            ),
        ),
    ],
)
def test_requests_of_backups_and_standbys_are_read(record: BackupRecord, expected: tuple[object, ...]) -> None:
    request = backup_request_of(type(record).decode(record.encode()), IMAGE)
    assert request is not None
    assert (request.action, request.version, request.log_position, request.standby_snapshots) == expected
    assert (request.correlation_id, request.response_stream_id, request.image) == (1, 2, IMAGE)


def test_a_backup_whose_channel_is_none_is_not_answered() -> None:
    assert backup_request_of(HeartbeatRequest(correlation_id=1, response_stream_id=2, response_channel="aeron:\udcff"), IMAGE) is None


def test_backups_and_standbys_are_permitted_what_they_ask_for_and_nothing_else() -> None:
    permitted = [template_id for template_id in range(200) if ALLOW_BACKUP_AND_STANDBY.is_authorised(111, template_id, None, b"")]
    assert permitted == [77, 79, 81]
    assert not ALLOW_BACKUP_AND_STANDBY.is_authorised(101, 77, None, b"")
