"""The cnc file: making, mapping, and one error for each way in which it can be wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from aerowire.base.errors import (
    ClosedError,
    ConfigurationError,
    DriverDirectoryMissingError,
    DriverNotReadyError,
    DriverShutdownError,
    DriverTimeoutError,
    ForeignDirectoryError,
    TruncatedFileError,
    VersionMismatchError,
)
from aerowire.codecs.flyweights.cnc import CNC_VERSION, BroadcastTrailerDecoder, CncHeaderEncoder, RingTrailerDecoder
from aerowire.ipc.cnc import CncFile
from aerowire.memory.region import Region

LENGTHS: dict[str, Any] = {
    "to_driver_length": 65_536 + 768,
    "to_clients_length": 131_072 + 128,
    "counters_metadata_length": 64 * 512,
    "counters_values_length": 64 * 128,
    "error_log_length": 4096,
    "client_liveness_timeout_ns": 10_000_000_000,
    "start_timestamp_ms": 1234,
    "pid": 77,
    "file_page_size": 4096,
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cnc.dat"


def create(path: Path, **changes: Any) -> CncFile:
    return CncFile.create(path, **{**LENGTHS, **changes})


def test_file_is_as_long_as_its_sections_rounded_to_pages(path: Path) -> None:
    with create(path) as cnc:
        total = 128 + sum(value for name, value in LENGTHS.items() if name.endswith("_length"))
        assert path.stat().st_size == -(-total // 4096) * 4096
        assert cnc.version == 0
        assert (cnc.pid, cnc.start_timestamp_ms, cnc.client_liveness_timeout_ns) == (77, 1234, 10_000_000_000)


def test_client_and_driver_meet_in_it(path: Path) -> None:
    driver = create(path)
    manager = driver.counters_manager()
    driver.publish()
    client = CncFile.map(path)
    assert client.version == CNC_VERSION
    receiver = client.to_clients_receiver()
    client.to_driver.write(3, b"command")
    assert driver.to_driver.poll() == [(3, b"command")]
    driver.to_clients_transmitter().transmit(4, b"answer")
    assert receiver.poll() == [(4, b"answer")]
    manager.allocate("bytes", 0)
    assert [info.label for info in client.counters_reader().for_each()] == ["bytes"]
    assert len(client.error_log_buffer) == 4096
    client.close()
    client.close()
    with pytest.raises(ClosedError):
        _ = client.to_driver
    driver.close()


def test_driver_life_has_four_faces(path: Path) -> None:
    with create(path) as cnc:
        ring = cnc.to_driver
        with pytest.raises(DriverNotReadyError):
            cnc.check_driver(1000, 10)
        ring.consumer_heartbeat_ms = 990
        assert cnc.check_driver(1000, 10) == 990
        with pytest.raises(DriverTimeoutError, match="11 ms"):
            cnc.check_driver(1001, 10)
        ring.consumer_heartbeat_ms = -1
        assert cnc.heartbeat_ms == -1
        with pytest.raises(DriverShutdownError):
            cnc.check_driver(1000, 10)


@pytest.mark.parametrize("heartbeat_ms", [-(1 << 63), 1 - (1 << 63), -2])
def test_a_heartbeat_far_in_the_past_is_too_old(path: Path, heartbeat_ms: int) -> None:
    now_ms = 1_700_000_000_000
    with create(path) as cnc:
        cnc.to_driver.consumer_heartbeat_ms = heartbeat_ms
        with pytest.raises(DriverTimeoutError, match=f"{now_ms - heartbeat_ms} ms"):
            cnc.check_driver(now_ms, 10)


def test_missing_unready_foreign_and_short_files_differ(path: Path) -> None:
    with pytest.raises(DriverDirectoryMissingError, match="hint"):
        CncFile.map(path)
    path.write_bytes(bytes(127))
    with pytest.raises(TruncatedFileError):
        CncFile.map(path)
    path.unlink()
    cnc = create(path)
    with pytest.raises(DriverNotReadyError):
        CncFile.map(path)
    cnc.publish()
    header = CncHeaderEncoder(cnc.region or b"", 0)
    header.version = 2 << 16
    with pytest.raises(VersionMismatchError, match=r"expected 0\.2\.0; got 2\.0\.0"):
        CncFile.map(path)
    header.version = (3 << 8) | 1  # another minor version is readable
    CncFile.map(path).close()
    header.to_clients_buffer_length = 1000
    with pytest.raises(ForeignDirectoryError, match="to-clients"):
        CncFile.map(path)
    header.to_clients_buffer_length = 131_072 + 128
    cnc.close()
    os.truncate(path, 40_000)
    with pytest.raises(TruncatedFileError, match="40000"):
        CncFile.map(path)
    path.write_bytes(os.urandom(64) * 100)
    with pytest.raises(ForeignDirectoryError):
        CncFile.map(path)


@pytest.mark.parametrize(
    ("name", "length"),
    [
        ("to_driver_length", 65_536),
        ("to_driver_length", 32_768 + 768),
        ("to_clients_length", 32_768 + 128),
        ("to_clients_length", 5000),
        ("counters_metadata_length", 512),
        ("error_log_length", 0),
    ],
)
def test_lengths_that_no_section_can_have_are_refused(path: Path, name: str, length: int) -> None:
    with pytest.raises(ConfigurationError):
        create(path, **{name: length})
    assert not path.exists()


@pytest.mark.parametrize(
    ("name", "trailer"), [("to_driver", RingTrailerDecoder.ENCODED_LENGTH), ("to_clients", BroadcastTrailerDecoder.ENCODED_LENGTH)]
)
@pytest.mark.parametrize("capacity", [8, 32_768])
def test_a_file_whose_buffers_hold_no_command_is_refused(path: Path, name: str, trailer: int, capacity: int) -> None:
    with create(path) as cnc:
        cnc.publish()
        setattr(CncHeaderEncoder(cnc.region or b"", 0), f"{name}_buffer_length", capacity + trailer)
    said = f"{name.replace('_', '-')} buffer of {capacity + trailer} bytes"
    with pytest.raises(ForeignDirectoryError, match=rf"power of two from 65536 \+ {trailer}; got {said}"):
        CncFile.map(path)


def test_read_only_mapping_serves_the_tools(path: Path) -> None:
    with create(path) as cnc:
        cnc.publish()
        cnc.to_driver.consumer_heartbeat_ms = 5
        with CncFile.map(path, writable=False) as tool:
            assert tool.heartbeat_ms == 5
            assert list(tool.counters_reader().for_each()) == []
            with pytest.raises(BufferError):
                _ = tool.to_driver


def test_sections_outlive_the_file(path: Path) -> None:
    with create(path) as cnc:
        ring = cnc.to_driver
    assert isinstance(cnc, CncFile)
    ring.write(1, b"still mapped")
    with Region.map_file(path) as region:
        assert b"still mapped" in bytes(region)
