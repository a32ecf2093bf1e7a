"""Whether an id of an archive is free at a driver, with literal times: clients show that they live each 500 ms."""

from __future__ import annotations

import pytest

from aerowire.archive.conductor.archive_id_check import ArchiveIdCheck
from aerowire.base.errors import ActiveArchiveError
from aerowire.codecs.flyweights.cnc import ArchiveCounterKeyEncoder
from aerowire.codecs.tables.counters import CounterType
from aerowire.ipc.counters import CountersManager

NOW_MS = 1_700_000_000_000


class Driver:
    """Counters of a driver, with archives that have an id."""

    def __init__(self) -> None:
        self.counters = CountersManager(bytearray(512 * 16), bytearray(128 * 16))
        self._heartbeats: dict[int, int] = {}

    def archive(self, client_id: int, *, archive_id: int = 5) -> None:
        """Add an archive's counter of errors, and the heartbeat of its client."""
        key = ArchiveCounterKeyEncoder.encode(archive_id=archive_id)
        self.counters.allocate(f"Archive Errors - archiveId={archive_id}", CounterType.ARCHIVE_ERROR_COUNT, key, owner_id=client_id)
        self._heartbeats[client_id] = self.counters.allocate("client-heartbeat", CounterType.CLIENT_HEARTBEAT, registration_id=client_id)

    def beat(self, client_id: int, now_ms: int) -> None:
        """Let a client show that it lives."""
        self.counters.set_value(self._heartbeats[client_id], now_ms)


@pytest.fixture
def driver() -> Driver:
    return Driver()


def test_an_id_without_counters_or_of_another_archive_is_free(driver: Driver) -> None:
    assert ArchiveIdCheck(driver.counters, 5).poll(NOW_MS)
    driver.archive(1, archive_id=6)
    driver.beat(1, NOW_MS)
    assert ArchiveIdCheck(driver.counters, 5).poll(NOW_MS)


def test_the_id_of_one_that_has_died_is_free_two_beats_after_its_last(driver: Driver) -> None:
    driver.archive(1)
    driver.beat(1, NOW_MS - 400)
    check = ArchiveIdCheck(driver.counters, 5)
    assert [check.poll(NOW_MS + after) for after in (0, 600, 601)] == [False, False, True]


def test_the_id_of_one_that_lives_is_refused_at_its_next_beat(driver: Driver) -> None:
    driver.archive(1)
    driver.beat(1, NOW_MS - 400)
    check = ArchiveIdCheck(driver.counters, 5)
    assert not check.poll(NOW_MS)
    driver.beat(1, NOW_MS + 100)
    with pytest.raises(ActiveArchiveError, match="another archive has this id"):
        check.poll(NOW_MS + 101)


def test_one_that_has_died_hides_no_other_that_lives(driver: Driver) -> None:
    driver.archive(1)
    driver.beat(1, NOW_MS - 5_000)
    driver.archive(2)
    driver.beat(2, NOW_MS)
    check = ArchiveIdCheck(driver.counters, 5)
    assert not check.poll(NOW_MS)
    driver.beat(2, NOW_MS + 500)
    with pytest.raises(ActiveArchiveError):
        check.poll(NOW_MS + 510)


def test_a_beat_that_is_ahead_of_the_clock_is_not_waited_for_longer(driver: Driver) -> None:
    driver.archive(1)
    driver.beat(1, NOW_MS + 3_600_000)
    check = ArchiveIdCheck(driver.counters, 5)
    assert [check.poll(NOW_MS + after) for after in (0, 1_000, 1_001)] == [False, False, True]
