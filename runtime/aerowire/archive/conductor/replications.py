"""Replications of recordings of other archives: none is served yet, and each request for one is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.archive.control.refusals import RequestRefusedError
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode

if TYPE_CHECKING:
    from aerowire.archive.control.control_session import ControlSession
    from aerowire.archive.control.requests import Replicate
    from aerowire.codecs.flyweights import archive


class Replications:
    """The table of replications. The conductor's thread."""

    def replicate(self, _session: ControlSession, request: Replicate) -> None:
        """Refuse to copy a recording of another archive."""
        raise RequestRefusedError(f"cannot replicate recording {request.src_recording_id}: replication is not served")

    def stop(self, _session: ControlSession, request: archive.StopReplicationRequest) -> None:
        """Refuse to end a replication that there is not."""
        raise RequestRefusedError(f"unknown replication id {request.replication_id}", ArchiveErrorCode.UNKNOWN_REPLICATION)
