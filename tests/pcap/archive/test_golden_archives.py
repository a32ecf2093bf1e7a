"""Recordings of the official Archive: what is read is what its writer's log says was published."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from aerowire.pcap.archive import ArchiveError, read_recording, recordings
from tests.support.unpacking import unpack

ARCHIVES = Path(__file__).parents[2] / "data" / "snapshots" / "archive-golden.tar.xz"
NAMES = ("seg64k-orderly", "seg64k-kill", "seg128k-crc32c-orderly")
# Position ranges that truncation, purging and the like left, by recording; the others are as the log says.
LEFT = {
    "seg64k": {
        2: (0, 151296),
        3: (131072, 291296),
        4: (0, 98176),
        6: (131072, 291296),
        8: (0, 0),
        9: (0, 0),
        10: (0, 226176),
        14: (0, 65536),
    },
    "seg128k": {
        2: (0, 263552),
        3: (262144, 291296),
        4: (0, 98176),
        6: (262144, 291296),
        8: (0, 0),
        9: (0, 0),
        10: (0, 357248),
        14: (0, 131072),
    },
}


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archives")
    unpack(ARCHIVES, folder)
    return folder / "archive"


def message(number: int, length: int) -> bytes:
    return (b"M%06d" % number + bytes((index + number) & 255 for index in range(7, length)))[:length]


@pytest.mark.parametrize("name", NAMES)
def test_lists_the_recordings(archives: Path, name: str) -> None:
    rows = recordings(archives / name / "archive-dir").to_pylist()
    assert [row["recording_id"] for row in rows] == list(range(16))
    assert [row["recording_id"] for row in rows if row["state"] != "VALID"] == [7]
    assert rows[7]["state"] == "DELETED"
    assert all(row["damage"] is None and row["missing_segments"] == [] for row in rows)
    assert rows[5]["initial_term_id"] == -5
    assert (rows[12]["start_position"], rows[12]["initial_term_id"], rows[12]["segments"][0]) == (200704, 100, 196608)
    assert rows[11]["stripped_channel"].endswith("|alias=golden-alias-of-a-recording")
    assert (rows[15]["stop_position"] is None) == name.endswith("kill")


@pytest.mark.parametrize("name", NAMES)
def test_reads_every_frame_and_every_message_that_was_published(archives: Path, name: str) -> None:
    directory = archives / name / "archive-dir"
    log = (archives / name / "writer.log").read_text()
    published = {
        int(found[1]): found for found in re.finditer(r"REC id=(\d+) .*?lens=\[(.*?)\] seqs=(\d+)\.\.(\d+) endPosition=(\d+)", log)
    }
    for recording_id in set(range(16)) - {7}:
        found = published.get(recording_id)
        start = 200704 if recording_id == 12 else 0
        first, last = LEFT[name.split("-", maxsplit=1)[0]].get(recording_id, (start, int(found[5]) if found else 0))
        read = read_recording(directory, recording_id)
        frames = read.to_table()
        assert read.report.damages == []
        assert (read.report.frame_bytes, frames.num_rows) == (last - first, read.report.frames)
        assert frames["position"].to_pylist()[1:] == frames["end_position"].to_pylist()[:-1]
        whole = read_recording(directory, recording_id, messages=True)
        payloads = whole.to_table()["payload"].to_pylist()
        assert whole.report.incomplete_messages == (recording_id == 2)  # truncated within a message
        if payloads:
            numbers = range(int(payloads[0][1:7]), int(payloads[0][1:7]) + len(payloads))
            assert payloads == [message(number, len(payload)) for number, payload in zip(numbers, payloads, strict=True)]
            if found and recording_id in (0, 1, 5, 11, 12, 15):
                lengths = [int(length) for length in found[2].split(", ")]
                assert (numbers[0], numbers[-1]) == (int(found[3]), int(found[4]))
                assert [len(payload) for payload in payloads] == [lengths[index % len(lengths)] for index in range(len(payloads))]


def test_reports_what_stands_in_the_place_of_the_session_id(archives: Path) -> None:
    sessions = {}
    for name in NAMES[1:]:
        table = read_recording(archives / name / "archive-dir", 1, columns=["session_id", "type"]).to_table()
        sessions[name] = {row["session_id"] for row in table.to_pylist() if row["type"] == "DATA"}
    assert len(sessions["seg64k-kill"]) == 1
    assert len(sessions["seg128k-crc32c-orderly"]) > 100  # checksums


def test_a_deleted_recording_cannot_be_read(archives: Path) -> None:
    with pytest.raises(ArchiveError, match="recording 7 cannot be read: its state is DELETED"):
        read_recording(archives / NAMES[0] / "archive-dir", 7)
