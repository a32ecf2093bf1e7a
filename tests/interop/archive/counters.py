"""The counters of a running archive, as any other archive that does the same has them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from aerowire.archive import AeronArchive
from aerowire.base.directory import CNC_FILE_NAME
from aerowire.codecs.tables.counters import CounterType
from aerowire.ipc.cnc import CncFile
from aerowire.ipc.counters import CounterInfo
from tests.interop.archive.nodes import ArchiveNode

# Archives that do the same count as much of it. Times, and how often a cycle was slow, are the machine's.
EXACT = {
    CounterType.ARCHIVE_RECORDING_POSITION,
    CounterType.ARCHIVE_ERROR_COUNT,
    CounterType.ARCHIVE_CONTROL_SESSIONS,
    CounterType.ARCHIVE_RECORDER_TOTAL_WRITE_BYTES,
    CounterType.ARCHIVE_REPLAYER_TOTAL_READ_BYTES,
    CounterType.ARCHIVE_RECORDING_SESSION_COUNT,
    CounterType.ARCHIVE_REPLAY_SESSION_COUNT,
    CounterType.ARCHIVE_CONTROL_SESSION,
}
VARYING = set(CounterType) & set(range(100, 114)) - EXACT


@dataclass(frozen=True, order=True)
class ArchiveCounter:
    """A counter of an archive as any other archive has it, with the archive's own ids, addresses and version replaced."""

    type_id: int
    label: str
    key: bytes
    value: int | None


def archive_counters(node: ArchiveNode, archive: AeronArchive, session_id: int) -> list[ArchiveCounter]:
    """Return the counters of an archive that has one control session, and records one stream of a session."""
    archive_id, control_session_id = archive.archive_id, archive.control_session_id
    replaced = {"archive": archive_id.to_bytes(8, "little"), "control": control_session_id.to_bytes(8, "little")}
    replaced["session"] = session_id.to_bytes(4, "little", signed=True)

    def counter(info: CounterInfo) -> ArchiveCounter:
        label = info.label.replace(f"archiveId={archive_id}", "archiveId=A").replace(str(session_id), "S")
        label = re.sub(r"\b(version|commit|sourceIdentity|sessionId)=\S+", r"\1=X", label)
        key, value = info.key, info.value if info.type_id in EXACT else None
        if info.type_id == CounterType.ARCHIVE_CONTROL_SESSION:
            assert value == control_session_id
            value = None
        for name, number in replaced.items():
            key = key.replace(number, name[0].encode() * len(number))
        return ArchiveCounter(info.type_id, label, key, value)

    with CncFile.map(str(node.driver.directory / CNC_FILE_NAME), writable=False) as cnc:
        found = [info for info in cnc.counters_reader().for_each() if info.type_id in EXACT | VARYING]
    return sorted(map(counter, (info for info in found if re.search(rf"archiveId={archive_id}\b", info.label))))
