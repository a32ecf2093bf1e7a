"""A driver and an archive in one process of their own, and what its users see of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aerowire.codecs.tables.options import OPTIONS
from tests.support.processes import Process, Workshop, free_port, wait_for_driver

START_S = 60.0
DRIVER: dict[str, Any] = {
    "ipc_term_buffer_length": "64k",
    "term_buffer_length": "64k",
    "image_liveness_timeout_ns": "2s",
    "publication_linger_timeout_ns": "200ms",
    "timer_interval_ns": "100ms",
    "threading_mode": "SHARED",
    "dir_delete_on_shutdown": True,
}


@dataclass(frozen=True)
class ArchiveNode:
    """A running archive: its process, the directories of its driver and of itself, its control channel."""

    process: Process
    aeron_dir: Path
    directory: Path
    control_channel: str

    def expect_alive(self) -> None:
        """Assert that the archive runs."""
        assert self.process.popen.poll() is None, f"the archive ended with {self.process.popen.returncode}\n{self.process.said()}"

    def end(self) -> None:
        """End it in order, and assert that it has said nothing on standard error."""
        assert self.process.finish(START_S) == 0, self.process.said()
        assert self.process.log.read_text(errors="replace") == ""


def start_node(workshop: Workshop, archive_options: dict[str, Any], *, is_alone: bool = False) -> ArchiveNode:
    """Start a driver and an archive, in one process or `is_alone` in two, and wait until it serves."""
    aeron_dir, directory = workshop.directory(), workshop.memory / "archive"
    control_channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    options = {
        "archive_dir": str(directory),
        "control_channel": control_channel,
        "replication_channel": "aeron:udp?endpoint=127.0.0.1:0",
        "segment_file_length": "64k",
        "low_storage_space_threshold": 0,
        "threading_mode": "SHARED",
        **archive_options,
    }
    given = {"archive": json.dumps(options)}
    if is_alone:
        properties = {OPTIONS[name].property: str(value).lower() for name, value in DRIVER.items() if name != "threading_mode"}
        wait_for_driver(aeron_dir, workshop.driver(aeron_dir, properties))
    else:
        given["driver"] = json.dumps(DRIVER)
    process = workshop.peer("archiving_node", aeron_dir, **given)
    process.event("ready", START_S)
    return ArchiveNode(process, aeron_dir, directory, control_channel)
