"""The archive as an object: launched with threads and without, closed, refused; its options and its events."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from aerowire.archive import AeronArchive, Archive, ArchiveContext, ArchiveThreadingMode
from aerowire.base.errors import (
    ActiveArchiveError,
    ArchiveError,
    ClosedError,
    ConfigurationError,
    DriverDirectoryMissingError,
    RegistrationError,
    UnknownOptionError,
    WrongTypeError,
)
from aerowire.client import Aeron, ExclusivePublication, Image
from aerowire.codecs.flyweights.archive import RecordingPositionRequestDecoder
from aerowire.codecs.flyweights.events import ArchiveEventCode, CommandEventDecoder, StateEventDecoder
from aerowire.codecs.tables.archive_options import OPTIONS
from aerowire.codecs.tables.counters import CounterType
from aerowire.driver import MediaDriver
from aerowire.ipc.broadcast import BroadcastReceiver
from aerowire.ipc.error_log import read_errors
from aerowire.security.authorisation import ALLOW_ALL, AuthorisationRule, SimpleAuthorisationService
from tests.archive.conductor.conftest import CHANNEL, FRAME_LENGTH, PAYLOAD, STREAM_ID, Rig
from tests.archive.conductor.test_replays import read, replay
from tests.support.waiting import wait_until

OPTIONS_NEEDED: dict[str, Any] = {
    "control_channel": "aeron:udp?endpoint=127.0.0.1:0",
    "replication_channel": "aeron:udp?endpoint=127.0.0.1:0",
    "segment_file_length": 64 * 1024,
    "low_storage_space_threshold": 0,
}


@pytest.mark.parametrize("mode", ["DEDICATED", "SHARED"])
def test_records_and_replays_with_threads_of_its_own(tmp_path: Path, mode: str) -> None:
    with (
        MediaDriver.launch_embedded() as driver,
        Archive.launch(aeron_dir=driver.aeron_dir, archive_dir=tmp_path, threading_mode=mode, **OPTIONS_NEEDED) as archive,
        Aeron.connect(driver.aeron_dir) as aeron,
        AeronArchive.connect(aeron=aeron, control_request_channel=CHANNEL, control_response_channel=CHANNEL) as client,
    ):
        assert archive.context.threading_mode is ArchiveThreadingMode(mode)
        assert client.archive_id == archive.archive_id == archive.aeron.client_id
        client.start_recording(CHANNEL, STREAM_ID)
        publication = aeron.add_publication(CHANNEL, STREAM_ID)
        for _ in range(100):
            publication.send(PAYLOAD)
        wait_until(lambda: client.list_recordings() != [], "no recording")
        wait_until(lambda: client.get_recording_position(0) == publication.position, "not all is recorded")
        messages = client.replay(0, "aeron:ipc", 5).messages(timeout_ns="10s")
        assert [next(messages) for _ in range(100)] == [PAYLOAD] * 100
        assert read_errors(archive.conductor._mark_file.error_log_buffer) == []
        cycles = {
            found.label.split(" ")[0]: found.value
            for found in aeron.counters_reader.for_each()
            if found.type_id == CounterType.ARCHIVE_MAX_CYCLE_TIME
        }
        assert set(cycles) == {"archive-conductor", *({"archive-recorder", "archive-replayer"} if mode == "DEDICATED" else ())}
        assert all(longest > 0 for longest in cycles.values())
        with pytest.raises(ClosedError, match="no invoker"):
            _ = archive.invoker
    assert archive.is_closed
    archive.close()


@contextmanager
def recorded_message(directory: Path) -> Iterator[tuple[Archive, AeronArchive, ExclusivePublication]]:
    """Run an archive with threads of its own, whose client has recorded a message and could go on."""
    with (
        MediaDriver.launch_embedded() as driver,
        Archive.launch(aeron_dir=driver.aeron_dir, archive_dir=directory, **OPTIONS_NEEDED) as archive,
        AeronArchive.connect(aeron_dir=driver.aeron_dir, control_request_channel=CHANNEL, control_response_channel=CHANNEL) as client,
        client.add_recorded_exclusive_publication(CHANNEL, STREAM_ID) as publication,
    ):
        publication.send(PAYLOAD)
        wait_until(lambda: client.list_recordings() and client.get_recording_position(0) == publication.position, "not recorded")
        yield archive, client, publication


def test_an_idle_archive_runs_no_python_but_what_is_due_by_time(tmp_path: Path) -> None:
    with recorded_message(tmp_path) as (archive, _, _):
        conductor = archive._runners[-1].invoker
        mark_file = archive.conductor._mark_file
        shown_ms, cycles = [], []
        for _ in range(2):  # from one of the updates of the mark file, each second, to the next
            before_ms = mark_file.activity_timestamp_ms
            wait_until(lambda: mark_file.activity_timestamp_ms != before_ms, "the archive does not live")  # noqa: B023 called at once
            shown_ms.append(mark_file.activity_timestamp_ms)
            cycles.append(conductor.cycle_count)
        assert cycles[1] - cycles[0] <= 0.04 * (shown_ms[1] - shown_ms[0])
        assert read_errors(mark_file.error_log_buffer) == []


def test_a_client_that_asks_for_positions_wakes_no_python(tmp_path: Path) -> None:
    with recorded_message(tmp_path) as (archive, client, publication):
        adapter = archive.conductor.control_sessions.adapter
        serve, served = adapter.on_message, []

        def on_message(message: memoryview, image: Image) -> None:
            served.append(message)
            serve(message, image)

        adapter.on_message = on_message  # type: ignore[method-assign]
        assert {client.get_recording_position(0) for _ in range(100)} == {publication.position}
        assert len(served) < 50  # a request that comes while the conductor is awake is served by it
        publication.close()
        wait_until(lambda: client.get_recording_position(0) == -1, "the recording has not ended")
        assert client.get_stop_position(0) == FRAME_LENGTH


def ask_for_positions(tmp_path: Path, **options: Any) -> list[int | str]:
    """Return what an archive with threads of its own answers to ten requests for the position of an empty recording."""
    answers: list[int | str] = []
    with (
        MediaDriver.launch_embedded() as driver,
        Archive.launch(aeron_dir=driver.aeron_dir, archive_dir=tmp_path, **OPTIONS_NEEDED, **options),
        AeronArchive.connect(aeron_dir=driver.aeron_dir, control_request_channel=CHANNEL, control_response_channel=CHANNEL) as client,
        client.add_recorded_exclusive_publication(CHANNEL, STREAM_ID),
    ):
        wait_until(client.list_recordings, "no recording")
        for _ in range(10):
            try:
                answers.append(client.get_recording_position(0))
            except ArchiveError as error:
                answers.append(error.what)
    return answers


def test_each_request_for_a_position_is_noted_in_the_event_log(tmp_path: Path) -> None:
    assert ask_for_positions(tmp_path, event_log="CMD_IN_RECORDING_POSITION") == [0] * 10
    records = BroadcastReceiver((tmp_path / "event-log.dat").read_bytes(), from_start=True).poll(1000)
    assert [code for code, _ in records] == [ArchiveEventCode.CMD_IN_RECORDING_POSITION] * 10


def test_each_request_for_a_position_is_judged_by_the_authorisation_service(tmp_path: Path) -> None:
    request = RecordingPositionRequestDecoder
    rule = AuthorisationRule(protocol_id=request.SBE_SCHEMA_ID, action_id=request.SBE_TEMPLATE_ID, is_allowed=False)
    answers = ask_for_positions(tmp_path, authorisation=SimpleAuthorisationService([rule], ALLOW_ALL))
    assert all("unauthorised action" in str(answer) for answer in answers)
    assert len(answers) == 10


def test_one_archive_lives_in_a_directory(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "archive")
    with pytest.raises(ActiveArchiveError, match="a live archive owns the directory"):
        rig.launch()
    rig.close()


def test_one_archive_has_an_id_at_a_driver(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "archive")
    rig.directory = tmp_path / "other"
    launching = Archive.async_launch(
        aeron_dir=rig.driver.aeron_dir,
        archive_dir=tmp_path / "other",
        threading_mode="INVOKER",
        media_driver_invoker=rig.driver.invoker,
        **rig.options,
    )
    rig.run(launching.poll, cycles=10_000_000)
    with pytest.raises(ActiveArchiveError, match="another archive has this id at the driver"):
        launching.result()
    rig.close()


def test_a_launch_without_a_driver_says_so(tmp_path: Path) -> None:
    launching = Archive.async_launch(
        aeron_dir=tmp_path / "none", archive_dir=tmp_path / "archive", environ={"AERON_DRIVER_TIMEOUT": "1"}, **OPTIONS_NEEDED
    )
    wait_until(launching.poll, "it still looks for the driver")
    with pytest.raises(DriverDirectoryMissingError):
        launching.result()


def test_a_launch_that_fails_leaves_the_directory_free(tmp_path: Path) -> None:
    driver = MediaDriver.launch_embedded(threading_mode="INVOKER")
    options: dict[str, Any] = {
        **OPTIONS_NEEDED,
        "aeron_dir": driver.aeron_dir,
        "archive_dir": tmp_path / "archive",
        "threading_mode": "INVOKER",
        "media_driver_invoker": driver.invoker,
    }
    with pytest.raises(RegistrationError, match="endpoint is not an address"):
        Archive.launch(**{**options, "control_channel": "aeron:udp?endpoint=127.0.0.1"})
    Archive.launch(**options).close()
    driver.close()


def test_close_ends_recordings_and_tells_their_clients(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "archive")
    rig.client.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    rig.started()
    end = rig.offer(publication, 3)
    rig.run(lambda: rig.client.get_recording_position(0) == end)
    closing = rig.archive.async_close()
    while not closing.poll():
        rig.aeron.invoke()
        rig.client.poll_for_recording_signals()
    assert [(signal.signal.name, signal.position) for signal in rig.signals] == [("START", 0), ("STOP", end)]
    rig.close()


def test_what_happens_is_noted_in_the_event_log(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "archive", event_log="all", event_log_disable="CMD_IN_KEEP_ALIVE")
    rig.record(3)
    rig.client.list_recordings()
    rig.disconnect(rig.client)
    for _ in range(10):
        rig.cycle()
    log = (tmp_path / "archive" / "event-log.dat").read_bytes()
    records = BroadcastReceiver(log, from_start=True).poll(1000)
    codes = {ArchiveEventCode(code).name for code, _ in records}
    assert codes == {
        "START",
        "CMD_IN_AUTH_CONNECT",
        "CONTROL_SESSION_STATE_CHANGE",
        "CMD_OUT_RESPONSE",
        "CMD_IN_START_RECORDING",
        "RECORDING_SIGNAL",
        "RECORDING_SESSION_STATE_CHANGE",
        "CMD_IN_RECORDING_POSITION",
        "CMD_IN_STOP_RECORDING_SUBSCRIPTION",
        "CMD_IN_STOP_POSITION",
        "CMD_IN_LIST_RECORDINGS",
        "CMD_IN_CLOSE_SESSION",
    }
    [connect] = [CommandEventDecoder(body) for code, body in records if code == ArchiveEventCode.CMD_IN_AUTH_CONNECT]
    assert connect.command_type == 58
    states = [StateEventDecoder(body).text for code, body in records if code == ArchiveEventCode.RECORDING_SESSION_STATE_CHANGE]
    assert states[0].startswith('{"old_state": "INIT", "new_state": "RECORDING", "recording_id": 0, "position": 0')
    assert states[-1].startswith('{"old_state": "INACTIVE", "new_state": "STOPPED"')
    rig.close()


@pytest.mark.parametrize("name", ["org.agrona.checksum.Crc32", "org.agrona.checksum.Crc32c"])
def test_checksums_are_written_with_recordings_and_verified_in_replays(tmp_path: Path, name: str) -> None:
    rig = Rig(tmp_path / "archive", record_checksum=name, replay_checksum=name, file_sync_level=1)
    recording_id, _ = rig.record(100)
    assert len(read(rig, replay(rig, recording_id), 100)) == 100
    path = rig.directory / f"{recording_id}-0.rec"
    content = bytearray(path.read_bytes())
    content[5 * FRAME_LENGTH + 40] ^= 1
    path.write_bytes(content)
    subscription = replay(rig, recording_id)
    rig.run(lambda: subscription.poll(lambda *_: None) == 0 and rig.failures)
    assert f"checksum of the frame at segmentOffset={5 * FRAME_LENGTH}" in str(rig.failures[0])
    rig.close()


def test_every_option_is_an_attribute() -> None:
    context = ArchiveContext(**OPTIONS_NEEDED)
    named = {name for name, option in OPTIONS.items() if "archive" in option.scopes}
    assert named <= set(context.options)
    assert all(hasattr(context, name) for name in context.options)
    assert context.archive_dir == "aeron-archive"
    assert (context.file_io_max_length, context.max_concurrent_recordings, context.connect_timeout_ns) == (1 << 20, 20, 5_000_000_000)


def test_options_come_from_keywords_then_properties_then_the_environment() -> None:
    context = ArchiveContext(
        **OPTIONS_NEEDED,
        properties={"aeron.archive.max.concurrent.replays": "7", "aeron.archive.file.sync.level": "1"},
        environ={"AERON_ARCHIVE_MAX_CONCURRENT_REPLAYS": "8", "AERON_ARCHIVE_CONNECT_TIMEOUT": "3s"},
    )
    assert (context.max_concurrent_replays, context.connect_timeout_ns) == (7, 3_000_000_000)
    assert (context.file_sync_level, context.catalog_file_sync_level) == (1, 1)


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"control_channel": None}, "aeron.archive.control.channel"),
        ({"control_channel": "aeron:ipc"}, "aeron.archive.control.channel"),
        ({"control_channel": "nonsense"}, "aeron.archive.control.channel"),
        ({"local_control_channel": "aeron:udp?endpoint=h:1"}, "aeron.archive.local.control.channel"),
        ({"replication_channel": None}, "aeron.archive.replication.channel"),
        ({"recording_events_enabled": True, "recording_events_channel": None}, "aeron.archive.recording.events.channel"),
        ({"segment_file_length": 100_000}, "aeron.archive.segment.file.length"),
        ({"segment_file_length": 32768}, "aeron.archive.segment.file.length"),
        ({"file_io_max_length": 65537}, "aeron.archive.file.io.max.length"),
        ({"file_sync_level": 3}, "aeron.archive.file.sync.level"),
        ({"file_sync_level": 1, "catalog_file_sync_level": 0}, "aeron.archive.catalog.file.sync.level"),
        ({"error_buffer_length": 1000}, "aeron.archive.error.buffer.length"),
        ({"control_mtu_length": 1409}, "aeron.archive.control.mtu.length"),
        ({"idle_strategy": "nonsense"}, "aeron.archive.idle.strategy"),
        ({"threading_mode": "nonsense"}, "aeron.archive.threading.mode"),
        ({"authenticator_supplier": "nonsense"}, "aeron.archive.authenticator.supplier"),
        ({"authenticator_supplier": "os:getcwd"}, "aeron.archive.authenticator.supplier"),
        ({"authorisation_service_supplier": "no.such.module:name"}, "aeron.archive.authorisation.service.supplier"),
        ({"event_log": "nonsense"}, "aeron.event.archive.log"),
        ({"media_driver_invoker": object()}, "aeron.archive.threading.mode"),
        ({"secure_random_algorithm": "SHA1PRNG"}, "secure_random_algorithm"),
    ],
)
def test_refuses_options_that_an_archive_cannot_obey(options: dict[str, Any], where: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ArchiveContext(**{**OPTIONS_NEEDED, **options})
    assert where in str(caught.value)


@pytest.mark.parametrize("name", ["thread_factory", "recorder_thread_factory", "replayer_thread_factory"])
def test_refuses_a_thread_factory_that_is_no_function(name: str) -> None:
    with pytest.raises(WrongTypeError, match=name):
        ArchiveContext(**{**OPTIONS_NEEDED, name: 5})


@pytest.mark.parametrize(
    ("mode", "given", "others"),
    [
        ("DEDICATED", ["thread_factory"], ["archive-recorder", "archive-replayer", "archive-conductor"]),
        ("DEDICATED", ["recorder_thread_factory"], ["archive-recorder"]),
        ("DEDICATED", ["replayer_thread_factory"], ["archive-replayer"]),
        ("SHARED", ["thread_factory", "recorder_thread_factory"], ["archive-shared", "archive-conductor"]),
    ],
)
def test_threads_are_made_by_their_factories(tmp_path: Path, mode: str, given: list[str], others: list[str]) -> None:
    made: list[threading.Thread] = []

    def factory(target: Callable[[], None], name: str) -> threading.Thread:
        made.append(threading.Thread(target=target, name=name, daemon=True))
        return made[-1]

    options: dict[str, Any] = {**OPTIONS_NEEDED, "threading_mode": mode, **dict.fromkeys(given, factory)}
    with (
        MediaDriver.launch_embedded() as driver,
        Archive.launch(aeron_dir=driver.aeron_dir, archive_dir=tmp_path, secure_random_algorithm="strong", **options),
        AeronArchive.connect(aeron_dir=driver.aeron_dir, control_request_channel=CHANNEL, control_response_channel=CHANNEL) as client,
        client.add_recorded_exclusive_publication(CHANNEL, STREAM_ID) as publication,
    ):
        publication.send(PAYLOAD)
        wait_until(lambda: client.list_recordings() != [], "no recording")
        client.await_recorded(0, publication.position)
        assert [thread.name for thread in made] == others
    assert not any(thread.is_alive() for thread in made)


def test_knows_no_other_option() -> None:
    with pytest.raises(UnknownOptionError):
        ArchiveContext(**OPTIONS_NEEDED, segment_length=1)


def test_takes_a_supplier_by_its_name() -> None:
    context = ArchiveContext(**OPTIONS_NEEDED, authorisation_service_supplier=f"{__name__}:new_service")
    assert context.authorisation.is_authorised(101, 3, None, b"")


def new_service() -> Any:
    from aerowire.archive import ALLOW_ALL

    return ALLOW_ALL
