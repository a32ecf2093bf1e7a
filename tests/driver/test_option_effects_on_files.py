"""What options of the driver do to its files, each by its official property."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aerowire.base.directory import LOSS_REPORT_FILE_NAME
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.system.ports import Ports
from aerowire.system.regions import FileRegionPort
from tests.support.stream_client import STREAM


class FullDisk(FileRegionPort):
    """Says that there is no room, and has some."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked_for_unchecked = False

    def free_space(self, directory: object) -> int:
        del directory
        return 0

    def unchecked(self) -> FullDisk:
        self.is_asked_for_unchecked = True
        return self


@pytest.mark.parametrize("is_checked", [True, False])
def test_a_full_disk_refuses_a_log_when_it_is_asked_first(launch: Callable[..., Any], is_checked: bool) -> None:
    disk = FullDisk()
    client = launch(ports=replace(Ports.system(), regions=disk), properties={"aeron.perform.storage.checks": str(is_checked).lower()})
    publication = client.add_publication("aeron:ipc", STREAM)
    if is_checked:
        assert client.error_of(publication)[0] == ErrorCode.STORAGE_SPACE
    else:
        assert Path(client.take(CommandType.ON_PUBLICATION_READY, publication).log_file).is_file()
    assert disk.is_asked_for_unchecked != is_checked


@pytest.mark.parametrize(("properties", "length"), [({}, 4 << 20), ({"aeron.error.buffer.length": "5m"}, 5 << 20)])
def test_the_error_log_is_as_long_as_it_is_told(launch: Callable[..., Any], properties: dict[str, str], length: int) -> None:
    assert len(launch(properties=properties).cnc.error_log_buffer) == length


@pytest.mark.parametrize(("properties", "length"), [({}, 1 << 20), ({"aeron.loss.report.buffer.length": "1100000"}, 1_101_824)])
def test_the_loss_report_is_as_long_as_it_is_told(launch: Callable[..., Any], properties: dict[str, str], length: int) -> None:
    directory = Path(launch(properties=properties).driver.aeron_dir)
    assert (directory / LOSS_REPORT_FILE_NAME).stat().st_size == length
