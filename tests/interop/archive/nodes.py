"""Archives of the interop suite, each with a driver of either kind, and the channels by which clients reach them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aerowire.archive import AeronArchive
from tests.interop.archive.remains import assert_no_counter, assert_no_file, assert_sound, wait_until_forgotten
from tests.interop.harness import PATIENT_MS, Driver, Side
from tests.interop.scenarios import Scenario
from tests.support.processes import Process, free_port

ARCHIVE_ID = "4711"
LOCAL = "aeron:ipc?term-length=64k"
SEGMENT_LENGTH = "64k"


@dataclass(frozen=True)
class ArchiveNode:
    """A running archive: the process, its driver, its directory, its control channel."""

    side: Side
    driver: Driver
    process: Process
    directory: Path
    control_channel: str

    def stop(self) -> None:
        """End the archive in order."""
        self.process.stop()

    def kill(self) -> None:
        """End the archive by SIGKILL."""
        self.process.popen.kill()
        self.process.popen.wait()

    def channels(self, transport: str) -> tuple[str, str]:
        """Return the channels of requests and of responses for a client of the same driver, by "udp" or "ipc"."""
        if transport == "ipc":
            return LOCAL, LOCAL
        return self.control_channel, "aeron:udp?endpoint=127.0.0.1:0"

    def connect(self, transport: str, **options: Any) -> AeronArchive:
        """Connect our client on the archive's driver."""
        requests, responses = self.channels(transport)
        return AeronArchive.connect(
            **{
                "aeron_dir": self.driver.directory,
                "control_request_channel": requests,
                "control_response_channel": responses,
                "message_timeout_ns": "60s",
                "environ": {"AERON_DRIVER_TIMEOUT": PATIENT_MS},
                **options,
            }
        )


def start_archive(
    scenario: Scenario, side: Side, driver: Driver, properties: Mapping[str, str] | None = None, *, directory: Path | None = None
) -> ArchiveNode:
    """Start an archive on a running driver, in a directory of its own or in one that another has left. Clients wait until it listens."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    directory = directory or scenario.bench.workshop.memory / f"archive-{len(scenario.bench.workshop.processes)}"
    given = {
        "aeron.dir": str(driver.directory),
        "aeron.driver.timeout": PATIENT_MS,
        "aeron.archive.dir": str(directory),
        "aeron.archive.id": ARCHIVE_ID,
        "aeron.archive.control.channel": channel,
        "aeron.archive.replication.channel": "aeron:udp?endpoint=127.0.0.1:0",
        "aeron.archive.segment.file.length": SEGMENT_LENGTH,
        "aeron.archive.threading.mode": "SHARED",
        **(properties or {}),
    }
    if side == "official":
        command = scenario.bench.java.command("io.aeron.archive.Archive", properties=given)
    else:
        definitions = (f"-D{name}={value}" for name, value in given.items())
        command = [sys.executable, "-m", "aerowire.tools.main", "archive", "start", *definitions]
    return ArchiveNode(side, driver, scenario.bench.workshop.start(f"{side} archive", command), directory, channel)


def restart_archive(scenario: Scenario, node: ArchiveNode) -> ArchiveNode:
    """End an archive in order, and start it again in its directory and on its channel."""
    node.stop()
    # A request by IPC would reach the subscription of the archive that has ended, and no other one, for as long as the driver has it.
    wait_until_forgotten(node.driver)
    again = start_archive(
        scenario, node.side, node.driver, {"aeron.archive.control.channel": node.control_channel}, directory=node.directory
    )
    return replace(again, control_channel=node.control_channel)


def response_channel() -> str:
    """Return a channel by which responses or a replay return to the client, with a control port of its own."""
    return f"aeron:udp?control-mode=response|control=127.0.0.1:{free_port()}"


def finish(scenario: Scenario, *nodes: ArchiveNode, client: str = "aerowire archive client") -> None:
    """End the archives, then their drivers, and let the matrix say between which ends it was.

    Asserts that no counter and no file is left, and that the tools of both sides find each directory sound.
    """
    for row in scenario.rows:
        row.publishing = row.publishing or f"{nodes[0].side} archive, {nodes[0].driver.side} driver"
        row.subscribing = row.subscribing or [client]
    for node in nodes:
        node.stop()
    for node in nodes:
        assert_no_counter(node.driver)
        assert_no_file(node.directory)
    assert_sound(scenario.bench, *(node.directory for node in nodes))
    scenario.finish()
