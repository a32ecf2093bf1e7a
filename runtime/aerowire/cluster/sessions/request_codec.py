"""Messages of clients, backups and standbys as inputs of the sessions. Aeron: IngressAdapter, and a part of ConsensusAdapter.

A damaged message, and one that no client sends, is none; so is a request whose response channel is not ASCII, as a channel cannot be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from aerowire.base.units import NULL_VALUE
from aerowire.cluster.sessions.cluster_session import SessionAction
from aerowire.cluster.sessions.extension_message import ExtensionMessage
from aerowire.cluster.sessions.inputs import (
    AdminRequested,
    BackupRequest,
    ChallengeResponse,
    Close,
    Connect,
    IngressImage,
    KeepAlive,
    StandbySnapshotEntry,
)
from aerowire.cluster.sessions.session_options import PROTOCOL_VERSION
from aerowire.codecs.flyweights.archive_files import NULL_POSITION
from aerowire.codecs.flyweights.cluster.dispatch import decode
from aerowire.codecs.flyweights.cluster.header import HEADER
from aerowire.codecs.flyweights.cluster.messages.admin_request import AdminRequest
from aerowire.codecs.flyweights.cluster.messages.backup_query import BackupQuery, BackupQueryDecoder
from aerowire.codecs.flyweights.cluster.messages.challenge_response import ChallengeResponse as ChallengeResponseRecord
from aerowire.codecs.flyweights.cluster.messages.heartbeat_request import HeartbeatRequest
from aerowire.codecs.flyweights.cluster.messages.session_close_request import SessionCloseRequest
from aerowire.codecs.flyweights.cluster.messages.session_connect_request import SessionConnectRequest
from aerowire.codecs.flyweights.cluster.messages.session_keep_alive import SessionKeepAlive
from aerowire.codecs.flyweights.cluster.messages.standby_snapshot import StandbySnapshot
from aerowire.codecs.support.errors import SbeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


IngressRequest: TypeAlias = Connect | Close | KeepAlive | ChallengeResponse | AdminRequested
BackupRecord: TypeAlias = BackupQuery | HeartbeatRequest | StandbySnapshot

_SCHEMA_ID: Final = BackupQueryDecoder.SBE_SCHEMA_ID


def decode_ingress(message: bytes, image: IngressImage) -> IngressRequest | ExtensionMessage | None:
    """Return what a message of a client says, which came on an image; None if it says nothing. Session messages are not looked at here."""
    if len(message) < HEADER.size:
        return None
    _, _, schema_id, _ = HEADER.unpack(memoryview(message), 0)
    if schema_id != _SCHEMA_ID:
        return ExtensionMessage.decode(message)
    try:
        record = decode(message)
    except SbeError:
        return None
    convert = _INGRESS.get(type(record))
    return None if convert is None else convert(record, image)


def backup_request_of(record: BackupRecord, image: IngressImage) -> BackupRequest | None:
    """Return what a backup or standby asks for, which came on an image of the consensus stream."""
    if not record.response_channel.isascii():
        return None
    action = _ACTIONS[type(record)]
    log_position = record.log_position if isinstance(record, BackupQuery) else None
    return BackupRequest(
        action=action,
        correlation_id=record.correlation_id,
        response_stream_id=record.response_stream_id,
        response_channel=record.response_channel,
        image=image,
        version=PROTOCOL_VERSION if isinstance(record, HeartbeatRequest) else record.version or 0,
        encoded_credentials=bytes(record.encoded_credentials),
        log_position=NULL_POSITION if log_position is None or log_position == NULL_VALUE else log_position,
        standby_snapshots=tuple(map(_standby_snapshot, record.snapshots)) if isinstance(record, StandbySnapshot) else (),
    )


def _connect(record: SessionConnectRequest, image: IngressImage) -> Connect | None:
    if not record.response_channel.isascii():
        return None
    return Connect(
        correlation_id=record.correlation_id,
        response_stream_id=record.response_stream_id,
        response_channel=record.response_channel,
        image=image,
        version=record.version or 0,
        encoded_credentials=bytes(record.encoded_credentials),
        client_info=record.client_info.encode("ascii", "replace").decode(),
    )


def _standby_snapshot(entry: Any) -> StandbySnapshotEntry:
    return StandbySnapshotEntry(**{name: getattr(entry, name) for name in StandbySnapshotEntry.__dataclass_fields__})


_ACTIONS: Final[Mapping[type, SessionAction]] = {
    BackupQuery: SessionAction.BACKUP,
    HeartbeatRequest: SessionAction.HEARTBEAT,
    StandbySnapshot: SessionAction.STANDBY_SNAPSHOT,
}
_INGRESS: Final[Mapping[type, Callable[[Any, IngressImage], IngressRequest | None]]] = {
    SessionConnectRequest: _connect,
    SessionCloseRequest: lambda record, _image: Close(record.leadership_term_id, record.cluster_session_id),
    SessionKeepAlive: lambda record, image: KeepAlive(record.leadership_term_id, record.cluster_session_id, image.image_id),
    ChallengeResponseRecord: lambda record, _image: ChallengeResponse(
        record.correlation_id, record.cluster_session_id, bytes(record.encoded_credentials)
    ),
    AdminRequest: lambda record, _image: AdminRequested(
        record.leadership_term_id, record.cluster_session_id, record.correlation_id, record.request_type
    ),
}
