"""The error log of cnc.dat and the loss report with any bytes in them."""

from __future__ import annotations

from collections.abc import Iterable

from aerowire.ipc.error_log import DistinctErrorLog, read_errors, scan_errors
from aerowire.ipc.loss_report import LossReport, read_loss, scan_loss
from aerowire.memory.region import Region
from tests.fuzz.fields import int32s, int64s
from tests.fuzz.target import FindingError

LENGTH = 4096
# A byte that cannot be decoded is shown as four characters.
TEXT_MAX = 4 * LENGTH


class _Records:
    """A file's bytes; the rest of the page is zero."""

    # Thirty records: more of them show nothing else, and an execution takes as long as its records.
    length_max = LENGTH // 4
    traced = ()

    def __init__(self) -> None:
        self._region = Region.anonymous(LENGTH)
        self._view = memoryview(self._region)
        self._blank = bytes(LENGTH)

    def put(self, data: bytes) -> None:
        # At the end of the page too, where a length may lead past it.
        self._view[:] = self._blank
        half = len(data) // 2
        if data and data[0] & 0x80:
            self._view[LENGTH - half :] = data[:half]
            self._view[: len(data) - half] = data[half:]
        else:
            self._view[: len(data)] = data


class ErrorLogTarget(_Records):
    """Records of errors: their readers, and the driver that goes on writing."""

    name = "error-log"
    words = (int32s(24), int32s(2**31 - 1), int32s(-8), b"java.lang.Error", b"\xff\xff")

    def seeds(self) -> Iterable[bytes]:
        """Return an empty log, one with an error, one with two."""
        record = int32s(32, 1) + int64s(1_700_000_000_001, 1_700_000_000_000) + b"an error"
        yield b"\0"
        yield record
        yield record + record

    def execute(self, data: bytes) -> None:
        """Read the log, add to a log, read again."""
        self.put(data)
        errors, _ = scan_errors(self._region)
        if sum(len(error.text) for error in errors) > TEXT_MAX:
            raise FindingError(f"{len(errors)} errors have more text than the log")
        read_errors(self._region, 1_700_000_000_000)
        log = DistinctErrorLog(self._region)
        log.record("a new error", 1_700_000_000_002)
        log.record("a new error", 1_700_000_000_003)


class LossReportTarget(_Records):
    """Entries of streams that lost data: their readers, and the driver that goes on writing."""

    name = "loss-report"
    words = (int32s(9), int32s(2**31 - 1), int32s(-4), int64s(1 << 62), b"aeron:udp")

    def seeds(self) -> Iterable[bytes]:
        """Return an empty report, and one with an entry."""
        yield b"\0"
        yield (
            int64s(1, 64, 1_700_000_000_000, 1_700_000_000_001) + int32s(77, 1001, 9) + b"aeron:udp\0\0\0" + int32s(5) + b"1.2.3" + bytes(3)
        )

    def execute(self, data: bytes) -> None:
        """Read the report, add to it, read again."""
        self.put(data)
        entries, _ = scan_loss(self._region)
        if sum(len(entry.channel) + len(entry.source) for entry in entries) > TEXT_MAX:
            raise FindingError(f"{len(entries)} entries have more text than the report")
        read_loss(self._region)
        report = LossReport(self._region)
        entry = report.create(64, 1_700_000_000_002, 1, 2, "aeron:udp", "1.2.3.4:5")
        if entry is not None:
            report.observe(entry, 64, 1_700_000_000_003)
