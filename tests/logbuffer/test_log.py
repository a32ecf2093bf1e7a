"""Log buffer files: what is written, what is refused, and the official driver's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from aerowire.base.errors import (
    ClosedError,
    ConfigurationError,
    ForeignDirectoryError,
    MappedFileMissingError,
    TruncatedFileError,
)
from aerowire.codecs.flyweights.logbuffer import LogMetadataDecoder, LogType
from aerowire.codecs.flyweights.transport import DataHeaderDecoder
from aerowire.logbuffer.log import LogBuffers, log_file_length
from aerowire.logbuffer.scan import frames

BASIC: dict[str, Any] = {
    "term_length": 65_536,
    "mtu_length": 1408,
    "initial_term_id": 7,
    "session_id": 1,
    "stream_id": 2,
    "correlation_id": 3,
    "sparse": True,
}


def create(path: Path, **changes: Any) -> LogBuffers:
    return LogBuffers.create(path, **{**BASIC, **changes})


def test_new_log_is_mapped_by_a_client_with_all_its_parameters(tmp_path: Path) -> None:
    path = tmp_path / "1.logbuffer"
    with create(path, entity_tag=9, linger_timeout_ns=5_000_000_000, reliable=1, publication_window_length=32_768) as log:
        assert path.stat().st_size == log_file_length(65_536, 4096) == 200_704
        with LogBuffers.map(path) as client:
            fields = client.metadata_fields()
            assert (fields["entity_tag"], fields["linger_timeout_ns"], fields["reliable"]) == (9, 5_000_000_000, 1)
            assert (client.length_of_term, client.mtu, client.first_term_id) == (65_536, 1408, 7)
            assert client.tails == [(7, 0), (5, 0), (6, 0)]
            assert client.eos_position == (1 << 63) - 1
            log.connected = True
            log.transport_count = 2
            log.eos_position = 64
            log.revoke()
            assert (client.connected, client.transport_count, client.eos_position, client.revoked) == (True, 2, 64, True)


def test_metadata_stands_at_the_end_of_the_last_page(tmp_path: Path) -> None:
    path = tmp_path / "log"
    create(path, page_size=1 << 20).close()
    raw = path.read_bytes()
    assert len(raw) == 1 << 20
    assert LogMetadataDecoder(raw, len(raw) - 4096).correlation_id == 3
    assert LogBuffers.map(path).metadata_fields()["page_size"] == 1 << 20


def test_rotation_walks_the_partitions(tmp_path: Path) -> None:
    with create(tmp_path / "log", initial_term_id=(1 << 31) - 1) as log:
        for count in range(1, 8):
            assert log.rotate()
            assert log.term_count == count
            assert log.tail_position == count * 65_536


def test_images_have_no_tails(tmp_path: Path) -> None:
    with create(tmp_path / "log", type=LogType.PUBLICATION_IMAGE) as log:
        assert log.tails == [(0, 0)] * 3


@pytest.mark.parametrize(
    "change",
    [
        {"term_length": 65_535},
        {"term_length": 32_768},
        {"term_length": 1 << 30 | 1},
        {"page_size": 5000},
        {"mtu_length": 31},
        {"term_offset": 33},
        {"nonsense": 1},
        {"tail_counters": 1},
    ],
)
def test_bad_parameters_are_refused_before_a_file_is_made(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        create(tmp_path / "log", **change)
    assert not (tmp_path / "log").exists()


def test_missing_short_long_and_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with pytest.raises(MappedFileMissingError):
        LogBuffers.map(path)
    path.write_bytes(bytes(200_704))
    with pytest.raises(ForeignDirectoryError, match="not a log buffer file"):
        LogBuffers.map(path)
    path.unlink()
    create(path).close()
    raw = path.read_bytes()
    path.write_bytes(raw[:100_000])
    with pytest.raises(TruncatedFileError):
        LogBuffers.map(path)
    path.write_bytes(raw[65_536:] + raw[-4096:])
    with pytest.raises((TruncatedFileError, ForeignDirectoryError)):
        LogBuffers.map(path)
    path.write_bytes(os.urandom(300_000))
    with pytest.raises(ForeignDirectoryError):
        LogBuffers.map(path)


def test_views_outlive_the_handle(tmp_path: Path) -> None:
    log = create(tmp_path / "log")
    view = log.term_view(1)
    log.close()
    log.close()
    view[0] = 1
    assert log.closed
    with pytest.raises(ClosedError):
        log.term_view(0)
    with pytest.raises(ClosedError):
        _ = log.connected


@pytest.mark.parametrize(
    ("name", "position", "kind"),
    [
        ("A/publications/5.logbuffer", 51_200, LogType.EXCLUSIVE_PUBLICATION),
        ("A/publications/6.logbuffer", 163_072, LogType.EXCLUSIVE_PUBLICATION),
        ("B/images/5.logbuffer", 51_200, LogType.PUBLICATION_IMAGE),
        ("B/images/6.logbuffer", 163_072, LogType.PUBLICATION_IMAGE),
    ],
)
def test_official_logs_read_as_their_counters_say(snapshots: Path, name: str, position: int, kind: LogType) -> None:
    with LogBuffers.map(snapshots / name, writable=False) as log:
        fields = log.metadata_fields()
        assert fields["type"] == kind
        assert fields["mtu"] == 1408
        count, offset = divmod(position, 65_536)
        if kind == LogType.EXCLUSIVE_PUBLICATION:
            assert log.tail_position == position
            assert log.term_count == count
        term = log.term_view(count % 3)
        found = frames(term, 0, 65_536)
        last, length, _ = [frame for frame in found if frame[0] < offset][-1]
        assert last + -(-length // 32) * 32 == offset
        head = DataHeaderDecoder(term, 0)
        default = DataHeaderDecoder(fields["default_header"])
        assert (head.session_id, head.stream_id) == (default.session_id, default.stream_id)
        assert head.term_id == log.first_term_id + count


def test_same_parameters_give_the_official_metadata(snapshots: Path, tmp_path: Path) -> None:
    with LogBuffers.map(snapshots / "A/publications/8.logbuffer", writable=False) as official:
        fields = official.metadata_fields()
        default = DataHeaderDecoder(fields["default_header"])
        own = {"tail_counters", "active_term_count", "end_of_stream_position", "correlation_id", "initial_term_id", "mtu", "term_length"}
        own |= {"page_size", "default_header", "default_header_length", "sparse", "is_connected"}
        with LogBuffers.create(
            tmp_path / "log",
            term_length=fields["term_length"],
            mtu_length=fields["mtu"],
            initial_term_id=fields["initial_term_id"],
            session_id=default.session_id,
            stream_id=default.stream_id,
            correlation_id=fields["correlation_id"],
            page_size=fields["page_size"],
            sparse=bool(fields["sparse"]),
            **{name: value for name, value in fields.items() if name not in own},
        ) as ours:
            theirs = bytes(official.metadata_view())
            mine = bytes(ours.metadata_view())
            differing = {index for index in range(4096) if mine[index] != theirs[index]}
            assert differing <= set(range(4)) | {136}  # how far it is written, and that somebody listens
