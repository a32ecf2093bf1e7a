"""The container's part of a service's snapshot: the open sessions of clients. Aeron: ServiceSnapshotTaker, ServiceSnapshotLoader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from aerowire.base.errors import ClusterSnapshotError
from aerowire.cluster.snapshots.markers import SnapshotDetails
from aerowire.codecs.flyweights.cluster.enums import SnapshotMark
from aerowire.codecs.flyweights.cluster.messages.client_session import ClientSession, ClientSessionDecoder
from aerowire.codecs.support.errors import SbeError


@dataclass(frozen=True, slots=True)
class ClientSessionRecord:
    """An open session of a client, as a service's snapshot has it."""

    session_id: int
    response_stream_id: int
    response_channel: str
    encoded_principal: bytes


def encode_service_snapshot(details: SnapshotDetails, sessions: Iterable[ClientSessionRecord]) -> Iterator[bytes]:
    """Yield the messages that come before the service's own state, sessions in the order given."""
    yield details.encode(SnapshotMark.BEGIN)
    for session in sessions:
        yield ClientSession(
            cluster_session_id=session.session_id,
            response_stream_id=session.response_stream_id,
            response_channel=session.response_channel,
            encoded_principal=session.encoded_principal,
        ).encode()
    yield details.encode(SnapshotMark.END)


def decode_client_session(template_id: int, message: bytes, where: str) -> ClientSessionRecord | None:
    """Return the session of a record, None for a record of another kind, which is not read. Raises ClusterSnapshotError."""
    if template_id != ClientSessionDecoder.SBE_TEMPLATE_ID:
        return None
    try:
        found = ClientSession.decode(message)
    except SbeError as error:
        raise ClusterSnapshotError(
            "a session in a snapshot is damaged", where=where, expected="a ClientSession", actual=str(error)
        ) from None
    return ClientSessionRecord(found.cluster_session_id, found.response_stream_id, found.response_channel, bytes(found.encoded_principal))
