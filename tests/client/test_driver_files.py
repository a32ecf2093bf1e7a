"""What a driver's directory tells without a client of it, and channels from keywords."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from aerowire.base.errors import ChannelValueError, ConfigurationError, DriverDirectoryMissingError, UnknownChannelKeyError
from aerowire.client import (
    build_channel,
    driver_file_page_size,
    initial_position,
    is_driver_active,
    next_correlation_id,
    print_error_log,
    save_error_log,
)
from aerowire.ipc.error_log import DistinctErrorLog

if TYPE_CHECKING:
    from tests.client.conftest import FakeDriver


def test_a_driver_is_active_while_its_heart_beats(driver: FakeDriver, tmp_path: Path) -> None:
    assert is_driver_active(driver.directory)
    driver.ring.consumer_heartbeat_ms -= 60_000
    assert not is_driver_active(driver.directory)
    assert is_driver_active(driver.directory, timeout_ns=120_000_000_000)
    driver.ring.consumer_heartbeat_ms = -1
    assert not is_driver_active(driver.directory)
    assert not is_driver_active(tmp_path)


def test_a_directory_tells_its_page_size_and_gives_numbers(driver: FakeDriver, tmp_path: Path) -> None:
    assert driver_file_page_size(driver.directory) == 4096
    first = next_correlation_id(driver.directory)
    assert next_correlation_id(driver.directory) == first + 1
    assert driver.ring.next_correlation_id() == first + 2
    with pytest.raises(DriverDirectoryMissingError):
        next_correlation_id(tmp_path)


def test_errors_are_printed_and_saved_even_of_a_driver_that_is_gone(driver: FakeDriver, tmp_path: Path) -> None:
    assert save_error_log(driver.directory, tmp_path) is None
    log = DistinctErrorLog(driver.cnc.error_log_buffer)
    log.record("the disk is full", 1_000)
    log.record("the disk is full", 2_000)
    log.record("no route", 3_000)
    driver.ring.consumer_heartbeat_ms = -1
    out = io.StringIO()
    assert print_error_log(driver.directory, out) == 2
    assert "2 observations from 1970-01-01" in out.getvalue()
    assert out.getvalue().endswith("2 distinct errors observed.\n")
    saved = save_error_log(driver.directory, tmp_path)
    assert saved is not None
    assert saved.parent == tmp_path
    assert saved.read_text() == out.getvalue()


def test_a_channel_is_built_from_keywords() -> None:
    assert build_channel("ipc") == "aeron:ipc"
    built = build_channel("udp", is_spy=True, endpoint="localhost:20121", term_length="64k", reliable=False, mtu=1408, ttl=None)
    assert built == "aeron-spy:aeron:udp?endpoint=localhost:20121|term-length=64k|reliable=false|mtu=1408"
    with pytest.raises(UnknownChannelKeyError, match="did you mean 'term-length'"):
        build_channel("udp", term_lenght=65536)
    with pytest.raises(ChannelValueError):
        build_channel("udp", mtu="wide")


def test_a_channel_begins_at_a_position() -> None:
    begun: dict[str, Any] = initial_position(65536 * 2 + 64, (1 << 31) - 1, 65536)
    assert begun == {"init_term_id": (1 << 31) - 1, "term_id": -(1 << 31) + 1, "term_offset": 64, "term_length": 65536}
    assert build_channel("ipc", **begun).endswith("|term-offset=64|term-length=65536")
    for position, term_length in ((-32, 65536), (33, 65536), (0, 65537), (0, 32768)):
        with pytest.raises(ConfigurationError):
            initial_position(position, 0, term_length)
