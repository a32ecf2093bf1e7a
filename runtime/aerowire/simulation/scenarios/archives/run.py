"""The run of a plan of archives: makes its world, and lives one life after the other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerowire.archive.client.recording_pos import recording_positions
from aerowire.archive.files.compaction import compact, plan_compaction
from aerowire.archive.files.offline_catalog import OfflineCatalog
from aerowire.base.errors import AerowireError
from aerowire.simulation.disk.disk_faults import DiskFaults
from aerowire.simulation.host import ARCHIVE_DIR
from aerowire.simulation.partitions import Partition
from aerowire.simulation.scenarios.archives.client import ArchiveClient, NoProgressError
from aerowire.simulation.scenarios.archives.living_source import LivingSource
from aerowire.simulation.scenarios.archives.operations import Operations
from aerowire.simulation.scenarios.archives.plan import Act, ArchivePlan, Misfortune, Operation, Trouble
from aerowire.simulation.scenarios.archives.recorded import Memory
from aerowire.simulation.scenarios.archives.rules import Inspection
from aerowire.simulation.scenarios.archives.source import SourceArchive
from aerowire.simulation.scenarios.draws import Draws
from aerowire.simulation.scenarios.plan import MS, SECOND
from aerowire.simulation.scenarios.plan_run import PlanRun
from aerowire.simulation.scenarios.violation import ViolationError

if TYPE_CHECKING:
    from aerowire.simulation.archives import SimulatedArchive
    from aerowire.simulation.host import SimulatedHost

ADDRESS, SOURCE_ADDRESS = "10.0.0.1", "10.0.0.2"
DRIVER: dict[str, Any] = {
    "term_buffer_length": "64k",
    "ipc_term_buffer_length": "64k",
    "client_liveness_timeout_ns": "1s",
    "image_liveness_timeout_ns": "1s",
    "publication_linger_timeout_ns": "100ms",
    "timer_interval_ns": "100ms",
}
BALLAST = "/ballast"
CAPACITY = 256 << 20
# With faults of these an operation may end without its result; a slow disk only takes longer.
_FAULTS = {Trouble.FAILING_DISK, Trouble.FULL_DISK, Trouble.PARTITION}
# In which killed clients have been given up by the driver, and their recordings have ended.
_FORGETTING_NS = 3 * SECOND
# Of an archive before its death: most operations do with as many.
_FILE_OPERATIONS_MAX = 16
_PROGRESS = "once faults have ended everything goes on"


class ArchiveRun(PlanRun[ArchivePlan]):
    """One run of a plan. Everything follows from the plan."""

    def __init__(self, plan: ArchivePlan, *, stop_at: int | None = None, on_event: Callable[[str], None] | None = None) -> None:
        """`stop_at` and `on_event` are those of PlanRun."""
        super().__init__(plan, stop_at=stop_at, on_event=on_event)
        self._memory = Memory()
        self._options: dict[str, Any] = {
            "segment_file_length": plan.segment_length,
            "low_storage_space_threshold": 0,
            "file_sync_level": plan.sync_level,
            "file_io_max_length": "64k",
            "record_checksum": plan.checksum,
            "replay_checksum": plan.checksum,
            "catalog_capacity": plan.catalog_capacity,
        }
        self._host = self.world.add_empty_host(ADDRESS, capacity=CAPACITY)
        self._archive: SimulatedArchive | None = None
        self._source: SourceArchive | None = None
        self._living_source: LivingSource | None = None
        self._messages = 0
        self._has_lost_power = False
        self._compaction: Misfortune | None = None

    def results(self) -> tuple[int, int]:
        """Return the count and the digest of messages."""
        return self._messages, 0

    def run_to_end(self) -> None:
        """Run the plan."""
        if self.plan.hosts > 1:
            self._start_sources()
        for life in range(self.plan.lives):
            self._live(life)
        self._start()

    # -- A life --------------------------------------------------------------------------------------------------------

    def _live(self, life: int) -> None:
        client = self._start()
        troubles = self.plan.troubles(life)
        is_faultless = not _FAULTS.intersection(troubles)
        operations = Operations(client, self._memory, self._source, self._living_source, is_faultless=is_faultless)
        for trouble in troubles.values():
            self.world.events.note(ADDRESS, str(trouble))
        self._host.disk.faults = _disk_faults(troubles)
        if (full := troubles.get(Trouble.FULL_DISK)) is not None:
            self._fill_disk(Draws("full disk", full.seed))
        if Trouble.PARTITION in troubles:
            self.world.network.partition(Partition((ADDRESS,), (SOURCE_ADDRESS,)))
        with suppress(AerowireError):
            for number, operation in enumerate(self.plan.operations(life)):
                if number == 1 and Trouble.PARTITION in troubles:
                    self.world.network.heal()
                self.world.events.note(ADDRESS, operation.act.value)
                operations.perform(operation)
        self._messages += operations.messages
        if (interruption := troubles.get(Trouble.INTERRUPTION)) is not None:
            self._interrupt(client, interruption)
        elif (dying := troubles.get(Trouble.DYING_DISK)) is not None:
            with suppress(AerowireError):
                operations.record_until(Draws("dying disk", dying.seed), self._fail_disk)
            self._settle(client)
        elif not is_faultless and Draws("settling", self.plan.seed + life).happens(0.5):
            self._settle(client)
        elif (end := troubles.get(Trouble.KILL) or troubles.get(Trouble.POWER)) is not None:
            draws = Draws("end", end.seed)
            if draws.happens(0.5):  # more blocks are under way, and written in parts
                self._host.disk.faults = replace(self._host.disk.faults, latency_ns=draws.whole(1, MS), short_write=0.7)
            with suppress(AerowireError):
                operations.leave_unfinished(draws)
        self._end(troubles)

    def _start(self) -> ArchiveClient:
        """Start what does not run, and look at what the archive has."""
        host = self._host
        if not host.has_power:
            host.restart()
        if not host.has_driver:
            host.start_driver(**DRIVER)
        if self._compaction is not None:
            self._compact(Draws("compaction", self._compaction.seed))
        archive = self._archive = host.start_archive(**self._options)
        if not self.world.run(20 * SECOND, until=lambda: archive.is_serving or archive.has_ended) or archive.failure is not None:
            raise ViolationError("an archive starts, whatever has befallen it", "one that serves", archive.failure, ADDRESS)
        try:
            client = ArchiveClient(self.world, host)
            Inspection(self.plan, self._memory, client, has_lost_power=self._has_lost_power).look()
        except AerowireError as error:
            raise ViolationError("a sound archive does what it is asked for", "answers", error, ADDRESS) from error
        self._has_lost_power = False
        return client

    def _compact(self, draws: Draws) -> None:
        """Compact the catalog; the power may fail when that is done."""
        with OfflineCatalog(self._host.files, Path(ARCHIVE_DIR), writable=True) as catalog:
            compact(catalog, plan_compaction(catalog))
        self._compaction = None
        if draws.happens(0.5):
            self._host.files.sync_directory("/")  # the end of a full disk, too, lasts
            self._has_lost_power = True
            self._host.lose_power()
            self._host.restart()
            self._host.start_driver(**DRIVER)

    def _settle(self, client: ArchiveClient) -> None:
        """Let all faults end: recordings of clients that have gone stop, and requests are answered."""
        self._end_faults()
        client.client.kill()
        self.world.run(_FORGETTING_NS)
        if self._archive is None or not self._archive.is_serving:
            return
        try:
            again = ArchiveClient(self.world, self._host)
            active = [one.recording_id for one in again.recordings() if one.stop_position < 0]
        except AerowireError as error:
            raise ViolationError(_PROGRESS, "answers of the archive", error, ADDRESS) from error
        if active:
            raise ViolationError(_PROGRESS, "no recording that is active without a stream", f"recordings {active}", ADDRESS)

    def _interrupt(self, client: ArchiveClient, interruption: Misfortune) -> None:
        """Let the archive die in the midst of what an operation does with files."""
        assert self._archive is not None
        assert interruption.act is not None
        draws = Draws("interruption", interruption.seed)
        operations = Operations(client, self._memory, self._source, self._living_source, is_faultless=False)
        self._archive.process.kill_after(draws.whole(1, _FILE_OPERATIONS_MAX))
        with suppress(AerowireError):
            operations.perform(Operation(interruption.life, interruption.act, draws.seed()))
        self._messages += operations.messages

    def _end(self, troubles: dict[Trouble, Misfortune]) -> None:
        """End the life, and note how far the counters of recordings have come: that has to be there again."""
        assert self._archive is not None
        self._note_counters()
        if Trouble.POWER in troubles:
            self._has_lost_power = True
            self._host.lose_power()
        elif Trouble.KILL in troubles or Trouble.INTERRUPTION in troubles:
            self._archive.kill()
        else:
            archive = self._archive
            archive.close()
            self.world.run(20 * SECOND, until=lambda: archive.has_ended)
            archive.kill()
        self._end_faults()
        self._compaction = troubles.get(Trouble.COMPACTION)
        for client in self._host.clients if self._host.has_power else ():
            client.kill()
        self.world.run(_FORGETTING_NS)

    def _note_counters(self) -> None:
        if not self._host.has_power or not self._host.has_driver:
            return
        counters = self._host.cnc.counters_reader()
        for one in recording_positions(counters):
            recorded = self._memory.recordings.get(one.recording_id)
            if recorded is not None:
                recorded.acknowledged = max(recorded.acknowledged, counters.value(one.counter_id))

    # -- Faults --------------------------------------------------------------------------------------------------------

    def _fill_disk(self, draws: Draws) -> None:
        """Leave some room on the disk."""
        files = self._host.files
        with files.open(BALLAST, writable=True, create=True) as file:
            room = draws.whole(0, 1 << 20)
            file.preallocate(max(0, files.free_space("/") - room))

    def _fail_disk(self) -> None:
        """Let all writes and syncs fail, after what was written has reached the disk."""
        self._host.disk.faults = DiskFaults(write_error=0.5, sync_error=1.0, writeback=1.0)

    def _end_faults(self) -> None:
        self._host.disk.faults = DiskFaults()
        self.world.network.heal()
        if self._host.files.facts(BALLAST) is not None:
            self._host.files.delete(BALLAST)

    def _start_sources(self) -> None:
        host: SimulatedHost = self.world.add_host(SOURCE_ADDRESS, **DRIVER)
        acts = {operation.act for operation in self.plan.streams}
        try:
            if Act.COPY in acts:
                self._living_source = LivingSource(self.world, host, self._options, DRIVER)
            else:
                self._source = SourceArchive(self.world, host, {**self._options, "file_sync_level": 0}, self.plan.seed)
        except NoProgressError as error:
            raise ViolationError("a sound archive does what it is asked for", "a recording", error, SOURCE_ADDRESS) from error


def _disk_faults(troubles: dict[Trouble, Misfortune]) -> DiskFaults:
    """Return how the disk of a life is: unsynced pages reach it by chance, whatever befalls it."""
    failing, slow = troubles.get(Trouble.FAILING_DISK), troubles.get(Trouble.SLOW_DISK)
    draws = Draws("disk", next(iter(troubles.values())).seed) if troubles else Draws("disk", 0)
    values: dict[str, Any] = {"writeback": draws.between(0.0, 0.3), "sector": draws.one_of((512, 4096))}
    if slow is not None:
        values |= {"latency_ns": draws.whole(1, 2 * MS), "jitter_ns": draws.whole(0, MS), "short_write": draws.one_of((0.0, 0.5))}
    if failing is not None:
        draws = Draws("failing disk", failing.seed)
        values |= {
            "write_error": draws.one_of((0.0, draws.between(0.0, 0.02))),
            "sync_error": draws.one_of((0.0, draws.between(0.0, 0.05))),
            "short_write": values.get("short_write", draws.one_of((0.0, 0.3))),
        }
    return DiskFaults(**values)
