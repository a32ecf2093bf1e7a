"""Counters: allocation, labels, keys, reuse after a time, and readers."""

from __future__ import annotations

import threading

import pytest

from aerowire.base.errors import ClosedError, ConfigurationError, CountersFullError
from aerowire.ipc.counters import (
    NULL_COUNTER_ID,
    STATE_ALLOCATED,
    STATE_RECLAIMED,
    STATE_UNUSED,
    AtomicCounter,
    CountersManager,
    CountersReader,
)

METADATA, VALUES = 512, 128
IN_USE = (1 << 63) - 1


class Clock:
    now = 1000

    def __call__(self) -> int:
        return self.now


def make(count: int = 4, **options: object) -> tuple[CountersManager, CountersReader]:
    metadata, values = bytearray(METADATA * count), bytearray(VALUES * count)
    return CountersManager(metadata, values, **options), CountersReader(metadata, values)  # type: ignore[arg-type]


def test_allocated_counter_is_found_by_a_reader() -> None:
    manager, reader = make()
    counter = manager.allocate("a label", 11, b"key", registration_id=5, owner_id=6, reference_id=7)
    manager.set_value(counter, -3)
    (info,) = reader.for_each()
    assert info == (counter, 11, "a label", -3, 5, 6, 7, b"key".ljust(112, b"\0"))
    assert reader.find_by_type_and_registration(11, 5) == counter
    assert reader.find_by_type_and_registration(11, 6) == NULL_COUNTER_ID
    assert reader.free_for_reuse_deadline_ms(counter) == IN_USE
    assert reader.state(counter) == STATE_ALLOCATED
    assert reader.state(counter + 1) == STATE_UNUSED


def test_freed_counter_disappears_and_its_id_waits_for_the_timeout() -> None:
    clock = Clock()
    manager, reader = make(2, free_to_reuse_timeout_ms=100, epoch_ms=clock)
    first, second = manager.allocate("1"), manager.allocate("2")
    manager.set_value(first, 42)
    manager.free(first)
    assert reader.state(first) == STATE_RECLAIMED
    assert [info.counter_id for info in reader.for_each()] == [second]
    assert reader.free_for_reuse_deadline_ms(first) == 1100
    assert manager.available == 1
    clock.now = 1099
    with pytest.raises(CountersFullError, match="2 counters"):
        manager.allocate("3")
    clock.now = 1100
    assert manager.allocate("3") == first
    assert reader.value(first) == 0
    with pytest.raises(ValueError, match="expected an allocated one"):
        CountersManager(bytearray(METADATA), bytearray(VALUES)).free(0)


def test_keys_may_be_written_in_place_and_must_fit() -> None:
    manager, reader = make()

    def write(area: memoryview) -> None:
        area[100:104] = b"tail"

    assert reader.key(manager.allocate("k", key=write))[100:104] == b"tail"
    with pytest.raises(ValueError, match="actual 113"):
        manager.allocate("too long", key=bytes(113))
    assert len(list(reader.for_each())) == 1
    counter = manager.allocate("again", key=bytes(112))
    manager.set_key(counter, b"new")
    assert reader.key(counter) == b"new".ljust(112, b"\0")


def test_labels_are_cut_replaced_and_appended() -> None:
    manager, reader = make()
    counter = manager.allocate("x" * 500)
    assert reader.label(counter) == "x" * 380
    assert manager.append_label(counter, "more") == 0
    manager.set_label(counter, "sub-pos:")
    assert manager.append_label(counter, " @0") == 3
    assert reader.label(counter) == "sub-pos: @0"
    manager.set_label(counter, "snöw")
    assert reader.label(counter) == "sn?w"


@pytest.mark.parametrize(("length", "fits"), [(-(2**31), 5), (-1, 5), (378, 2), (381, 0), (2**31 - 1, 0)])
def test_a_label_whose_length_is_damaged_is_appended_within_its_record(length: int, fits: int) -> None:
    metadata, values = bytearray(2 * 512), bytearray(2 * 128)
    manager = CountersManager(metadata, values)
    manager.allocate("first")
    manager.allocate("second")
    metadata[128:132] = length.to_bytes(4, "little", signed=True)
    second = bytes(metadata[512:])
    assert manager.append_label(0, " more") == fits
    assert metadata[512:] == second
    assert int.from_bytes(metadata[128:132], "little") == (fits if length < 0 else 380)


def test_ids_can_be_changed_later() -> None:
    manager, reader = make()
    counter = manager.allocate("x")
    manager.set_registration_id(counter, 1)
    manager.set_owner_id(counter, 2)
    manager.set_reference_id(counter, 3)
    assert (reader.registration_id(counter), reader.owner_id(counter), reader.reference_id(counter)) == (1, 2, 3)
    for bad in (-1, 4):
        with pytest.raises(ValueError, match="counter id: expected 0 to"):
            reader.value(bad)


def test_metadata_must_match_values() -> None:
    with pytest.raises(ConfigurationError, match="too small"):
        CountersReader(bytearray(METADATA), bytearray(VALUES * 2))
    with pytest.raises(BufferError):
        CountersManager(bytes(METADATA), bytes(VALUES))
    assert CountersReader(bytes(METADATA), bytes(VALUES)).max_count == 1


@pytest.mark.threads
def test_handle_adds_atomically_and_closes() -> None:
    manager, reader = make()
    counter = AtomicCounter(manager, manager.allocate("handle"))
    threads = [threading.Thread(target=lambda: [counter.increment() for _ in range(10_000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.get() == 40_000
    assert not counter.propose_max(5)
    assert counter.propose_max(50_000)
    assert not counter.compare_and_set(40_000, 1)
    assert counter.compare_and_set(50_000, 7)
    assert counter.get() == 7
    counter.set_volatile(1)
    assert counter.add(2) == 1
    with pytest.raises(TypeError):
        AtomicCounter(reader, counter.id).set(1)
    counter.close()
    counter.close()
    assert reader.state(counter.id) == STATE_RECLAIMED
    with pytest.raises(ClosedError):
        counter.get()


def test_value_view_is_the_memory_of_the_value() -> None:
    manager, reader = make()
    counter = manager.allocate("x")
    view = reader.value_view(counter)
    manager.set_value(counter, 0x0102)
    assert bytes(view) == b"\x02\x01" + bytes(6)
