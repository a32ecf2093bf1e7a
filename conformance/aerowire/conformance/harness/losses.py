"""Reads the driver's loss report: what was lost on each stream, from the file in the driver's directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from aerowire.codecs.flyweights.cnc import LossRecordDecoder
from aerowire.conformance.harness.memory import Mapping
from aerowire.conformance.harness.ring import align

LOSS_REPORT_FILE = "loss-report.dat"
LENGTH_FIELD = 4


class Loss(NamedTuple):
    """One record of the report."""

    observation_count: int
    total_bytes_lost: int
    session_id: int
    stream_id: int
    channel: str
    source: str


def read_losses(directory: Path) -> list[Loss]:
    """Return the records of the report in a driver's directory."""
    mapping = Mapping(directory / LOSS_REPORT_FILE)
    try:
        return list(_records(mapping))
    finally:
        mapping.close()


def _records(mapping: Mapping) -> Iterator[Loss]:
    offset = 0
    while offset + LossRecordDecoder.ENCODED_LENGTH <= mapping.length:
        # The count is published last: a record without one is not there yet.
        count = mapping.i64(offset + LossRecordDecoder.OBSERVATION_COUNT_OFFSET)
        if count == 0:
            return
        record = LossRecordDecoder(mapping.buffer, offset)
        channel, source = record.channel, record.source
        yield Loss(count, record.total_bytes_lost, record.session_id, record.stream_id, channel, source)
        source_offset = align(LossRecordDecoder.ENCODED_LENGTH + len(channel), LENGTH_FIELD)
        offset += align(source_offset + LENGTH_FIELD + len(source), LossRecordDecoder.ALIGNMENT)
