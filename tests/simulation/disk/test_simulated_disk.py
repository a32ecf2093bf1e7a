"""The simulated disk: what it keeps when the power fails, what goes wrong with it, and how long it takes."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from aerowire.base.errors import ConfigurationError, FileError, FullDiskError
from aerowire.simulation.disk.disk import SimulatedDisk
from aerowire.simulation.disk.disk_faults import DiskFaults
from aerowire.simulation.disk.simulated_files import SimulatedFiles
from aerowire.system.clock import ManualClock
from tests.simulation.disk.ports import disk_of

NEVER = (1 << 63) - 1
PAGE, SECTOR = 4096, 512
SEEDS = 200
OLD, NEW = b"o" * PAGE, b"n" * PAGE


def after_power_failure(disk: SimulatedDisk) -> SimulatedFiles:
    disk.lose_power()
    return SimulatedFiles(disk)


def stored(files: SimulatedFiles, content: bytes, path: str = "/a") -> None:
    with files.open(path, writable=True, create=True) as file:
        file.write_all(0, content)
        file.sync()
    files.sync_directory("/")


def content_of(files: SimulatedFiles, path: str = "/a") -> bytes:
    with files.open(path) as file:
        return file.read(0, file.length())


def test_what_was_synced_is_kept() -> None:
    for seed in range(SEEDS):
        disk, files, _ = disk_of(seed, writeback=0.5)
        stored(files, OLD + NEW)
        assert content_of(after_power_failure(disk)) == OLD + NEW


def test_unsynced_pages_are_kept_or_lost_in_any_combination() -> None:
    found = Counter[bytes]()
    for seed in range(SEEDS):
        disk, files, _ = disk_of(seed, sector=PAGE)
        stored(files, OLD * 3)
        with files.open("/a", writable=True) as file:
            file.write(0, NEW * 3)
        found[content_of(after_power_failure(disk))[::PAGE]] += 1
    assert set(found) == {bytes(three) for three in ((a, b, c) for a in b"on" for b in b"on" for c in b"on")}


def test_unsynced_pages_may_be_torn_between_sectors() -> None:
    found = set[bytes]()
    for seed in range(SEEDS):
        disk, files, _ = disk_of(seed, sector=SECTOR)
        stored(files, OLD)
        with files.open("/a", writable=True) as file:
            file.write(0, NEW)
        content = content_of(after_power_failure(disk))
        assert all(content[at : at + SECTOR] in (OLD[:SECTOR], NEW[:SECTOR]) for at in range(0, PAGE, SECTOR))
        found.add(content[::SECTOR])
    assert {OLD[::SECTOR], NEW[::SECTOR]} < found
    assert len(found) > 10


def test_a_page_may_be_left_as_it_was_between_two_writes() -> None:
    found = Counter[bytes]()
    for seed in range(SEEDS):
        disk, files, _ = disk_of(seed, writeback=0.5, sector=PAGE)
        stored(files, b"1" * PAGE)
        with files.open("/a", writable=True) as file:
            file.write(0, b"2" * PAGE)
            file.write(0, b"3" * PAGE)
        found[content_of(after_power_failure(disk))[:1]] += 1
    assert set(found) == {b"1", b"2", b"3"}


def test_length_and_content_are_kept_or_lost_on_their_own() -> None:
    found = set[tuple[int, bytes]]()
    for seed in range(SEEDS):
        disk, files, _ = disk_of(seed, sector=PAGE)
        stored(files, OLD)
        with files.open("/a", writable=True) as file:
            file.write(PAGE, NEW)
        content = content_of(after_power_failure(disk))
        assert content[:PAGE] == OLD
        found.add((min(len(content) - PAGE, 1), content[-1:] if len(content) == 2 * PAGE else b""))
    assert found == {(0, b""), (1, b""), (1, b"n"), (1, b"\0")}


def test_a_name_is_kept_once_its_directory_is_synced() -> None:
    kept = 0
    for seed in range(SEEDS):
        disk, files, _ = disk_of(seed)
        files.make_directory("/d")
        files.sync_directory("/")
        with files.open("/d/unsynced", writable=True, create=True) as file:
            file.write_all(0, OLD)
            file.sync()
        disk.lose_power()
        files = SimulatedFiles(disk)
        assert files.names("/") == ["d"]
        kept += files.names("/d") == ["unsynced"]
        with files.open("/d/synced", writable=True, create=True) as file:
            file.write_all(0, OLD)
            file.sync()
        files.sync_directory("/d")
        files = after_power_failure(disk)
        assert "synced" in files.names("/d")
        assert content_of(files, "/d/synced") == OLD
    assert SEEDS // 4 < kept < SEEDS * 3 // 4


def test_a_rename_is_kept_or_lost_as_a_whole() -> None:
    found = Counter[tuple[str, ...]]()
    for seed in range(SEEDS):
        disk, files, _ = disk_of(seed)
        stored(files, OLD, "/a")
        stored(files, NEW, "/b")
        files.rename("/a", "/b")
        files = after_power_failure(disk)
        names = tuple(files.names("/"))
        found[names] += 1
        assert content_of(files, "/b") == (NEW if names == ("a", "b") else OLD)
    assert set(found) == {("a", "b"), ("b",)}


def test_what_is_done_to_a_file_that_was_lost_is_lost_too() -> None:
    for seed in range(SEEDS):
        disk, files, _ = disk_of(seed)
        stored(files, OLD, "/a")
        for old, new in (("/a", "/b"), ("/b", "/c"), ("/c", "/d")):
            files.rename(old, new)
        files = after_power_failure(disk)
        (name,) = files.names("/")
        assert content_of(files, f"/{name}") == OLD


def test_a_deletion_that_was_not_synced_may_be_undone() -> None:
    found = set[bool]()
    for seed in range(SEEDS):
        disk, files, _ = disk_of(seed)
        stored(files, OLD)
        files.delete("/a")
        free = disk.free_bytes
        files = after_power_failure(disk)
        found.add(files.exists("/a"))
        if files.exists("/a"):
            assert content_of(files) == OLD
            assert disk.free_bytes == free - PAGE
    assert found == {True, False}


def test_a_kill_loses_nothing_that_was_done() -> None:
    disk, files, _ = disk_of()
    with files.open("/a", writable=True, create=True) as file:
        assert file.lock()
        file.write_all(0, NEW)
        files.kill()
        with pytest.raises(FileError, match="Input/output error"):
            file.write(0, OLD)
    other = SimulatedFiles(disk)
    assert content_of(other) == NEW
    with other.open("/a") as file:
        assert file.lock()


def test_of_what_a_killed_process_had_begun_any_part_is_done() -> None:
    found = set[bytes]()
    for seed in range(SEEDS):
        disk, files, _ = disk_of(seed, latency_ns=10)
        file = files.open("/a", writable=True, create=True)
        request = file.start_write(0, b"x" * 3)
        files.kill()
        assert not request.is_done
        found.add(content_of(SimulatedFiles(disk)))
    assert found == {b"", b"x", b"xx", b"xxx"}


def test_a_sync_that_failed_loses_what_a_later_one_seems_to_keep() -> None:
    found = Counter[bytes]()
    for seed in range(SEEDS):
        disk, files, _ = disk_of(seed, sector=PAGE)
        stored(files, OLD * 2)
        with files.open("/a", writable=True) as file:
            file.write(0, NEW * 2)
            disk.faults = DiskFaults(sync_error=1.0, sector=PAGE)
            with pytest.raises(FileError, match="what was written since the last sync is lost; at /a; got Input/output error"):
                file.sync()
            disk.faults = DiskFaults(sector=PAGE)
            file.sync()
            assert file.read(0, 2 * PAGE) == NEW * 2
        found[content_of(after_power_failure(disk))[::PAGE]] += 1
    assert found[b"oo"] > SEEDS // 20
    assert set(found) == {b"oo", b"on", b"no", b"nn"}


def test_what_is_written_again_after_a_failed_sync_is_kept() -> None:
    for seed in range(SEEDS):
        disk, files, _ = disk_of(seed, sync_error=1.0)
        with files.open("/a", writable=True, create=True) as file:
            file.write(0, OLD)
            with pytest.raises(FileError):
                file.sync()
            disk.faults = DiskFaults()
            file.write(0, NEW)
            file.sync()
        files.sync_directory("/")
        assert content_of(after_power_failure(disk)) == NEW


def test_a_cut_makes_a_page_dirty_again_that_a_failed_sync_gave_up() -> None:
    for seed in range(SEEDS):
        disk, files, _ = disk_of(seed, sector=PAGE)
        stored(files, OLD)
        with files.open("/a", writable=True) as file:
            file.truncate(PAGE // 2)
            file.truncate(PAGE)
            disk.faults = DiskFaults(sync_error=1.0, sector=PAGE)
            with pytest.raises(FileError):
                file.sync()
            disk.faults = DiskFaults(sector=PAGE)
            file.truncate(PAGE // 2)
            file.truncate(PAGE)
            file.sync()
        assert content_of(after_power_failure(disk)) == OLD[: PAGE // 2] + bytes(PAGE // 2)


def outcome(call: Callable[[], int]) -> str:
    """Return how a read or write of 500 bytes ended."""
    try:
        done = call()
    except FileError as error:
        return os.strerror(error.errno or 0)
    return "whole" if done == 500 else "short" if 1 <= done < 500 else "impossible"


def test_reads_and_writes_fail_and_fall_short_by_chance() -> None:
    disk, files, _ = disk_of(write_error=0.2, read_error=0.2, short_read=0.2, short_write=0.2)
    results = Counter[tuple[str, str]]()
    with files.open("/a", writable=True, create=True) as file:
        file.truncate(1000)
        for _ in range(1000):
            results["write", outcome(partial(file.write, 0, b"x" * 500))] += 1
            results["read", outcome(partial(file.read_into, 0, bytearray(500)))] += 1
    assert not any(found == "impossible" for _, found in results)
    for name in ("read", "write"):
        assert 150 < results[name, "Input/output error"] < 250
        assert 110 < results[name, "short"] < 210
        assert disk.counts[f"{name}_error"] == results[name, "Input/output error"]
        assert disk.counts[f"short_{name}"] == results[name, "short"]


def test_damage_is_silent_and_bounded() -> None:
    disk, files, _ = disk_of(5, bit_flip=1.0, damage_max=2)
    stored(files, OLD * 4)
    content = content_of(after_power_failure(disk))
    assert sum(bin(a ^ b).count("1") for a, b in zip(content, OLD * 4, strict=True)) == 2
    assert disk.damages == disk.counts["bit_flip"] == 2
    disk, files, _ = disk_of(5, misdirected_write=1.0, damage_max=1)
    pages = b"".join(bytes([number]) * PAGE for number in range(16))
    stored(files, pages)
    content = content_of(after_power_failure(disk))
    assert [content[at] == pages[at] for at in range(0, len(pages), PAGE)].count(False) == 1
    assert disk.damages == 1


def test_a_full_disk_takes_what_it_has_room_for() -> None:
    disk, files, _ = disk_of(capacity=4 * PAGE)
    with files.open("/a", writable=True, create=True) as file:
        assert file.write(100, b"x" * 5 * PAGE) == 4 * PAGE - 100
        with pytest.raises(FullDiskError) as full:
            file.write(4 * PAGE, b"x")
        assert full.value.errno == errno.ENOSPC
        assert file.write(0, b"y" * PAGE) == PAGE
        file.truncate(PAGE)
        assert disk.free_bytes == files.free_space("/") == 3 * PAGE
        with pytest.raises(FullDiskError):
            file.preallocate(5 * PAGE)
        file.preallocate(4 * PAGE)
        assert (file.length(), disk.free_bytes) == (4 * PAGE, 0)
        files.delete("/a")
        assert disk.free_bytes == 0
    assert disk.free_bytes == 4 * PAGE


def test_operations_complete_when_their_time_has_come() -> None:
    disk, files, clock = disk_of(latency_ns=500, jitter_ns=0)
    with files.open("/a", writable=True, create=True) as file:
        assert disk.next_completion_ns() == NEVER
        first = file.start_write(0, b"x")
        clock.advance(100)
        second = file.start_sync()
        assert disk.next_completion_ns() == 1_500
        clock.advance(399)
        assert disk.complete_due() == 0
        with pytest.raises(ValueError, match="not done"):
            first.result()
        clock.advance(1)
        assert disk.complete_due() == 1
        assert (first.is_done, second.is_done, first.result()) == (True, False, 1)
        clock.advance(100)
        assert disk.complete_due() == 1
        assert second.result() == 0


def test_slow_operations_are_overtaken() -> None:
    disk, files, clock = disk_of(latency_ns=10, slow_one_in=3, slow_ns=1_000_000)
    with files.open("/a", writable=True, create=True) as file:
        requests = [file.start_write(number, b"x") for number in range(300)]
        clock.advance(10)
        done = disk.complete_due()
        assert 150 < done < 250
        assert disk.counts["slow"] == 300 - done
        clock.advance(1_000_000)
        assert disk.complete_due() == 300 - done
        assert all(request.result() == 1 for request in requests)


def test_a_new_disk_is_empty() -> None:
    disk, files, _ = disk_of(capacity=100 * PAGE)
    stored(files, OLD)
    disk.wipe()
    assert SimulatedFiles(disk).names("/") == []
    assert disk.free_bytes == 100 * PAGE


def test_the_digest_tells_bytes_and_order() -> None:
    def digest(*writes: tuple[int, bytes]) -> int:
        disk, files, _ = disk_of()
        with files.open("/a", writable=True, create=True) as file:
            for offset, octets in writes:
                file.write(offset, octets)
        return disk.hash

    one, other = (0, b"abcdefghij"), (20, b"abcdefghij")
    assert digest(one, other) == digest(one, other)
    assert len({digest(one, other), digest(other, one), digest(one, (20, b"abcdefghiJ")), digest(one, (20, b"Xbcdefghij"))}) == 4


def test_faults_are_checked() -> None:
    with pytest.raises(ConfigurationError, match="impossible chance; at bit_flip; expected 0 to 1; got 1"):
        DiskFaults(bit_flip=1.5)
    with pytest.raises(ConfigurationError, match="no such sectors; at sector"):
        DiskFaults(sector=1000)
    with pytest.raises(ConfigurationError, match="negative limit; at latency_ns"):
        DiskFaults(latency_ns=-1)
    with pytest.raises(TypeError):
        SimulatedDisk(ManualClock())  # type: ignore[call-arg]
