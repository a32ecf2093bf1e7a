"""The node state: its bytes, the order in which a candidate term is written, and what is told of files that are none."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from aerowire.base.errors import ClusterFileError, FileError, MissingFileError
from aerowire.cluster.files.node_state import CandidateTerm, NodeStateFile
from aerowire.system.file_system import FileSystem
from tests.cluster.files.official_text import NODES

NONE = CandidateTerm(-1, -1, -1)


def opened(directory: Path, **options: Any) -> NodeStateFile:
    return NodeStateFile.open(directory, FileSystem(), create=True, **options)


@pytest.mark.parametrize("node", NODES)
def test_the_same_candidate_term_makes_the_bytes_of_an_official_file(tmp_path: Path, golden_clusters: Path, node: str) -> None:
    official = NodeStateFile.open(golden_clusters / node, FileSystem(), writable=False)
    term = official.candidate_term
    assert (term.candidate_term_id, term.log_position) in {(0, 0), (1, 6112)}
    state = opened(tmp_path)
    state.update_candidate_term_id(term.candidate_term_id, term.log_position, term.timestamp)
    assert state.path.read_bytes() == official.path.read_bytes()


def test_a_new_file_holds_no_candidate_term(tmp_path: Path) -> None:
    state = opened(tmp_path)
    assert state.candidate_term == NONE
    data = state.path.read_bytes()
    assert (len(data), any(data[64:])) == (1 << 20, False)
    assert data[:64].hex(" ", 8).split() == [
        "0003000000000000", "18002d0170000a00", "2800000000000000", "ffffffffffffffff",
        "ffffffffffffffff", "ffffffffffffffff", "0000300170000a00", "1000000000000000",
    ]  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["node-state.dat"]


def test_a_candidate_term_is_kept(tmp_path: Path) -> None:
    state = opened(tmp_path)
    state.update_candidate_term_id(7, 4096, 1000)
    state.close()
    state.close()
    assert [path.name for path in tmp_path.iterdir()] == ["node-state.dat"]
    assert opened(tmp_path).candidate_term == CandidateTerm(7, 4096, 1000)


def test_a_proposed_term_is_stored_only_if_it_is_greater(tmp_path: Path) -> None:
    state = opened(tmp_path)
    assert state.propose_max_candidate_term_id(3, 10, 1) == 3
    assert state.propose_max_candidate_term_id(3, 20, 2) == 3
    assert state.propose_max_candidate_term_id(2, 20, 2) == 3
    assert state.candidate_term == opened(tmp_path).candidate_term == CandidateTerm(3, 10, 1)


def test_the_candidate_term_of_an_old_mark_file_is_taken_over_once(tmp_path: Path) -> None:
    state = opened(tmp_path)
    assert not state.take_over_candidate_term_id(-1, 5)
    assert state.take_over_candidate_term_id(4, 5)
    assert not state.take_over_candidate_term_id(9, 6)
    assert opened(tmp_path).candidate_term == CandidateTerm(4, -1, 5)


class Watched:
    """A file that notes what is written and synced, and may fail at a write."""

    def __init__(self, file: Any, *, fails_at: int = -1) -> None:
        self._file = file
        self._fails_at = fails_at
        self.done: list[object] = []

    def write_all(self, offset: int, data: bytes) -> None:
        self._note(offset, data)
        self._file.write_all(offset, data)

    def update(self, offset: int, after: bytes) -> None:
        self._note(offset, after)
        self._file.update(offset, after)

    def force(self) -> None:
        self.done.append("force")

    def _note(self, offset: int, data: bytes) -> None:
        if len(self.done) == self._fails_at:
            raise FileError("cannot write", where="x", number=5)
        self.done.append((offset, struct.unpack("<q", data)[0]))


def test_the_term_is_written_last_and_then_forced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = opened(tmp_path)
    watched = Watched(state._file)
    monkeypatch.setattr(state, "_file", watched)
    state.update_candidate_term_id(7, 4096, 1000)
    assert watched.done == [(40, 4096), (32, 1000), (24, 7), "force"]


@pytest.mark.parametrize("fails_at", [0, 1, 2])
def test_a_term_that_was_not_written_does_not_count(tmp_path: Path, fails_at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    state = opened(tmp_path)
    state.update_candidate_term_id(7, 4096, 1000)
    with monkeypatch.context() as patch:
        patch.setattr(state, "_file", Watched(state._file, fails_at=fails_at))
        with pytest.raises(FileError):
            state.update_candidate_term_id(8, 8192, 2000)
    assert state.candidate_term == CandidateTerm(7, 4096, 1000)
    assert opened(tmp_path).candidate_term.candidate_term_id == 7


def test_a_file_that_is_not_there_is_made_only_on_demand(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        NodeStateFile.open(tmp_path, FileSystem())


def test_a_file_whose_making_was_interrupted_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "node-state.dat.new").write_bytes(b"\xff" * 100)
    assert opened(tmp_path).candidate_term == NONE
    assert not (tmp_path / "node-state.dat.new").exists()


def test_records_of_older_versions_are_left_alone(tmp_path: Path) -> None:
    path = opened(tmp_path).path
    data = bytearray(path.read_bytes())
    members = struct.pack("<HHHHii", 16, 303, 112, 9, 16 + 16 + 4 + 3, 0) + b"\7" * 16 + struct.pack("<I", 3) + b"a,b" + b"\0"
    data[8:8] = members
    path.write_bytes(data[: 1 << 20])
    state = opened(tmp_path)
    assert state.candidate_term == NONE
    state.update_candidate_term_id(7, 4096, 1000)
    assert path.read_bytes()[8:48] == members
    assert opened(tmp_path).candidate_term == CandidateTerm(7, 4096, 1000)


@pytest.mark.parametrize(
    ("at", "data", "message"),
    [
        (0, struct.pack("<i", 0x10000), "is of another version; at {}, offset 0; expected 0.3.0 or another 0.x; got 1.0.0"),
        (8, bytes(56), "is damaged; at {}, offset 8; expected a record of schema 112; got schema 0"),
        (12, b"\x6e", "is damaged; at {}, offset 8; expected a record of schema 112; got schema 110"),
        (16, b"\0", "is damaged; at {}, offset 8; expected a record of 16 to 1048568 bytes; got 0"),
        (16, b"\xff\xff\xff\xff", "is damaged; at {}, offset 8; expected a record of 16 to 1048568 bytes; got -1"),
        (16, b"\xff\xff\xff\x7f", "is damaged; at {}, offset 8; expected a record of 16 to 1048568 bytes; got 2147483647"),
        (16, b"\x20", "expected a candidate term of 40 bytes at least; got a block of 24 in a record of 32 bytes"),
        (8, b"\x10", "expected a candidate term of 40 bytes at least; got a block of 16 in a record of 40 bytes"),
        (10, b"\x2f", "is damaged; at {}, offset 48; expected a candidate term before the footer; got none"),
        (50, b"\x2f", "is damaged; at {}, offset 64; expected a record of schema 112; got schema 0"),
    ],
)
def test_damage_is_told_with_its_place(tmp_path: Path, at: int, data: bytes, message: str) -> None:
    path = opened(tmp_path).path
    content = bytearray(path.read_bytes())
    content[at : at + len(data)] = data
    path.write_bytes(content)
    with pytest.raises(ClusterFileError) as raised:
        opened(tmp_path)
    assert message.format(path) in str(raised.value)


@pytest.mark.parametrize(
    ("length", "message"),
    [
        (0, "offset 0; expected 8 bytes at least; got 0 bytes"),
        (20, "offset 8; expected the footer of the records; got the end of the file"),
        (40, "offset 8; expected a record of 16 to 32 bytes; got 40"),
        (56, "offset 48; expected the footer of the records; got the end of the file"),
    ],
)
def test_a_file_that_was_cut_is_told(tmp_path: Path, length: int, message: str) -> None:
    path = opened(tmp_path).path
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ClusterFileError, match=message):
        opened(tmp_path)
