"""The driver's command-and-control file as a client sees it: where its sections are and whether the driver lives."""

from __future__ import annotations

import time
from pathlib import Path

from aerowire.codecs.flyweights.cnc import (
    CNC_NOT_READY,
    CNC_VERSION,
    CONSUMER_HEARTBEAT_CLOSED,
    CncHeaderDecoder,
    ErrorRecordDecoder,
    RingTrailerDecoder,
)
from aerowire.conformance.errors import ConformanceError
from aerowire.conformance.harness.memory import Mapping
from aerowire.conformance.harness.ring import align

CNC_FILE = "cnc.dat"
# Commands of the major version decide whether a client understands the file.
MAJOR_SHIFT = 16


class DriverUnreachableError(ConformanceError):
    """The driver's directory is missing, not a driver's, or its driver does not answer; the message says which."""


class CncFile:
    """`cnc.dat` mapped. Section attributes are (offset, length) in the mapping, trailers included."""

    def __init__(self, directory: Path, *, timeout_s: float = 10.0) -> None:
        self.path = directory / CNC_FILE
        self.mapping = self._open(time.monotonic() + timeout_s)
        header = CncHeaderDecoder(self.mapping.buffer)
        self.pid = header.pid
        self.client_liveness_timeout_ns = header.client_liveness_timeout_ns
        offset = CncHeaderDecoder.ENCODED_LENGTH
        sections: list[tuple[int, int]] = []
        for length in (
            header.to_driver_buffer_length,
            header.to_clients_buffer_length,
            header.counters_metadata_buffer_length,
            header.counters_values_buffer_length,
            header.error_log_buffer_length,
        ):
            sections.append((offset, length))
            offset += length
        if offset > self.mapping.length:
            raise DriverUnreachableError(f"{self.path}: sections need {offset} bytes, the file has {self.mapping.length}")
        self.to_driver, self.to_clients, self.counters_metadata, self.counters_values, self.error_log = sections
        ring_offset, ring_length = self.to_driver
        self._trailer = ring_offset + ring_length - RingTrailerDecoder.ENCODED_LENGTH

    def _open(self, deadline: float) -> Mapping:
        while True:
            try:
                if self.path.stat().st_size >= CncHeaderDecoder.ENCODED_LENGTH:
                    mapping = Mapping(self.path)
                    version = mapping.i32(CncHeaderDecoder.VERSION_OFFSET)
                    if version >> MAJOR_SHIFT == CNC_VERSION >> MAJOR_SHIFT and version != CNC_NOT_READY:
                        return mapping
                    mapping.close()
                    if version != CNC_NOT_READY:
                        raise DriverUnreachableError(f"{self.path}: version {version:#x}, expected {CNC_VERSION:#x}")
            except FileNotFoundError:
                pass
            if time.monotonic() > deadline:
                raise DriverUnreachableError(f"{self.path}: no driver made this file ready in time")
            time.sleep(0.01)

    def header(self) -> CncHeaderDecoder:
        """Return the header as it is now."""
        return CncHeaderDecoder(self.mapping.bytes_at(0, CncHeaderDecoder.ENCODED_LENGTH))

    def close(self) -> None:
        """Unmap the file."""
        self.mapping.close()

    def errors(self) -> list[str]:
        """Return the texts of the driver's distinct error log."""
        offset, length = self.error_log
        end = offset + length
        found: list[str] = []
        while offset + ErrorRecordDecoder.ENCODED_LENGTH <= end:
            record_length = self.mapping.i32(offset + ErrorRecordDecoder.LENGTH_OFFSET)
            if record_length < ErrorRecordDecoder.ENCODED_LENGTH or offset + record_length > end:
                break
            found.append(ErrorRecordDecoder(self.mapping.buffer, offset, record_length).encoded_error)
            offset += align(record_length, ErrorRecordDecoder.ALIGNMENT)
        return found

    @property
    def heartbeat_ms(self) -> int:
        """The driver's last sign of life in epoch milliseconds."""
        return self.mapping.i64(self._trailer + RingTrailerDecoder.CONSUMER_HEARTBEAT_OFFSET)

    def is_alive(self, within_ms: int) -> bool:
        """Say whether the driver gave a sign of life in the last `within_ms`."""
        heartbeat = self.heartbeat_ms
        return heartbeat != CONSUMER_HEARTBEAT_CLOSED and time.time_ns() // 1_000_000 - heartbeat <= within_ms
