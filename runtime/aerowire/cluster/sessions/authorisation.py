"""The authorisation service that a cluster has unless another one is chosen. Aeron: AllowBackupAndStandbyAuthorisationService."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aerowire.codecs.flyweights.cluster.messages.backup_query import BackupQueryDecoder
from aerowire.codecs.flyweights.cluster.messages.heartbeat_request import HeartbeatRequestDecoder
from aerowire.codecs.flyweights.cluster.messages.standby_snapshot import StandbySnapshotDecoder

_PERMITTED: Final = frozenset(
    (decoder.SBE_SCHEMA_ID, decoder.SBE_TEMPLATE_ID) for decoder in (BackupQueryDecoder, HeartbeatRequestDecoder, StandbySnapshotDecoder)
)


@dataclass(frozen=True, slots=True)
class BackupAndStandbyAuthorisation:
    """Permits what backups and standbys ask for, and nothing else: no snapshot that a client asks for."""

    def is_authorised(self, protocol_id: int, action_id: int, _action_type: object, _encoded_principal: bytes, /) -> bool:
        """Return whether a request is one of a backup or standby."""
        return (protocol_id, action_id) in _PERMITTED


ALLOW_BACKUP_AND_STANDBY: Final = BackupAndStandbyAuthorisation()
