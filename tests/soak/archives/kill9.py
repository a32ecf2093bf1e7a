"""kill -9 of an archive at any moment of its work, again and again in the same directory, alone and together with its driver.

After each death its directory, as it is and as the next start leaves it, has everything that was acknowledged, is sound by our tool and
by the official one, and the archive serves again within a second. Between two lives the catalog may be compacted, and that be killed.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from contextlib import suppress
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

from aerowire.archive.files.catalog import Catalog
from aerowire.archive.files.checksum import checksum_named
from aerowire.archive.files.compaction import orphaned_segments
from aerowire.archive.files.offline_catalog import OfflineCatalog
from aerowire.archive.files.segment_move import RECORD_FILE_NAME, recover_move
from aerowire.archive.files.verification import Verification
from aerowire.codecs.flyweights.archive import RecordingState
from aerowire.codecs.tables.options import OPTIONS
from aerowire.recordings.catalog_entry import RecordingEntry
from aerowire.system.ports import Ports
from tests.interop.harness import find_java
from tests.soak.archives.ledger import Kept, LostError, check, settle
from tests.soak.archives.node import DRIVER, START_S
from tests.soak.archives.workload import SEGMENT, KilledError, Ledger, Workload, merge
from tests.soak.bars import Part, Size
from tests.support.processes import Process, Workshop, free_port, open_workshop, wait_for_driver

CYCLES = {Size.FULL: 125, Size.SMALL: 2}
PARTS = {Size.FULL: 8, Size.SMALL: 2}
FIRST_SEED = {Size.FULL: 2_100, Size.SMALL: 2_099}
RESTART_S = 1.0
CATALOG_CAPACITY = 1024  # a small one, which grows
STEPS_MAX = 10
# Seconds from a step to the kill: most operations take some milliseconds, the archive's part of them some hundred microseconds.
DELAYS_S = (0.001, 0.003, 0.01, 0.1)
DIRECTORIES_MAX = 60  # that one virtual machine verifies
CHECKSUMS = ("", "org.agrona.checksum.Crc32c")
OFFICIAL_CHECKSUMS = {"": "none", "org.agrona.checksum.Crc32c": "io.aeron.archive.checksum.Crc32c"}
# A dead archive's client is known for that long to the driver, which lives on.
DRIVER_OPTIONS = {**DRIVER, "client_liveness_timeout_ns": "3s"}


class Lives:
    """One directory and all the lives of its archive."""

    def __init__(self, workshop: Workshop, seed: int, *, is_alone: bool, is_official: bool) -> None:
        self.workshop = workshop
        self.rng = random.Random(seed)
        self.is_alone = is_alone
        self.is_official = is_official
        self.ledger = Ledger()
        self.directory = workshop.memory / "archive"
        self.copies: list[Path] = []
        self.official = 0  # directories that the official tool has verified
        self.launches: list[float] = []
        self.done: Counter[str] = Counter()
        self.checksum = self.rng.choice(CHECKSUMS)
        self.control = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
        self.archive_options = {
            "archive_dir": str(self.directory),
            "control_channel": self.control,
            "replication_channel": "aeron:udp?endpoint=127.0.0.1:0",
            "segment_file_length": SEGMENT,
            "low_storage_space_threshold": 0,
            "catalog_capacity": CATALOG_CAPACITY,
            "file_sync_level": self.rng.choice((0, 1)),
            "record_checksum": self.checksum,
            "threading_mode": self.rng.choice(("SHARED", "DEDICATED")),
        }
        self.driver = workshop.memory / "driver"
        if is_alone:
            properties = {OPTIONS[name].property: str(value).lower() for name, value in DRIVER_OPTIONS.items() if name != "threading_mode"}
            wait_for_driver(self.driver, workshop.driver(self.driver, properties))

    def live(self) -> None:
        """Start the archive, look at what it has, let it work, kill it, and look at what it has left."""
        node = self.start()
        workload = self.connect(node)
        try:
            self.look_at_served(workload)
            self.work_until_killed(workload, node)
        finally:
            workload.archive.close()
            node.stop()
        if not self.is_alone:
            shutil.rmtree(self.driver)
        self.look_at_left()
        if self.rng.random() < 0.3:
            self.compact()

    # ---- a life

    def start(self) -> Process:
        given: dict[str, Any] = {"archive": json.dumps(self.archive_options)}
        if not self.is_alone:
            self.driver = self.workshop.directory()
            given["driver"] = json.dumps(DRIVER_OPTIONS)
        node = self.workshop.peer("archiving_node", self.driver, **given)
        self.launches.append(float(node.event("ready", START_S)["launch_s"]))
        return node

    def connect(self, node: Process) -> Workload:
        return Workload(
            self.rng,
            self.ledger,
            self.control,
            lambda: node.popen.poll() is not None,
            aeron_dir=self.driver,
            control_request_channel="aeron:ipc",
            control_response_channel="aeron:ipc",
            message_timeout_ns="30s",
        )

    def work_until_killed(self, workload: Workload, node: Process) -> None:
        """Let a client work; the archive is killed a drawn time after a drawn step."""
        killer = threading.Timer(self.rng.random() * self.rng.choice(DELAYS_S), node.popen.kill)
        workload.at_step(self.rng.randrange(STEPS_MAX), killer.start)
        with suppress(KilledError):
            while True:
                workload.run_one()
        killer.join()
        assert node.popen.wait(START_S) == -signal.SIGKILL, node.said()
        self.done.update(workload.done)

    def compact(self) -> None:
        """Compact the catalog, and kill that in half of all cases."""
        process = self.workshop.peer("compacting", self.directory)
        process.event("ready", START_S)
        if self.rng.random() < 0.5:
            time.sleep(self.rng.random() * 0.003)
            process.popen.kill()
        process.popen.wait(START_S)
        self.done["compact"] += 1

    # ---- what has to be there

    def look_at_left(self) -> None:
        """Check the directory as the kill has left it."""
        copy = self.copy("left")
        if (copy / RECORD_FILE_NAME).exists():  # of a migration: the names of its files are those before or those after
            catalog = Catalog.open(copy, Ports.system().files, capacity=CATALOG_CAPACITY)
            self.done["migration recovered"] += len(recover_move(catalog))
            catalog.close()
        entries = valid_entries(copy)
        kept = deepcopy(self.ledger.kept)
        resolve_migrations(entries, kept)
        for recording_id, one in kept.items():
            check(copy, recording_id, entries.get(recording_id), one)
        # Killed before a file had its length: as if before there was a file. The official archive leaves such files, too.
        for path in copy.glob("*.rec"):
            if not path.stat().st_size:
                self.done["file without length"] += 1
                path.unlink()
        self.verify(copy)

    def look_at_served(self, workload: Workload) -> None:
        """Check the directory as the archive's start has left it, take it as what has to be there, and replay one recording."""
        descriptors = workload.complete(workload.archive.async_list_recordings())
        copy = self.copy("recovered")
        entries = valid_entries(copy)
        assert [one.recording_id for one in descriptors] == sorted(entries), (descriptors, sorted(entries))
        for descriptor in descriptors:
            entry = entries[descriptor.recording_id]
            listed = descriptor.start_position, descriptor.stop_position
            assert listed == (entry.start_position, entry.stop_position), (descriptor, entry)
        kept, added = self.ledger.kept, self.ledger.added
        for recording_id in sorted(set(entries) - set(kept)):
            if added is None:
                raise LostError(f"recording {recording_id} was not asked for: {entries[recording_id]}")
            kept[recording_id], added = added, None
        self.ledger.added = None
        resolve_migrations(entries, kept)
        for recording_id, one in list(kept.items()):
            check(copy, recording_id, entries.get(recording_id), one)
            if recording_id in entries:
                settle(copy, entries[recording_id], one)
            else:
                del kept[recording_id]
        self.verify(copy)
        full = [recording_id for recording_id, one in kept.items() if one.start < one.end]
        if full:
            workload.replay_all(self.rng.choice(full))

    def copy(self, name: str) -> Path:
        copy = self.workshop.memory / f"{name}-{len(self.launches)}"
        shutil.copytree(self.directory, copy, ignore=shutil.ignore_patterns("*.lock"))
        return copy

    def verify(self, copy: Path) -> None:
        """Verify a directory by our tool at once, and by the official one when there are many."""
        # A kill in the midst of a write leaves a frame without its last pages, which the next start removes, or who verifies the directory.
        verification = Verification(all_segments=True, checksum=checksum_named(self.checksum), cuts_torn=True, is_dry=True, now_ms=0)
        with OfflineCatalog(Ports.system().files, copy) as catalog:
            self.delete_detached(catalog)
            faulty = [one for one in verification.verify(catalog) if one.problem is not None]
            assert (faulty, catalog.problem) == ([], None), f"{copy}: {faulty}"
        if not self.is_official:
            shutil.rmtree(copy)
            return
        self.copies.append(copy)
        if len(self.copies) >= DIRECTORIES_MAX:
            self.verify_officially()

    def delete_detached(self, catalog: OfflineCatalog) -> None:
        """Delete what a purge of all segments has detached and not deleted: the official tool takes the empty recording for faulty then.

        The official archive leaves such files, too; `delete-orphaned-segments` removes them.
        """
        for entry in catalog.entries:
            if entry.start_position == entry.stop_position:
                for path in orphaned_segments(catalog, entry.recording_id):
                    self.done["file that was detached"] += 1
                    path.unlink()

    def verify_officially(self) -> None:
        """Let the official tool verify all directories that have been copied."""
        if not self.copies:
            return
        command = find_java().command("ArchiveVerification", OFFICIAL_CHECKSUMS[self.checksum], *map(str, self.copies))
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, stdin=subprocess.DEVNULL)
        assert done.stdout.splitlines()[-1:] == [f"verified {len(self.copies)}"], done.stdout + done.stderr
        faulty = [line for line in done.stdout.splitlines() if "ERR" in line and not ends_with_segment(line)]
        assert not faulty, done.stdout
        self.official += len(self.copies)
        for copy in self.copies:
            shutil.rmtree(copy)
        self.copies.clear()


