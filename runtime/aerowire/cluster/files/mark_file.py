"""The mark file of a running component of a cluster: consensus module, service container, or backup. Aeron: ClusterMarkFile.

mark = ClusterMarkFile.create(cluster_dir, mark_dir, details, ports)     # refused while such a component lives there
mark.signal_ready(now_ms)                                                # last, when the component serves
mark.update_activity(now_ms)                                             # each second
mark.close()                                                             # says that it has ended, or could not start
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from aerowire.agents.mark_file import MarkFile
from aerowire.agents.mark_life import NULL_TIMESTAMP_MS
from aerowire.base.errors import ClusterFileError, ConfigurationError
from aerowire.base.units import NULL_VALUE
from aerowire.cluster.files.mark_header import MESSAGE_HEADER_LENGTH, ClusterMarkHeader, mark_kind
from aerowire.codecs.flyweights.cluster_files import (
    CLUSTER_ERROR_LOG_LENGTH_MIN,
    CLUSTER_MARK_FILE_HEADER_LENGTH,
    CLUSTER_START_FAILED_VERSION,
)
from aerowire.codecs.flyweights.cluster_mark import ClusterComponentType, MarkFileHeaderEncoder

if TYPE_CHECKING:
    from aerowire.system.ports import Ports

_NUMBERS = (
    "archive_stream_id",
    "service_stream_id",
    "consensus_module_stream_id",
    "ingress_stream_id",
    "member_id",
    "service_id",
    "cluster_id",
)
_TEXTS = ("aeron_directory", "control_channel", "ingress_channel", "service_name", "authenticator", "services_cluster_dir")
_TEXT_LENGTH = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMarkDetails:
    """What a component tells others of itself. Ids that it has not are -1, texts empty."""

    component_type: ClusterComponentType
    archive_stream_id: int
    service_stream_id: int
    consensus_module_stream_id: int
    ingress_stream_id: int = NULL_VALUE
    member_id: int = NULL_VALUE
    service_id: int = NULL_VALUE
    cluster_id: int
    aeron_directory: str
    control_channel: str = ""
    ingress_channel: str = ""
    service_name: str = ""
    authenticator: str = ""
    services_cluster_dir: str = ""


class ClusterMarkFile(MarkFile[ClusterMarkHeader]):
    """The mark file of one component and the lock that goes with it; made by `create`."""

    @classmethod
    def create(
        cls,
        cluster_directory: Path,
        directory: Path,
        details: ClusterMarkDetails,
        ports: Ports,
        *,
        error_buffer_length: int,
        page_size: int | None = None,
    ) -> Self:
        """Take the mark file of a directory over, or make it, with all fields and without a version.

        Both directories must exist; `page_size` is the driver's, of which the file's length is a multiple. The candidate term of the
        component before stays in the file, and its errors are saved beside it. Raises ActiveClusterError where such a component lives,
        ClusterFileError where the file is damaged or another component's, ConfigurationError, StorageError.
        """
        _check_lengths(details, error_buffer_length)

        def fill(encoder: MarkFileHeaderEncoder, former: ClusterMarkHeader | None) -> None:
            encoder.component_type = details.component_type
            encoder.candidate_term_id = NULL_VALUE if former is None else former.candidate_term_id
            for name in _NUMBERS:
                setattr(encoder, name, getattr(details, name))
            for name in _TEXTS:
                setattr(encoder, name, getattr(details, name).encode("ascii", "replace"))

        def accept(former: ClusterMarkHeader, path: Path) -> None:
            allowed = [ClusterComponentType.UNKNOWN, details.component_type]
            if details.component_type == ClusterComponentType.CONSENSUS_MODULE:
                allowed.append(ClusterComponentType.BACKUP)  # a node that was backed up to becomes a member
            if former.component_type not in allowed:
                raise ClusterFileError(
                    "the mark file is of another component",
                    where=f"{path}, offset {former.offset + MarkFileHeaderEncoder.COMPONENT_TYPE_ENCODING_OFFSET}",
                    expected=" or ".join(one.name for one in allowed),
                    actual=former.component_type.name,
                )

        return cls.take(
            mark_kind(details.component_type, details.service_id),
            cluster_directory,
            directory,
            ports,
            error_buffer_length=error_buffer_length,
            page_size=page_size,
            fill=fill,
            accept=accept,
        )

    @property
    def candidate_term_id(self) -> int:
        """The candidate term that an older version kept here, -1 without one; the node state takes it over."""
        return self.field_64(MarkFileHeaderEncoder.CANDIDATE_TERM_ID_ENCODING_OFFSET)

    @property
    def member_id(self) -> int:
        """The member, which a service learns when it joins the log."""
        return self.field_32(MarkFileHeaderEncoder.MEMBER_ID_ENCODING_OFFSET)

    @member_id.setter
    def member_id(self, member_id: int) -> None:
        self.set_field_32(MarkFileHeaderEncoder.MEMBER_ID_ENCODING_OFFSET, member_id)

    def signal_failed_start(self) -> None:
        """Tell that the component could not start; `close` tells so of one that was never ready, too. Raises FileError."""
        self.signal(CLUSTER_START_FAILED_VERSION, NULL_TIMESTAMP_MS)


def _check_lengths(details: ClusterMarkDetails, error_buffer_length: int) -> None:
    length = MESSAGE_HEADER_LENGTH + MarkFileHeaderEncoder.SBE_BLOCK_LENGTH
    length += sum(_TEXT_LENGTH + len(getattr(details, name)) for name in _TEXTS)
    if length > CLUSTER_MARK_FILE_HEADER_LENGTH:
        raise ConfigurationError(
            "the texts of a component are too long for its mark file",
            expected=f"{CLUSTER_MARK_FILE_HEADER_LENGTH} bytes at most",
            actual=length,
        )
    if error_buffer_length < CLUSTER_ERROR_LOG_LENGTH_MIN:
        raise ConfigurationError(
            "the error log of a mark file is too short",
            expected=f"{CLUSTER_ERROR_LOG_LENGTH_MIN} bytes at least",
            actual=error_buffer_length,
        )
