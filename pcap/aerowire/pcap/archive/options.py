"""The options of the data source `aeron_archive`, checked; their names are of any case, as Spark's are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.pcap.archive.catalog import RECORDINGS_SCHEMA
from aerowire.pcap.archive.damage import ArchiveError
from aerowire.pcap.archive.reading import choose
from aerowire.pcap.archive.table import FRAME_SCHEMA, MESSAGE_SCHEMA
from aerowire.pcap.files.urls import local_path

OPTIONS = (
    "path",
    "recordingId",
    "recordingIds",
    "channel",
    "streamId",
    "startingOffsets",
    "endingOffsets",
    "maxOffsetsPerTrigger",
    "maxBytesPerTrigger",
    "minPartitions",
    "failOnDataLoss",
    "content",
    "columns",
)
DAMAGE_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string()),
        pa.field("offset", pa.int64()),
        pa.field("recording_id", pa.int64()),
        pa.field("position", pa.int64()),
        pa.field("lost_length", pa.int64()),
        pa.field("reason", pa.string()),
    ]
)
SCHEMAS = {"frames": FRAME_SCHEMA, "messages": MESSAGE_SCHEMA, "recordings": RECORDINGS_SCHEMA, "damage": DAMAGE_SCHEMA}
EARLIEST, LATEST = "earliest", "latest"
NAMED_OFFSETS = {-2: EARLIEST, -1: LATEST}  # in JSON, as Spark's source for Kafka has them
Offsets = str | dict[int, int | str]


@dataclass(frozen=True)
class Settings:
    """The options of one read."""

    path: str
    recording_ids: frozenset[int] | None
    channel: str
    stream_id: int | None
    starting: Offsets
    ending: Offsets
    bytes_per_trigger: int | None
    partitions_min: int | None
    fail_on_data_loss: bool
    content: str
    schema: pa.Schema

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Settings:
        """Check options; raise ArchiveError for one that is unknown or has no meaning."""
        given = {name.lower(): value for name, value in options.items()}
        unknown = sorted(set(given) - {name.lower() for name in OPTIONS})
        if unknown:
            raise ArchiveError(f"unknown option {', '.join(unknown)}: expected some of {', '.join(OPTIONS)}")
        if not given.get("path"):
            raise ArchiveError("no path given: use load(directory of an Archive)")
        content = _choice(given, "content", tuple(SCHEMAS))
        columns = [name for name in given.get("columns", "").replace(" ", "").split(",") if name]
        # An offset of a recording is a position, and positions count bytes: the two limits say the same.
        limits = [_number(given, name) for name in ("maxOffsetsPerTrigger", "maxBytesPerTrigger")]
        return cls(
            path=local_path(given["path"]),
            recording_ids=_ids(given),
            channel=given.get("channel", ""),
            stream_id=_integer("streamId", given["streamid"]) if "streamid" in given else None,
            starting=_offsets(given, "startingOffsets", EARLIEST),
            ending=_offsets(given, "endingOffsets", LATEST),
            bytes_per_trigger=min((limit for limit in limits if limit is not None), default=None),
            partitions_min=_number(given, "minPartitions"),
            fail_on_data_loss=_choice(given, "failOnDataLoss", ("true", "false")) == "true",
            content=content,
            schema=choose(SCHEMAS[content], columns or None),
        )


def _ids(given: Mapping[str, str]) -> frozenset[int] | None:
    texts = [given[name] for name in ("recordingid", "recordingids") if given.get(name)]
    return frozenset(_integer("recordingId", one) for text in texts for one in text.split(",")) if texts else None


def _integer(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ArchiveError(f"option {name}: expected a whole number, found {text!r}") from None


def _number(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name.lower())
    if text is None:
        return None
    unit = {"k": 10, "m": 20, "g": 30}.get(text[-1:].lower(), 0)
    digits = text[:-1] if unit else text
    if not digits.isdecimal() or int(digits) == 0:
        raise ArchiveError(f"option {name}: expected a whole number from 1, such as 64m, found {text!r}")
    return int(digits) << unit


def _choice(given: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    value = given.get(name.lower(), choices[0]).lower()
    if value not in choices:
        raise ArchiveError(f"option {name}: expected one of {', '.join(choices)}, found {value!r}")
    return value


def _offsets(given: Mapping[str, str], name: str, default: str) -> Offsets:
    text = given.get(name.lower(), default).strip()
    if text.lower() in (EARLIEST, LATEST):
        if name == "endingOffsets" and text.lower() == EARLIEST:
            raise ArchiveError("option endingOffsets: expected latest or positions as JSON, found 'earliest'")
        return text.lower()
    try:
        found = json.loads(text)
        positions = {int(key): value for key, value in found.items()}
    except (ValueError, AttributeError):
        positions = {-1: None}
    wrong = [key for key, value in positions.items() if key < 0 or not isinstance(value, int) or isinstance(value, bool) or value < -2]
    if wrong:
        raise ArchiveError(
            f'option {name}: expected {EARLIEST}, {LATEST} or positions of recordings as JSON such as {{"0": 65536}} '
            f"(-2 earliest, -1 latest), found {text!r}"
        )
    return {key: NAMED_OFFSETS.get(value, value) for key, value in positions.items()}
