"""Recording logs, node states and mark files with any bytes in them are read or refused, and never more than that."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from aerowire.base.errors import ClusterFileError, RecordingLogError
from aerowire.cluster.files.mark_header import mark_kind
from aerowire.cluster.files.node_state import NodeStateFile
from aerowire.cluster.files.recording_log import RecordingLog
from aerowire.codecs.flyweights.cluster_mark import ClusterComponentType
from aerowire.system.file_system import FileSystem
from tests.cluster.files.official_text import shown
from tests.cluster.files.recording_logs import CM, filled

FILES = FileSystem()
RUNS = 200
VALUES = (0, 1, 0x1F, 0x20, 0x7F, 0x80, 0xFF)


def damaged(rng: random.Random, whole: bytes, length: int) -> bytes:
    """Return bytes of which some within the first `length` are others, or which are cut."""
    data = bytearray(whole)
    for _ in range(rng.choice((1, 1, 4, 40))):
        at, count = rng.randrange(length), rng.choice((1, 4, 8, 64))
        data[at : at + count] = bytes(rng.choice((*VALUES, rng.randrange(256))) for _ in range(count))
    if rng.random() < 0.2:
        del data[rng.randrange(length) :]
    return bytes(data)


def read_mark(directory: Path) -> None:
    mark_kind(ClusterComponentType.CONSENSUS_MODULE).read(FILES, directory / "cluster-mark.dat")


def read_state(directory: Path) -> None:
    state = NodeStateFile.open(directory, FILES)
    state.update_candidate_term_id(77, 1, 2)
    state.close()
    again = NodeStateFile.open(directory, FILES)
    assert again.candidate_term.candidate_term_id == 77
    again.close()


@pytest.mark.parametrize(
    ("name", "length", "read"), [("cluster-mark.dat", 320, read_mark), ("node-state.dat", 64, read_state)], ids=["mark", "state"]
)
def test_a_damaged_file_is_read_or_refused_with_its_place(
    tmp_path: Path, seed: int, golden_clusters: Path, name: str, length: int, read: Callable[[Path], None]
) -> None:
    rng, path = random.Random(seed), tmp_path / name
    whole = (golden_clusters / "one-node-kill" / "node0" / name).read_bytes()[: 2 * 8192]
    refused: list[str] = []
    for _ in range(RUNS):
        path.write_bytes(damaged(rng, whole, length))
        try:
            read(tmp_path)
        except ClusterFileError as error:
            refused.append(str(error))
    assert 0 < len(refused) < RUNS
    assert [message for message in refused if f"{path}, offset " not in message or "; got " not in message] == []


def test_a_damaged_recording_log_is_read_or_refused_with_its_place_and_goes_on(tmp_path: Path, seed: int) -> None:
    rng, log = random.Random(seed), filled(tmp_path)
    for number, length in enumerate((3, 40, 300)):
        log.append_standby_snapshot(20 + number, 7, 0, 1280, 5, CM, "h" * length)
    log.append_term(1, 9, 2000, 6)
    log.close()
    whole = log.path.read_bytes()
    refused: list[str] = []
    forbidden: list[str] = []
    for run in range(RUNS):
        where = f"seed {seed}, run {run}"
        log.path.write_bytes(damaged(rng, whole, len(whole)))
        try:
            log = RecordingLog.open(tmp_path, FILES)
            try:
                log.append_snapshot(5, 1 << 40, 0, 0, 0, CM)
                log.append_standby_snapshot(5, 1 << 40, 0, 0, 0, CM, "standby-of-the-first-member.example.com:8010")
                log.invalidate_entry(log.entries[0])
                log.remove_entry(log.entries[-1].leadership_term_id, log.entries[-1].entry_index)
                log.invalidate_latest_snapshot()
            except RecordingLogError as error:
                forbidden.append(error.what)
            again = RecordingLog.open(tmp_path, FILES)
            assert shown(again) == shown(log), where
            again.close()
            log.close()
        except ClusterFileError as error:
            refused.append(str(error))
    assert 0 < len(refused) < RUNS
    assert [message for message in refused if f"{log.path}, offset " not in message or "; got " not in message] == []
    assert set(forbidden) <= {"there is no valid entry of a term"}  # that of the latest snapshot
