"""Commands on an archive that runs: found by its directory and by its channel, recordings made, replayed, copied, shortened and deleted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aerowire.archive import AeronArchive, FixedCredentials, SimpleAuthenticator
from aerowire.client import Aeron
from aerowire.nodes import ArchivingMediaDriver
from aerowire.tools.main import main
from tests.support.processes import free_port
from tests.support.waiting import wait_until

CHANNEL = "aeron:ipc?term-length=64k"
SEGMENT = 64 * 1024
MESSAGES = [f"message {number}".encode() for number in range(10)]


class Node:
    """A driver with an archive, and a client of both."""

    def __init__(self, directory: Path, *, credentials: bytes = b"", **options: Any) -> None:
        self.directory = directory
        self._node = ArchivingMediaDriver.launch_embedded(
            archive_dir=str(directory),
            control_channel=f"aeron:udp?endpoint=localhost:{free_port()}",
            replication_channel="aeron:udp?endpoint=localhost:0",
            segment_file_length=SEGMENT,
            low_storage_space_threshold=0,
            threading_mode="SHARED",
            **options,
        )
        self.aeron_dir = self._node.aeron_dir
        self.aeron = Aeron.connect(self.aeron_dir)
        self.client = AeronArchive.connect(
            aeron=self.aeron,
            control_request_channel=CHANNEL,
            control_response_channel=CHANNEL,
            credentials_supplier=FixedCredentials(credentials),
        )

    def record(self, stream_id: int, messages: list[bytes]) -> tuple[int, int]:
        """Record messages and stop; return the recording and its end."""
        recorded = self.client.add_continued_publication(CHANNEL, stream_id)
        for message in messages:
            recorded.publication.send(message)
        end = self.client.await_recorded(recorded.recording_id, recorded.publication.position)
        recorded.publication.close()
        wait_until(lambda: self.client.get_stop_position(recorded.recording_id) == end, "the recording goes on")
        return recorded.recording_id, end

    def close(self) -> None:
        self.client.close()
        self.aeron.close()
        self._node.close()


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    found = Node(tmp_path_factory.mktemp("running") / "archive")
    yield found
    found.close()


@pytest.fixture(scope="module")
def recording(node: Node) -> tuple[int, int]:
    return node.record(100, MESSAGES)


def run(*arguments: object) -> int:
    try:
        return main(["archive", *map(str, arguments)])
    except SystemExit as ended:
        return int(ended.code or 0)


def shown(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    assert run(*arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_replays_messages_to_standard_output_in_three_forms(
    node: Node, recording: tuple[int, int], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    recording_id, end = recording
    assert run("replay", node.directory, recording_id) == 0
    assert capfdbinary.readouterr().out == b"\n".join(MESSAGES) + b"\n"
    assert run("replay", node.directory, recording_id, "--form", "raw", "--count", 3) == 0
    assert capfdbinary.readouterr().out == b"".join(MESSAGES[:3])
    assert run("replay", node.directory, recording_id, "--form", "hex", "--from", end - 64) == 0
    assert capfdbinary.readouterr().out == f"{end:>14,}  {MESSAGES[9].hex(' ')}\n".encode()
    assert run("replay", node.directory, recording_id, "--until", 128, "--json") == 0
    lines = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert lines == [{"position": 64 * number, "payload": MESSAGES[number - 1].hex()} for number in (1, 2)]
    assert run("replay", node.directory, recording_id, "--from", end) == 0
    assert capfdbinary.readouterr().out == b""


def test_replays_to_a_new_file_and_never_over_another(
    node: Node, recording: tuple[int, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "messages"
    assert run("replay", node.directory, recording[0], "--output", path) == 0
    assert path.read_bytes() == b"\n".join(MESSAGES) + b"\n"
    assert run("replay", node.directory, recording[0], "--output", path) == 2
    assert path.read_bytes() == b"\n".join(MESSAGES) + b"\n"
    assert "File exists" in capsys.readouterr().err


def test_has_the_archive_replay_to_a_channel(node: Node, recording: tuple[int, int], capsys: pytest.CaptureFixture[str]) -> None:
    with node.aeron.add_subscription(CHANNEL, 77) as subscription:
        replay = shown(capsys, "replay", node.directory, recording[0], "--to", CHANNEL, 77)
        found = subscription.messages(timeout_ns="20s")
        assert [next(found) for _ in MESSAGES] == MESSAGES
        assert subscription.image_by_session_id(replay["session_id"]) is not None
        assert shown(capsys, "stop", node.directory, "--replay", replay["replay_session_id"]) == {"stopped": True}
    assert run("replay", node.directory, recording[0], "--to", CHANNEL, "no number") == 2


def test_records_and_stops_by_recording_and_by_channel(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    with node.aeron.add_exclusive_publication(CHANNEL, 101) as publication:
        begun = shown(capsys, "record", node.directory, CHANNEL, 101, "--wait", 20)
        assert begun["position"] == 0
        publication.send(b"x")
        node.client.await_recorded(begun["recording_id"], publication.position)
        assert shown(capsys, "stop", node.directory, begun["recording_id"]) == {"stopped": True}
        assert run("stop", node.directory, begun["recording_id"]) == 1
        assert "nothing of that to end" in capsys.readouterr().err
    assert run("record", node.directory, CHANNEL, 102, "--wait", 0.05) == 1
    assert "no publication of" in capsys.readouterr().err
    assert run("stop", node.directory, "--channel", CHANNEL, "--stream", 102) == 0
    assert run("stop", node.directory, "--channel", CHANNEL, "--stream", 102) == 1


def test_goes_on_with_a_recording_by_the_rules_of_the_archive(
    node: Node, recording: tuple[int, int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("record", node.directory, CHANNEL, 103, "--extend", recording[0]) == 2
    assert "the archive refused to extend recording" in capsys.readouterr().err


def test_truncates_and_purges_when_that_is_agreed_to(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    recording_id, end = node.record(104, [b"x" * 1000] * 200)
    dry = shown(capsys, "truncate", node.directory, recording_id, 131072, "--dry-run")
    assert dry == {"recording_id": recording_id, "lost_bytes": end - 131072, "deleted_files": None, "dry_run": True}
    assert node.client.get_stop_position(recording_id) == end
    assert shown(capsys, "truncate", node.directory, recording_id, 131072, "--yes")["lost_bytes"] == end - 131072
    assert node.client.get_stop_position(recording_id) == 131072
    kept = shown(capsys, "purge", node.directory, recording_id, "--before", 70000, "--dry-run")
    assert (kept["lost_bytes"], node.client.get_start_position(recording_id)) == (65536, 0)
    assert shown(capsys, "purge", node.directory, recording_id, "--before", 70000, "--yes")["deleted_files"] == 1
    assert node.client.get_start_position(recording_id) == 65536
    assert shown(capsys, "purge", node.directory, recording_id, "--before", 70000, "--yes")["deleted_files"] == 0
    assert shown(capsys, "purge", node.directory, recording_id, "--yes")["lost_bytes"] == 65536
    assert node.client.list_recording(recording_id) == []
    assert run("purge", node.directory, recording_id, "--yes") == 2
    assert f"no such recording; at {CHANNEL}" in capsys.readouterr().err


def test_copies_a_recording_of_another_archive(
    node: Node, recording: tuple[int, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Node(tmp_path / "other")
    try:
        copy = shown(capsys, "replicate", other.directory, node.directory, recording[0])
        assert copy["position"] == recording[1]
        assert run("replay", other.directory, copy["recording_id"]) == 0
        assert capsys.readouterr().out.encode() == b"\n".join(MESSAGES) + b"\n"
        recording_id, end = node.record(105, [b"x" * 100] * 10)
        first = shown(capsys, "replicate", other.directory, node.directory, recording_id, "--until", 480)
        assert first["position"] == 480
        whole = shown(capsys, "replicate", other.directory, node.directory, recording_id, "--into", first["recording_id"])
        assert whole == {"recording_id": first["recording_id"], "position": end}
        assert run("replicate", other.directory, node.directory, 4711) == 2
        assert "unknown src recording id 4711" in capsys.readouterr().err
    finally:
        other.close()


def test_a_channel_names_an_archive_too(node: Node, recording: tuple[int, int], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("stop", CHANNEL, recording[0], "--dir", node.aeron_dir) == 1
    assert run("stop", "aeron:udp?endpoint=192.0.2.1:8010", recording[0], "--dir", node.aeron_dir) == 2
    assert "--response-channel" in capsys.readouterr().err
    assert run("stop", CHANNEL, recording[0], "--dir", node.aeron_dir, "--control-stream", 11, "--timeout", 0.2) == 2
    assert "within 0.2 s" in capsys.readouterr().err


def test_lists_what_an_archive_tells_by_its_channel(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    recording_id, end = node.record(106, MESSAGES)
    by_channel = shown(capsys, "list", CHANNEL, recording_id, "--dir", node.aeron_dir)["recordings"]
    by_directory = shown(capsys, "list", node.directory, recording_id)["recordings"]
    of_files = ("segments", "length_on_disk", "catalog_offset", "entry_length", "control_session_id", "correlation_id")
    for one in (*by_channel, *by_directory):
        assert (one["recording_id"], one["position"], one["stream_id"], one["activity"]) == (recording_id, end, 106, "valid")
    assert [by_channel[0][name] for name in of_files[:2]] == [None, None]
    assert {name: value for name, value in by_channel[0].items() if name not in of_files} == {
        name: value for name, value in by_directory[0].items() if name not in of_files
    }
    assert run("list", CHANNEL, "--dir", node.aeron_dir) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(node.client.list_recordings())
    assert run("list", CHANNEL, 4711, "--dir", node.aeron_dir) == 2
    assert run("list", CHANNEL, "--all", "--dir", node.aeron_dir) == 2
    assert "valid recordings only" in capsys.readouterr().err


def test_keeps_to_a_position_by_the_channel(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    recording_id, end = node.record(107, [b"x" * 1000] * 200)
    at = (CHANNEL, recording_id, "--dir", node.aeron_dir, "--keep")
    told = shown(capsys, "retention", *at, "to-position:140000")
    assert told["removals"] == [
        {"recording_id": recording_id, "new_start_position": 131072, "segments": [0, 65536], "length_on_disk": 131072, "problem": None}
    ]
    assert node.client.get_start_position(recording_id) == 0
    assert shown(capsys, "retention", *at, f"to-position:{end}", "--apply")["removals"][0]["new_start_position"] == end - end % SEGMENT
    assert node.client.get_start_position(recording_id) == end - end % SEGMENT
    assert run("retention", *at, "30d") == 2
    assert "expected to-position:N" in capsys.readouterr().err


def test_an_archive_with_secrets_is_reached_by_credentials(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "secret").write_bytes(b"admin:admin\n")
    secrets = SimpleAuthenticator({b"admin": b"admin:admin"})
    node = Node(tmp_path / "archive", credentials=b"admin:admin", authenticator=secrets)
    try:
        recording_id, end = node.record(108, [b"x" * 1000] * 100)
        keep = ("retention", node.directory, "--keep", f"to-position:{end}", "--apply")
        assert run(*keep) == 2
        assert run("list", CHANNEL, "--dir", node.aeron_dir) == 2
        assert node.client.get_start_position(recording_id) == 0
        assert run(*keep, "--credentials", tmp_path / "secret") == 0
        assert node.client.get_start_position(recording_id) == end - end % SEGMENT
        capsys.readouterr()
        assert run("list", CHANNEL, "--dir", node.aeron_dir, "--credentials", tmp_path / "secret") == 0
        assert capsys.readouterr().out.splitlines()[1].split()[:2] == [str(recording_id), "valid"]
    finally:
        node.close()


def test_a_directory_without_an_archive_is_told_with_what_starts_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("stop", tmp_path, 1) == 2
    assert "no archive runs in the directory" in capsys.readouterr().err
    assert run("stop", tmp_path, "--channel", CHANNEL) == 2
    assert "expected both, or neither" in capsys.readouterr().err
