"""The headers of a cluster's mark files as values, and which mark files there are. Files are read, never mapped, here.

    cluster-mark.dat, cluster-mark-service-N.dat:
        message header (8 bytes) | fields (128 bytes) | 6 x (u32 length, text) | zeros | error log, from headerLength on

Old mark files have no message header, those before schema version 1 no directory of the services. Aeron: ClusterMarkFile.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aerowire.agents.directory_lock import DirectoryOwner
from aerowire.agents.mark_kind import MarkKind, has_message_header
from aerowire.base.errors import ActiveClusterError, ClusterFileError
from aerowire.codecs.flyweights.cluster_files import (
    CLUSTER_FILE_VERSION,
    CLUSTER_MARK_FILE_HEADER_LENGTH,
    CLUSTER_MARK_FILE_LIVENESS_TIMEOUT_MS,
    CLUSTER_MARK_FILE_NAME,
    CLUSTER_MARK_LINK_FILE_NAME,
    CLUSTER_START_FAILED_VERSION,
    SERVICE_MARK_FILE_NAME,
    SERVICE_MARK_LINK_FILE_NAME,
)
from aerowire.codecs.flyweights.cluster_mark import ClusterComponentType, MarkFileHeaderDecoder, MarkFileHeaderEncoder, MessageHeaderDecoder
from aerowire.codecs.support.errors import SbeError
from aerowire.codecs.tables.cluster_options import OPTIONS

MESSAGE_HEADER_LENGTH: Final = MessageHeaderDecoder.ENCODED_LENGTH
_LOCK_SUFFIX = ".lock"
_OWNER_NAMES = {
    ClusterComponentType.CONSENSUS_MODULE: "consensus module",
    ClusterComponentType.CONTAINER: "service container",
    ClusterComponentType.BACKUP: "cluster backup",
    ClusterComponentType.STANDBY: "standby node",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMarkHeader:
    """What a mark file tells. `offset` is where its fields begin: 0 without a message header. Timestamps are epoch milliseconds."""

    offset: int
    schema_version: int
    version: int
    component_type: ClusterComponentType
    activity_timestamp_ms: int
    start_timestamp_ms: int
    pid: int
    candidate_term_id: int
    archive_stream_id: int
    service_stream_id: int
    consensus_module_stream_id: int
    ingress_stream_id: int
    member_id: int
    service_id: int
    header_length: int
    error_buffer_length: int
    cluster_id: int
    aeron_directory: str
    control_channel: str
    ingress_channel: str
    service_name: str
    authenticator: str
    services_cluster_dir: str


def decode_mark_header(data: bytes, path: Path) -> ClusterMarkHeader:
    """Return the header that stands at the start of a mark file. Raises ClusterFileError."""
    decoder = MarkFileHeaderDecoder()
    offset = MESSAGE_HEADER_LENGTH if has_message_header(data, MessageHeaderDecoder, MarkFileHeaderDecoder) else 0
    try:
        if offset:
            decoder.wrap_and_apply_header(data)
        else:
            decoder.wrap(data, 0, decoder.SBE_BLOCK_LENGTH, 0)
        return ClusterMarkHeader(
            offset=offset,
            schema_version=decoder.acting_version,
            version=decoder.version,
            component_type=decoder.component_type,
            activity_timestamp_ms=decoder.activity_timestamp,
            start_timestamp_ms=decoder.start_timestamp,
            pid=decoder.pid,
            candidate_term_id=decoder.candidate_term_id,
            archive_stream_id=decoder.archive_stream_id,
            service_stream_id=decoder.service_stream_id,
            consensus_module_stream_id=decoder.consensus_module_stream_id,
            ingress_stream_id=decoder.ingress_stream_id,
            member_id=decoder.member_id,
            service_id=decoder.service_id,
            header_length=decoder.header_length,
            error_buffer_length=decoder.error_buffer_length,
            cluster_id=decoder.cluster_id,
            aeron_directory=decoder.aeron_directory,
            control_channel=decoder.control_channel,
            ingress_channel=decoder.ingress_channel,
            service_name=decoder.service_name,
            authenticator=decoder.authenticator,
            services_cluster_dir=decoder.services_cluster_dir,
        )
    except (SbeError, UnicodeDecodeError) as error:
        raise ClusterFileError(
            "the mark file is damaged", where=f"{path}, offset {offset}", expected="fields and texts", actual=str(error)
        ) from None


def mark_kind(component_type: ClusterComponentType, service_id: int = -1) -> MarkKind[ClusterMarkHeader]:
    """Return the mark files of a kind of component; those of a CONTAINER are of the service with that id."""
    is_service = component_type == ClusterComponentType.CONTAINER
    file_name = SERVICE_MARK_FILE_NAME.format(service_id=service_id) if is_service else CLUSTER_MARK_FILE_NAME
    return MarkKind(
        owner=DirectoryOwner(
            name=f"service {service_id}" if is_service else _OWNER_NAMES.get(component_type, "cluster component"),
            option=OPTIONS["cluster_dir"].property,
            active_error=ActiveClusterError,
        ),
        file_error=ClusterFileError,
        file_name=file_name,
        link_file_name=SERVICE_MARK_LINK_FILE_NAME.format(service_id=service_id) if is_service else CLUSTER_MARK_LINK_FILE_NAME,
        lock_file_name=str(Path(file_name).with_suffix(_LOCK_SUFFIX)),
        error_log_name=component_type.name,
        version=CLUSTER_FILE_VERSION,
        failed_version=CLUSTER_START_FAILED_VERSION,
        header_length=CLUSTER_MARK_FILE_HEADER_LENGTH,
        message_header_length=MESSAGE_HEADER_LENGTH,
        liveness_timeout_ms=CLUSTER_MARK_FILE_LIVENESS_TIMEOUT_MS,
        encoder=MarkFileHeaderEncoder,
        decode=decode_mark_header,
    )
