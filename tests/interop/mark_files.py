"""The mark files of components that were killed: an official component takes one for that of a running component until it is old."""

from __future__ import annotations

from pathlib import Path

from aerowire.agents.mark_life import NULL_TIMESTAMP_MS
from aerowire.archive.files.mark_header import ARCHIVE_MARK
from aerowire.cluster.files.mark_header import mark_kind
from aerowire.codecs.flyweights.cluster_mark.enums import ClusterComponentType
from tests.support.waiting import epoch_ms

_KINDS = (ARCHIVE_MARK, mark_kind(ClusterComponentType.CONSENSUS_MODULE), mark_kind(ClusterComponentType.CONTAINER, 0))
_MARGIN_MS = 1_000
_LENGTH = 8


def age(directory: Path) -> None:
    """Set back the last activity of a directory's components, as if they had been killed long enough ago for their successors."""
    aged = 0
    for kind in _KINDS:
        for path in directory.rglob(kind.file_name):
            with path.open("r+b") as file:
                offset = kind.message_header_length + kind.encoder.ACTIVITY_TIMESTAMP_ENCODING_OFFSET
                file.seek(offset)
                if int.from_bytes(file.read(_LENGTH), "little", signed=True) == NULL_TIMESTAMP_MS:
                    continue  # ended in order
                file.seek(offset)
                file.write((epoch_ms() - kind.liveness_timeout_ms - _MARGIN_MS).to_bytes(_LENGTH, "little", signed=True))
                aged += 1
    assert aged > 0, f"no component was killed in {directory}"
