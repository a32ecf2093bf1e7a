"""The real archive in the world: it serves, ends, is killed and loses power there, and what it has acknowledged is there again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from aerowire.archive.conductor.archive_conductor import ArchiveConductor
from aerowire.base.errors import ActiveArchiveError, ClosedError, ConfigurationError
from aerowire.simulation.archives import SimulatedArchive
from aerowire.simulation.disk.disk_faults import DiskFaults
from aerowire.simulation.host import ARCHIVE_DIR, SimulatedHost
from aerowire.simulation.world import SimulatedWorld
from tests.support.archives.simulated_client import IPC, MS, SECOND, STREAM, ArchiveClient

OPTIONS: dict[str, Any] = {"segment_file_length": "64k", "low_storage_space_threshold": 0}
DRIVER: dict[str, Any] = {"term_buffer_length": "64k", "ipc_term_buffer_length": "64k", "client_liveness_timeout_ns": "2s"}
MESSAGES = [b"%06d" % number * 40 for number in range(1_000)]


@pytest.fixture
def world() -> Iterator[SimulatedWorld]:
    with SimulatedWorld(seed=4) as made:
        yield made


def started(world: SimulatedWorld, host: SimulatedHost, **options: Any) -> SimulatedArchive:
    """Start an archive, and let the world run until it serves."""
    archive = host.start_archive(**{**OPTIONS, **options})
    assert world.run(10 * SECOND, until=lambda: archive.is_serving), archive.failure
    return archive


def test_an_archive_records_and_replays(world: SimulatedWorld) -> None:
    host = world.add_host("10.0.0.1", **DRIVER)
    started(world, host)
    client = ArchiveClient(world, host)
    publication, recording_id = client.record()
    client.send(publication, MESSAGES)
    world.run(SECOND)
    assert client.position(recording_id) == publication.position
    assert client.replayed(recording_id) == MESSAGES


def test_an_idle_archive_takes_few_steps(world: SimulatedWorld) -> None:
    host = world.add_host("10.0.0.1", **DRIVER)
    started(world, host)
    ArchiveClient(world, host)
    world.run(SECOND)
    before = world.steps
    world.run(10 * SECOND)
    assert world.steps - before < 2_000


def test_a_conductor_that_sleeps_has_cycles_only_for_news_and_deadlines(world: SimulatedWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    host = world.add_host("10.0.0.1", **DRIVER)
    archive = started(world, host, sleeps=True)
    client = ArchiveClient(world, host)
    publication, recording_id = client.record()
    client.send(publication, MESSAGES)
    world.run(SECOND)
    assert client.replayed(recording_id) == MESSAGES
    conductor, cycles = archive.archive.conductor, 0
    original = type(conductor).do_work

    def do_work(self: ArchiveConductor, now_ns: int, epoch_ms: int, /) -> int:
        nonlocal cycles
        cycles += 1
        return original(self, now_ns, epoch_ms)

    monkeypatch.setattr(ArchiveConductor, "do_work", do_work)
    world.run(10 * SECOND)
    assert 100 <= cycles <= 400
    assert client.position(recording_id) == publication.position


def test_an_archive_ends_in_order_and_another_takes_its_directory(world: SimulatedWorld) -> None:
    host = world.add_host("10.0.0.1", **DRIVER)
    archive = started(world, host)
    client = ArchiveClient(world, host)
    publication, recording_id = client.record()
    client.send(publication, MESSAGES[:50])
    world.run(100 * MS)
    position = publication.position
    archive.close()
    assert world.run(10 * SECOND, until=lambda: archive.has_ended)
    assert archive.failure is None
    assert not archive.is_serving
    started(world, host)
    again = ArchiveClient(world, host)
    assert [(found.recording_id, found.stop_position) for found in again.recordings()] == [(recording_id, position)]
    assert again.replayed(recording_id) == MESSAGES[:50]


def test_an_archive_that_the_driver_has_dropped_ends_while_it_records_and_loses_nothing(world: SimulatedWorld) -> None:
    host = world.add_host("10.0.0.1", **DRIVER)
    archive = started(world, host)
    client = ArchiveClient(world, host)
    publication, recording_id = client.record()
    client.send(publication, MESSAGES[:50])
    world.run(100 * MS)
    position = publication.position
    archive.process.pause()
    world.run(5 * SECOND)
    archive.process.resume()
    assert world.run(10 * SECOND, until=lambda: archive.has_ended)
    started(world, host)
    again = ArchiveClient(world, host)
    assert [(found.recording_id, found.stop_position) for found in again.recordings()] == [(recording_id, position)]
    assert again.replayed(recording_id) == MESSAGES[:50]


@pytest.mark.parametrize("sync_level", [0, 1])
def test_what_was_acknowledged_is_there_after_a_kill(world: SimulatedWorld, sync_level: int) -> None:
    host = world.add_host("10.0.0.1", **DRIVER)
    archive = started(world, host, file_sync_level=sync_level)
    client = ArchiveClient(world, host)
    publication, recording_id = client.record()
    client.send(publication, MESSAGES[:500])
    position = client.position(recording_id)
    archive.kill()
    started(world, host, file_sync_level=sync_level)
    again = ArchiveClient(world, host)
    (found,) = again.recordings()
    assert found.stop_position >= position > 0
    messages = again.replayed(recording_id)
    assert messages == MESSAGES[: len(messages)]


@pytest.mark.parametrize("seed", range(4))
def test_what_was_acknowledged_is_there_after_a_power_failure_where_it_was_synced(seed: int) -> None:
    with SimulatedWorld(seed=seed) as world:
        host = world.add_host("10.0.0.1", **DRIVER)
        started(world, host, file_sync_level=1, catalog_file_sync_level=1)
        client = ArchiveClient(world, host)
        publication, recording_id = client.record()
        client.send(publication, MESSAGES[: 300 + 100 * seed])
        position = client.position(recording_id)
        host.lose_power()
        host.restart()
        host.start_driver(**DRIVER)
        started(world, host, file_sync_level=1, catalog_file_sync_level=1)
        again = ArchiveClient(world, host)
        (found,) = again.recordings()
        assert found.stop_position >= position > 0
        messages = again.replayed(recording_id)
        assert messages == MESSAGES[: len(messages)]


def test_a_recording_that_ends_while_the_disk_fails_is_stopped_when_the_disk_works_again(world: SimulatedWorld) -> None:
    host = world.add_host("10.0.0.1", **DRIVER)
    started(world, host, file_sync_level=1)
    client = ArchiveClient(world, host)
    publication, recording_id = client.record()
    client.send(publication, MESSAGES[:50])
    world.run(SECOND)
    position = client.position(recording_id)
    assert position == publication.position
    host.disk.faults = DiskFaults(write_error=1.0, sync_error=1.0)
    client.send(publication, MESSAGES[50:60])
    world.run(3 * SECOND)
    assert [found.stop_position for found in client.recordings()] == [-1]
    host.disk.faults = DiskFaults()
    world.run(2 * SECOND)
    assert [found.stop_position for found in client.recordings()] == [position]
    assert client.replayed(recording_id) == MESSAGES[:50]


def test_what_a_failed_sync_has_left_is_no_part_of_the_recording_that_goes_on(world: SimulatedWorld) -> None:
    host = world.add_host("10.0.0.1", **DRIVER)
    archive = started(world, host, file_sync_level=1)
    client = ArchiveClient(world, host)
    publication, recording_id = client.record()
    client.send(publication, MESSAGES[:50])
    world.run(SECOND)
    end = publication.position
    host.disk.faults = DiskFaults(sync_error=1.0, writeback=1.0)
    assert all(publication.offer(message) > 0 for message in MESSAGES[50:60])
    world.run(SECOND)
    publication.close()
    host.disk.faults = DiskFaults()
    assert world.run(5 * SECOND, until=lambda: client.recordings()[0].stop_position == end)
    with host.files.open(f"{ARCHIVE_DIR}/{recording_id}-0.rec") as file:
        assert (file.length(), any(file.read(end, 64 * 1024))) == (64 * 1024, False)
    client.complete(client.archive.async_stop_recording(IPC, STREAM))
    again = client.complete(client.archive.async_add_continued_publication(IPC, STREAM)).publication
    client.send(again, MESSAGES[90:91])
    assert world.run(5 * SECOND, until=lambda: client.position(recording_id) == again.position)
    archive.kill()
    started(world, host, file_sync_level=1)
    assert ArchiveClient(world, host).replayed(recording_id) == [*MESSAGES[:50], MESSAGES[90]]


def test_a_continued_publication_is_recorded_from_its_first_message_on(world: SimulatedWorld) -> None:
    host = world.add_host("10.0.0.1", **DRIVER)
    started(world, host)
    client = ArchiveClient(world, host)
    for count in range(1, 4):
        continued = client.complete(client.archive.async_add_continued_publication(IPC, STREAM))
        client.send(continued.publication, [MESSAGES[count]])
        position = continued.publication.position
        assert client.complete(client.archive.async_await_recorded(continued.recording_id, position)) == position
        continued.publication.close()
    assert world.run(10 * SECOND, until=lambda: client.recordings()[0].stop_position == position)
    assert client.replayed(0) == MESSAGES[1:4]


def test_an_archive_deletes_what_was_recorded_before_when_it_is_told_to(world: SimulatedWorld) -> None:
    host = world.add_host("10.0.0.1", **DRIVER)
    archive = started(world, host)
    client = ArchiveClient(world, host)
    publication, recording_id = client.record()
    client.send(publication, MESSAGES)
    archive.kill()
    client.client.kill()
    world.run(5 * SECOND)
    with host.files.open(f"{ARCHIVE_DIR}/notes.txt", writable=True, create=True) as file:
        file.write(0, b"not an archive's")
    started(world, host, archive_dir_delete_on_start=True)
    again = ArchiveClient(world, host)
    assert again.recordings() == []
    assert [name for name in host.files.names(ARCHIVE_DIR) if name.endswith((".rec", ".txt"))] == ["notes.txt"]
    publication, new_id = again.record()
    again.send(publication, MESSAGES[:10])
    world.run(100 * MS)
    assert new_id == recording_id == 0
    assert again.replayed(new_id) == MESSAGES[:10]


def test_an_archive_cannot_start_in_the_directory_of_one_that_lives(world: SimulatedWorld) -> None:
    host = world.add_host("10.0.0.1", **DRIVER)
    started(world, host)
    second = host.start_archive(**OPTIONS, control_channel="aeron:udp?endpoint=10.0.0.1:8011")
    assert world.run(10 * SECOND, until=lambda: second.has_ended)
    assert isinstance(second.failure, ActiveArchiveError)
    with pytest.raises(ActiveArchiveError):
        _ = second.archive


def test_an_archive_needs_a_driver_and_options_that_can_be(world: SimulatedWorld) -> None:
    host = world.add_empty_host("10.0.0.1")
    with pytest.raises(ClosedError, match="the host has no driver"):
        host.start_archive(**OPTIONS)
    host.start_driver(**DRIVER)
    with pytest.raises(ConfigurationError):
        host.start_archive(segment_file_length="65k")
    assert [process.name for process in host.processes] == ["driver at 10.0.0.1"]
    assert host.files.facts(ARCHIVE_DIR) is None


def test_one_world_with_an_archive_whenever_the_collector_runs() -> None:
    def run(*, collects: bool) -> tuple[int, int]:
        with SimulatedWorld(seed=9) as world:
            host = world.add_host("10.0.0.1", **DRIVER)
            archive = started(world, host)
            publication, _ = (client := ArchiveClient(world, host)).record()
            client.send(publication, MESSAGES[:100])
            archive.kill()
            started(world, host)
            for _ in range(50):
                if collects:
                    gc.collect()
                world.run(100 * MS)
            return world.trace_hash, world.steps

    gc.disable()
    try:
        without = run(collects=False)
    finally:
        gc.enable()
    assert run(collects=True) == without
