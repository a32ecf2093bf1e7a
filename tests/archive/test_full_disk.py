"""A real disk that fills up under an archive: what it stops, what goes on, and that all works again once there is space."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from aerowire.archive import REPLAY_ALL_AND_STOP, AeronArchive, ArchiveErrorCode, ReplayParams
from aerowire.base.errors import ArchiveError
from aerowire.client import ExclusivePublication
from tests.support import small_disk
from tests.support.processes import Process, free_port, open_workshop, peer_arguments, peer_command
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(small_disk.reason_against() is not None, reason=small_disk.reason_against() or "")

START_S = 60
IPC = "aeron:ipc?term-length=64k"
FIRST, SECOND = f"{IPC}|alias=first", f"{IPC}|alias=second"
SIZE = "4m"
MESSAGE = bytes(range(256)) * 5


class Stage:
    """An archive whose directory is on a small disk, and a client of it."""

    def __init__(self, disk: Path, node: Process, aeron_dir: Path) -> None:
        self.disk = disk
        self.node = node
        self.errors: list[ArchiveError] = []
        self.client = AeronArchive.connect(
            aeron_dir=aeron_dir, control_request_channel=IPC, control_response_channel=IPC, error_handler=self.errors.append
        )

    def on_disk(self, command: str) -> None:
        """Run a command where the disk is seen."""
        subprocess.run(small_disk.beside(self.node.popen.pid, ["sh", "-c", command]), check=True, timeout=START_S)

    def until(self, condition: Callable[[], object], what: str) -> None:
        wait_until(condition, what, work=self.client.poll)

    def send(self, publication: ExclusivePublication, count: int) -> None:
        for _ in range(count):
            publication.send(MESSAGE, timeout_ns="60s")

    def replayed(self, recording_id: int) -> int:
        """Return how many messages a recording has, which is replayed as a whole."""
        (found,) = self.client.list_recording(recording_id)
        with self.client.replay(recording_id, IPC, 9, ReplayParams(length=REPLAY_ALL_AND_STOP)) as replay:
            self.until(lambda: replay.images, "no image of the replay")
            (image,) = replay.images
            messages: list[bytes] = []
            self.until(
                lambda: (
                    image.poll(lambda buffer, offset, length, _: messages.append(bytes(buffer[offset : offset + length]))) == 0
                    and image.is_end_of_stream
                ),
                "no end of the replay",
            )
            assert image.position == found.stop_position
        assert messages == [MESSAGE] * len(messages)
        return len(messages)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    disk = tmp_path / "disk"
    disk.mkdir()
    with open_workshop(tmp_path) as workshop:
        aeron_dir = workshop.directory()
        archive = {
            "archive_dir": str(disk / "archive"),
            "control_channel": f"aeron:udp?endpoint=127.0.0.1:{free_port()}",
            "replication_channel": "aeron:udp?endpoint=127.0.0.1:0",
            "segment_file_length": "64k",
            "low_storage_space_threshold": 0,
            "threading_mode": "SHARED",
        }
        driver = {"threading_mode": "SHARED", "dir_delete_on_shutdown": True}
        arguments = peer_arguments(aeron_dir, {"driver": json.dumps(driver), "archive": json.dumps(archive)})
        node = workshop.start("archive", small_disk.within(disk, SIZE, peer_command("archiving_node", arguments)))
        node.event("ready", START_S)
        made = Stage(disk, node, aeron_dir)
        yield made
        made.client.close()
        assert node.finish() == 0, node.said()
        assert node.said().strip() == ""


def test_recordings_that_reach_a_full_disk_stop_and_go_on_once_there_is_space(stage: Stage) -> None:
    client = stage.client
    subscription_id = client.start_recording(FIRST, 1)
    publication = client.aeron.add_exclusive_publication(FIRST, 1)
    stage.send(publication, 20)
    stage.until(client.list_recordings, "no recording")
    client.await_recorded(0, publication.position)
    stage.on_disk(f"head -c {SIZE} /dev/zero 2>/dev/null > {stage.disk}/ballast || true")

    # The recording stops where it has come to; its publisher, replays and control go on.
    stage.send(publication, 2_000)
    stage.until(lambda: stage.errors, "no error")
    assert [error.error_code for error in stage.errors] == [ArchiveErrorCode.STORAGE_SPACE]
    stage.until(lambda: client.get_stop_position(0) > 0, "the recording goes on")
    recorded = stage.replayed(0)
    assert recorded >= 20
    publication.close()
    client.stop_recording(subscription_id)

    # With space again, the same archive continues it, and begins another.
    stage.on_disk(f"rm {stage.disk}/ballast")
    stage.errors.clear()
    for channel, stream_id, before in ((FIRST, 1, recorded), (SECOND, 2, 0)):
        continued = client.add_continued_publication(channel, stream_id)
        stage.send(continued.publication, 100)
        client.await_recorded(continued.recording_id, continued.publication.position)
        continued.publication.close()
        stage.until(partial(is_stopped, client, continued.recording_id), "the recording goes on")
        assert stage.replayed(continued.recording_id) == before + 100
    assert stage.errors == []


def is_stopped(client: AeronArchive, recording_id: int) -> bool:
    return client.get_stop_position(recording_id) >= 0
