"""What the official ClusterTool prints about files of a member, as values."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from aerowire.cluster.files.recording_log import RecordingLog
from aerowire.cluster.files.recording_log_entry import RecordingLogEntry
from aerowire.codecs.flyweights.recording_log import EntryType

NODES = (
    "one-node-orderly/node0",
    "one-node-kill/node0",
    *(f"three-node-failover-{end}/node{number}" for end in ("orderly", "kill") for number in range(3)),
)
_ENTRY = re.compile(r"Entry\{([^}]*)\}")
_HEADER = re.compile(r"^\[MarkFileHeader\]\(.*?\|sbeSchemaVersion=(\d+)\|.*?\):(.*)$", re.MULTILINE)


class PrintedLog(NamedTuple):
    """Entries in the order of memory, and where the terms are among them."""

    entries: list[RecordingLogEntry]
    term_indexes: dict[int, int]


def output(path: Path) -> str:
    """Return the output of a command without the line that names it."""
    return path.read_text().partition("\n")[2]


def printed_log(text: str) -> PrintedLog:
    """Return what `recording-log` printed."""
    entries = []
    for found in _ENTRY.findall(text):
        words = dict(word.split("=", 1) for word in found.split(", "))
        entries.append(
            RecordingLogEntry(
                recording_id=int(words["recordingId"]),
                leadership_term_id=int(words["leadershipTermId"]),
                term_base_log_position=int(words["termBaseLogPosition"]),
                log_position=int(words["logPosition"]),
                timestamp=int(words["timestamp"]),
                service_id=int(words["serviceId"]),
                entry_type=EntryType[words["type"]],
                entry_index=int(words["entryIndex"]),
                archive_endpoint=words.get("archiveEndpoint", ""),
                is_valid=words["isValid"] == "true",
            )
        )
    return PrintedLog(entries, {int(term): int(at) for term, at in re.findall(r"(-?\d+)=(\d+)", text.partition("cacheIndex=")[2])})


def shown(log: RecordingLog) -> PrintedLog:
    """Return a log of ours as `printed_log` returns an official one."""
    return PrintedLog(list(log.entries), dict(log.term_indexes))


def printed_headers(text: str) -> list[tuple[int, dict[str, str]]]:
    """Return schema version and fields of each mark file that `describe` printed; texts are without their quotes."""
    headers = []
    for version, fields in _HEADER.findall(text):
        headers.append((int(version), {name: value.strip("'") for name, _, value in (one.partition("=") for one in _split(fields))}))
    return headers


def _split(fields: str) -> list[str]:
    # A channel in quotes may hold the separator.
    return re.findall(r"\w+=(?:'[^']*'|[^|]*)", fields)
