"""The header of cnc.dat with any bytes in it, changed once more after a client has mapped the file."""

from __future__ import annotations

from collections.abc import Iterable

from aerowire.base.errors import AerowireError
from aerowire.ipc.cnc import BUFFER_CAPACITY_MIN, CncFile
from tests.fuzz.fields import Fields, int32s, int64s
from tests.fuzz.target import FindingError
from tests.support.anonymous_regions import AnonymousRegions

NOW_MS = 1_700_000_000_000
PAGE = 4096
HEADER = 128
# The first bytes of the file, the ends of its sections with their trailers, and its last page may change.
CHANGES_MAX = 8
SHORTER = (0, PAGE, 3 * PAGE)


class CncTarget:
    """How the file is used, changes before it is mapped, and changes after that: each an anchor, an offset, bytes."""

    name = "cnc"
    length_max = 240
    words = (
        int32s(0x0000_0200),
        int32s(2**31 - 1),
        int32s(-1),
        int32s(BUFFER_CAPACITY_MIN + 768),
        int32s(8 + 768),
        int32s(PAGE),
        int64s(NOW_MS),
        int64s(-1),
    )
    traced = ()

    def __init__(self) -> None:
        regions = AnonymousRegions()
        made = CncFile.create(
            "good",
            to_driver_length=BUFFER_CAPACITY_MIN + 768,
            to_clients_length=BUFFER_CAPACITY_MIN + 128,
            counters_metadata_length=4 * PAGE,
            counters_values_length=PAGE,
            error_log_length=PAGE,
            client_liveness_timeout_ns=10_000_000_000,
            start_timestamp_ms=NOW_MS,
            pid=1,
            file_page_size=PAGE,
            regions=regions,
        )
        made.publish()
        assert made.region is not None
        self._good = bytes(made.region)
        self._regions = AnonymousRegions()
        self._views = []
        for number, shorter in enumerate(SHORTER):
            self._views.append(memoryview(self._regions.create(str(number), len(self._good) - shorter)))
        sections = (made.to_driver_buffer, made.to_clients_buffer, made.counters_metadata_buffer, made.counters_values_buffer)
        ends = [HEADER]
        for section in sections:
            ends.append(ends[-1] + len(section))
        self._anchors = (0, *(end - 256 for end in ends[1:]), ends[2], ends[4])

    def seeds(self) -> Iterable[bytes]:
        """Return the good file, one with each field of its header changed, and one whose header changes after it was mapped."""
        yield b"\0\0\0"
        for at in range(0, 48, 4):
            for value in (-1, 2**31 - 1):
                yield b"\0\x01\0" + b"\0" + bytes([at]) + b"\x04" + int32s(value)
                yield b"\0\0\x01" + b"\0" + bytes([at]) + b"\x04" + int32s(value)
        for anchor in range(1, 7):
            yield b"\0\x01\0" + bytes([anchor]) + b"\x80\x10" + b"\xff" * 16

    def execute(self, data: bytes) -> None:
        """Change the file, map it, change it again, and use each section."""
        fields = Fields(data)
        how, before, after = fields.unsigned(1) % len(SHORTER), fields.unsigned(1), fields.unsigned(1)
        view = self._views[how]
        view[:] = self._good[: len(view)]
        self._change(view, fields, before)
        try:
            cnc = CncFile.map(str(how), regions=self._regions)
        except AerowireError as error:
            if not how and not before % CHANGES_MAX:
                raise FindingError("a good file is refused") from error
            return
        self._change(view, fields, after)
        self._use(cnc)

    def _change(self, view: memoryview, fields: Fields, count: int) -> None:
        for _ in range(count % CHANGES_MAX):
            offset = self._anchors[fields.unsigned(1) % len(self._anchors)] + fields.unsigned(1)
            changed = fields.take(fields.unsigned(1) & 31)[: max(0, len(view) - offset)]
            view[offset : offset + len(changed)] = changed

    def _use(self, cnc: CncFile) -> None:
        """Use everything in the file as a client and as a tool do; each use may refuse."""
        uses = (
            lambda: cnc.check_driver(NOW_MS, 10_000),
            lambda: (cnc.heartbeat_ms, cnc.version, cnc.header, cnc.client_liveness_timeout_ns, cnc.pid, cnc.file_page_size),
            lambda: bytes(cnc.error_log_buffer),
            lambda: (bytes(cnc.to_driver_buffer), bytes(cnc.to_clients_buffer)),
            lambda: cnc.to_driver.next_correlation_id(),  # noqa: PLW0108 -- making the ring may be refused
            lambda: (cnc.to_driver.offer(1, b"command"), cnc.to_driver.poll(4)),
            lambda: cnc.to_clients_receiver().poll(4),
            lambda: cnc.to_clients_transmitter().transmit(1, b"response"),
            lambda: [counter.label for counter in cnc.counters_reader().for_each()],
            lambda: cnc.counters_manager().allocate("a new one"),
        )
        for use in uses:
            try:
                use()
            except AerowireError:
                continue
