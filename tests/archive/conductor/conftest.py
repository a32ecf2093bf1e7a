"""Driver, archive and clients in one thread: each wait of a client runs all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aerowire.archive import AeronArchive, Archive, RecordingSignalEvent
from aerowire.base.errors import ArchiveError
from aerowire.client import Aeron, ExclusivePublication
from aerowire.driver import MediaDriver

TERM_LENGTH = 64 * 1024
SEGMENT_LENGTH = 64 * 1024
CHANNEL = "aeron:ipc?term-length=64k"
STREAM_ID = 1001
PAYLOAD = bytes(range(256)) * 4
# One thread runs all: a machine that is busy with other things must not end its clients.
PATIENT: dict[str, Any] = {"client_liveness_timeout_ns": "60s", "publication_unblock_timeout_ns": "61s"}
FRAME_LENGTH = 32 + len(PAYLOAD)


class Rig:
    """A driver, an archive and its first client. `run` lets all of them work until something is so."""

    def __init__(self, directory: Path, **options: Any) -> None:
        self.directory = directory
        self.options = {
            "segment_file_length": SEGMENT_LENGTH,
            "control_channel_enabled": False,
            "control_channel": "aeron:udp?endpoint=127.0.0.1:0",
            "replication_channel": "aeron:udp?endpoint=127.0.0.1:0",
            "low_storage_space_threshold": 0,
            "archive_id": 4711,
            **options,
        }
        self.driver = MediaDriver.launch_embedded(threading_mode="INVOKER", ipc_mtu_length=1408, **PATIENT)
        self.signals: list[RecordingSignalEvent] = []
        self.failures: list[ArchiveError] = []
        self.clients: list[AeronArchive] = []
        self.archive = self.launch()
        self.aeron = Aeron.connect(self.driver.aeron_dir, use_conductor_agent_invoker=True, driver_agent_invoker=self.driver.invoker)
        self.client = self.connect()

    def launch(self) -> Archive:
        """Start the archive, again."""
        return Archive.launch(
            aeron_dir=self.driver.aeron_dir,
            archive_dir=self.directory,
            threading_mode="INVOKER",
            media_driver_invoker=self.driver.invoker,
            **self.options,
        )

    def connect(self, **options: Any) -> AeronArchive:
        """Connect a client of the archive."""
        client = AeronArchive.connect(
            **{
                "aeron": self.aeron,
                "control_request_channel": CHANNEL,
                "control_response_channel": CHANNEL,
                "recording_signal_consumer": self.signals.append,
                "error_handler": self.failures.append,
                "agent_invoker": self.archive.invoker,
                **options,
            }
        )
        self.clients.append(client)
        return client

    def disconnect(self, client: AeronArchive) -> None:
        """Close a client."""
        self.clients.remove(client)
        client.close()

    def cycle(self) -> None:
        """Let all work once."""
        self.archive.invoker.invoke()
        self.aeron.invoke()
        for client in self.clients:
            client.poll_for_recording_signals()

    def run(self, until: Callable[[], object], cycles: int = 20_000) -> None:
        """Let all work until something is so."""
        for _ in range(cycles):
            if until():
                return
            self.cycle()
        raise AssertionError("it did not come to that")

    def publication(self, channel: str = CHANNEL, stream_id: int = STREAM_ID) -> ExclusivePublication:
        """Add a publication."""
        return self.aeron.add_exclusive_publication(channel, stream_id)

    def offer(self, publication: ExclusivePublication, count: int) -> int:
        """Publish messages; return the position behind them."""
        for _ in range(count):
            self.run(lambda: publication.offer(PAYLOAD) > 0)
        return publication.position

    def record(self, count: int, *, channel: str = CHANNEL, stream_id: int = STREAM_ID) -> tuple[int, int]:
        """Record a publication's messages and stop; return the recording's id and its end."""
        subscription_id = self.client.start_recording(channel, stream_id)
        publication = self.publication(channel, stream_id)
        recording_id = self.started()
        end = self.offer(publication, count)
        self.run(lambda: self.client.get_recording_position(recording_id) == end)
        self.client.stop_recording(subscription_id)
        self.run(lambda: self.client.get_stop_position(recording_id) == end)
        publication.close()
        self.signals.clear()
        return recording_id, end

    def started(self) -> int:
        """Wait for the START or EXTEND signal; return its recording."""
        self.run(lambda: self.signals)
        return self.signals[-1].recording_id

    def segments(self) -> list[str]:
        """Return the names of the segment files."""
        return sorted(path.name for path in self.directory.iterdir() if path.suffix in {".rec", ".del"})

    def errors(self) -> list[str]:
        """Return what is in the error log."""
        from aerowire.ipc.error_log import read_errors

        return [found.text for found in read_errors(self.archive.conductor._mark_file.error_log_buffer)]

    def close(self) -> None:
        """Close everything."""
        self.archive.close()
        self.aeron.close()
        self.driver.close()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    found = Rig(tmp_path / "archive")
    yield found
    found.close()
