"""Control exchanges of the official archive, as captured: its requests are served, its responses are written as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aerowire.archive.control.archive_events import ArchiveEvents
from aerowire.archive.control.control_response_proxy import ControlResponseProxy
from aerowire.archive.control.request_routes import AUTH_CONNECT, CHALLENGE_RESPONSE, CLOSE_SESSION, KEEP_ALIVE, ROUTES
from aerowire.archive.protocol_version import PROTOCOL_VERSION
from aerowire.codecs.flyweights import archive
from aerowire.codecs.flyweights.archive.dispatch import SCHEMA_ID
from aerowire.codecs.flyweights.archive.header import HEADER
from aerowire.pcap import read_frames

CAPTURES = Path(__file__).parents[2] / "data" / "captures-archive-cluster"
BEGIN = 0x80
OF_SESSIONS = {AUTH_CONNECT, CLOSE_SESSION, CHALLENGE_RESPONSE, KEEP_ALIVE}
EVENTS = {"RecordingStarted", "RecordingProgress", "RecordingStopped"}
CHALLENGE_VERSION = slice(24, 28)
DESCRIPTOR_CONTENT_OFFSET = HEADER.size + archive.RecordingDescriptorDecoder.RECORDING_ID_ENCODING_OFFSET
PROXY = ControlResponseProxy(ArchiveEvents(), PROTOCOL_VERSION)


def messages_of(capture: str) -> list[bytes]:
    rows = read_frames(CAPTURES / f"{capture}.pcap.gz", columns=["type", "flags", "payload"]).to_pylist()
    payloads = [row["payload"] for row in rows if row["type"] == "DATA" and row["payload"] and row["flags"] & BEGIN]
    return [payload for payload in payloads if len(payload) >= HEADER.size and HEADER.unpack(memoryview(payload), 0)[2] == SCHEMA_ID]


def written(message: Any, raw: bytes) -> bytes | None:  # noqa: PLR0911
    """Return a response as our proxy writes it; None for a message that an archive does not send to a session."""
    session_id, correlation_id = getattr(message, "control_session_id", 0), getattr(message, "correlation_id", 0)
    match message:
        case archive.ControlResponse():
            return PROXY.response(session_id, correlation_id, message.relevant_id, message.code, message.error_message)
        case archive.RecordingSignalEvent():
            return PROXY.signal(session_id, correlation_id, message.recording_id, message.subscription_id, message.position, message.signal)
        case archive.RecordingSubscriptionDescriptor():
            return PROXY.subscription_descriptor(
                session_id, correlation_id, message.subscription_id, message.stream_id, message.stripped_channel
            )
        case archive.RecordingDescriptor():
            return PROXY.descriptor_head(session_id, correlation_id) + raw[DESCRIPTOR_CONTENT_OFFSET:]
        case archive.Challenge():
            # The official archive leaves in the version what its buffer held before.
            own = PROXY.challenge(session_id, correlation_id, message.encoded_challenge)
            return own[: CHALLENGE_VERSION.start] + raw[CHALLENGE_VERSION] + own[CHALLENGE_VERSION.stop :]
        case archive.Ping():
            return PROXY.ping(session_id)
    return None


@pytest.mark.parametrize("capture", ["archive_control", "archive_auth", "archive_replicate", "archive_response_channel"])
def test_requests_are_routed_and_responses_written_byte_for_byte(capture: str) -> None:
    requests = responses = 0
    for raw in messages_of(capture):
        _, template_id, _, _ = HEADER.unpack(memoryview(raw), 0)
        message: Any = archive.decode(raw)
        if template_id in ROUTES:
            route = ROUTES[template_id]
            request = message if route.request_of is None else route.request_of(message)
            assert request.correlation_id == message.correlation_id
            requests += 1
        elif template_id in OF_SESSIONS:
            requests += 1
        elif type(message).__name__ not in EVENTS:
            assert written(message, raw) == raw, type(message).__name__
            responses += 1
    assert requests >= 5
    assert responses >= 3
