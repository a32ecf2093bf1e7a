"""A driver and its archive as one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aerowire.archive import AeronArchive
from aerowire.base.directory import random_aeron_dir
from aerowire.base.errors import ConfigurationError
from aerowire.client import Aeron
from aerowire.driver import Context
from aerowire.nodes import ArchivingMediaDriver

LOCAL = "aeron:ipc?term-length=64k"
OPTIONS: dict[str, Any] = {"control_channel_enabled": False, "replication_channel": "aeron:udp?endpoint=127.0.0.1:0"}


def test_serves_clients_of_its_driver_and_leaves_no_directory(tmp_path: Path) -> None:
    with ArchivingMediaDriver.launch_embedded(archive_dir=tmp_path, **OPTIONS) as node:
        directory = Path(node.aeron_dir)
        with AeronArchive.connect(aeron_dir=directory, control_request_channel=LOCAL, control_response_channel=LOCAL) as client:
            assert client.archive_id == node.archive.archive_id
    assert node.driver.is_closed
    assert node.archive.is_closed
    assert not directory.exists()
    node.close()


def test_one_invoker_runs_both(tmp_path: Path) -> None:
    context = Context(aeron_dir=random_aeron_dir(), dir_delete_on_shutdown=True, threading_mode="INVOKER")
    with ArchivingMediaDriver.launch(context, archive_dir=tmp_path, **OPTIONS) as node:
        aeron = Aeron.connect(node.aeron_dir, use_conductor_agent_invoker=True, driver_agent_invoker=node.driver.invoker)
        client = AeronArchive.connect(
            aeron=aeron, control_request_channel=LOCAL, control_response_channel=LOCAL, agent_invoker=node.archive.invoker
        )
        assert client.list_recordings() == []
        client.close()
        aeron.close()


def test_a_node_whose_archive_cannot_start_leaves_no_driver(tmp_path: Path) -> None:
    directory = random_aeron_dir()
    with pytest.raises(ConfigurationError):
        ArchivingMediaDriver.launch(Context(aeron_dir=directory, dir_delete_on_shutdown=True), archive_dir=tmp_path)
    assert not Path(directory).exists()