def valid_entries(directory: Path) -> dict[int, RecordingEntry]:
    """Return the recordings of a directory."""
    with OfflineCatalog(Ports.system().files, directory) as catalog:
        assert catalog.problem is None, catalog.problem
        return {one.recording_id: one for one in catalog.entries if one.recording_state is RecordingState.VALID}


def ends_with_segment(line: str) -> bool:
    """Return whether the official tool complains of a recording that ends where its last segment does, as it does of its own ones, too."""
    found = re.search(r"stopPosition=(\d+) exceed max segment file position=(\d+)$", line)
    return found is not None and int(found[1]) == int(found[2]) + 1


def resolve_migrations(entries: dict[int, RecordingEntry], kept: dict[int, Kept]) -> None:
    """Find out whether migrations in doubt have happened."""
    for target_id, target in kept.items():
        if target.doubt is None or target.doubt.operation != "migrate to":
            continue
        source, entry = kept[target.doubt.other_id], entries[target_id]
        source.doubt = target.doubt = None
        if (entry.start_position, entry.stop_position) != (target.start, target.end):
            merge(source, target)


def run(cycles: int, seed: int, scratch: Path, *, is_alone: bool, is_official: bool) -> str:
    with open_workshop(scratch) as workshop:
        lives = Lives(workshop, seed, is_alone=is_alone, is_official=is_official)
        for number in range(cycles):
            try:
                lives.live()
            except BaseException as error:
                error.add_note(f"seed {seed}, cycle {number}, {lives.archive_options}: {workshop.processes[-1].said()}")
                raise
        lives.verify_officially()
    launches = sorted(lives.launches)
    assert launches[-1] < RESTART_S, launches
    done = ", ".join(f"{name} {count}" for name, count in sorted(lives.done.items()))
    restart = f"restart {launches[len(launches) // 2]:.2f} s, longest {launches[-1]:.2f} s"
    return f"{cycles} kills, {restart}; {lives.official} directories verified officially; {done}"


def parts(size: Size) -> list[Part]:
    """Return the parts: archives with their driver in the process and without, in turn; official verification at full size."""
    found = []
    for number in range(PARTS[size]):
        seed, is_alone = FIRST_SEED[size] + number, number % 2 == 1
        task = partial(run, CYCLES[size], seed, is_alone=is_alone, is_official=size is Size.FULL)
        found.append(Part(f"{'alone' if is_alone else 'node'}-{seed}", seed, task))
    return found
