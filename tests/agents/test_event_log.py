"""An event log takes the codes of every kind of component, numbers what it holds, and refuses records that no reader could take."""

from __future__ import annotations

import struct
import threading

import pytest

from aerowire.agents.event_log import EventLog
from aerowire.codecs.flyweights.events import EVENT_TEXT_LENGTH_MAX, LoggedEventDecoder, StateEventDecoder, StateEventEncoder
from aerowire.ipc.broadcast import BroadcastReceiver
from aerowire.memory.region import Region
from aerowire.system.clock import ManualClock

CAPACITY = 65536
HEAD = LoggedEventDecoder.ENCODED_LENGTH
LONGEST = EVENT_TEXT_LENGTH_MAX + 128
ARCHIVE, CLUSTER = 1 << 16, 2 << 16  # Aeron's kinds of components


class Written:
    """A log in memory and the reader of it."""

    def __init__(self, codes: set[int]) -> None:
        self.clock = ManualClock(now_ns=1_000, epoch_ms=1_700_000_000_000)
        region = Region.anonymous(EventLog.file_length(CAPACITY))
        self.log = EventLog(region, self.clock, codes)
        self.receiver = BroadcastReceiver(region, from_start=True)

    def read(self) -> list[tuple[int, bytes]]:
        return list(self.receiver.poll(1_000))


def test_a_record_is_read_with_its_number_and_its_time() -> None:
    written = Written({3})
    for text in ("first", "second"):
        written.log.note(3, StateEventEncoder.encode(sequence=77, timestamp_ns=-1, text=text))
        written.clock.advance(5_000)
    first, second = [(code, StateEventDecoder(body)) for code, body in written.read()]
    assert [(code, event.sequence, event.text) for code, event in (first, second)] == [(3, 0, "first"), (3, 1, "second")]
    assert second[1].timestamp_ns - first[1].timestamp_ns == 5_000
    assert written.log.event_count == 2


def test_codes_of_one_number_and_different_kinds_are_told_apart() -> None:
    log = Written({5, ARCHIVE | 6, CLUSTER | 63}).log
    enabled = [code for kind in range(-1, 7) for number in range(-1, 130) if log.has(code := (kind << 16) + number)]
    assert enabled == [5, ARCHIVE | 6, CLUSTER | 63]


@pytest.mark.parametrize("code", [0, -1, 64, ARCHIVE, ARCHIVE | 64, 5 << 16 | 1])
def test_a_code_that_no_component_has_is_refused(code: int) -> None:
    with pytest.raises(ValueError, match=f"no event has the code {code}"):
        Written({1, code})


def test_the_code_of_a_component_is_the_type_of_its_record() -> None:
    written = Written({ARCHIVE | 6})
    written.log.note(ARCHIVE | 6, bytes(HEAD))
    assert [code for code, _ in written.read()] == [ARCHIVE | 6]


def test_a_record_is_neither_shorter_than_its_head_nor_longer_than_the_longest() -> None:
    written = Written({1})
    for length in (HEAD - 1, LONGEST + 1):
        with pytest.raises(ValueError, match=rf"expected {HEAD} to {LONGEST} bytes, actual {length}"):
            written.log.note(1, bytes(length))
    for length in (HEAD, LONGEST):
        written.log.note(1, bytes(length))
    assert [len(body) for _, body in written.read()] == [HEAD, LONGEST]
    assert written.log.event_count == 2


@pytest.mark.threads
def test_records_of_several_threads_have_the_numbers_without_a_gap() -> None:
    written = Written({1})

    def note(who: int) -> None:
        for number in range(100):
            written.log.note(1, bytes(HEAD) + struct.pack("<ii", who, number))

    threads = [threading.Thread(target=note, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    bodies = [body for _, body in written.read()]
    assert [LoggedEventDecoder(body).sequence for body in bodies] == list(range(400))
    notes = [struct.unpack("<ii", body[HEAD:]) for body in bodies]
    for who in range(4):
        assert [number for by, number in notes if by == who] == list(range(100))
