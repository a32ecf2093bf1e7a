"""Every option of an archive is read from keyword, property and environment, and does what it says.

What an option does that other tests show (limits, storage, checksums, sync levels, authentication, events, deletion) is not shown again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aerowire.archive import AeronArchive, Archive, ArchiveContext, ReplayParams
from aerowire.archive.context import ArchiveThreadingMode
from aerowire.client import Aeron
from aerowire.codecs.tables.archive_options import OPTIONS
from aerowire.codecs.tables.counters import CounterType
from aerowire.driver import MediaDriver
from tests.archive.conductor.conftest import CHANNEL, PAYLOAD, STREAM_ID, Rig
from tests.archive.conductor.test_replays import REPLAY_CHANNEL, REPLAY_STREAM_ID
from tests.archive.test_archive import OPTIONS_NEEDED as NEEDED
from tests.support.waiting import wait_until

OPTIONS_NEEDED: dict[str, Any] = {**NEEDED, "recording_events_channel": "aeron:ipc"}
UDP, IPC = "aeron:udp?endpoint=127.0.0.1:9", "aeron:ipc?term-length=128k"
# A value other than the default, as text, where its kind does not give one.
TEXTS = {
    "catalog_file_sync_level": "2",
    "file_sync_level": "1",
    "control_channel": UDP,
    "replication_channel": UDP,
    "recording_events_channel": UDP,
    "local_control_channel": IPC,
    "record_checksum": "org.agrona.checksum.Crc32c",
    "replay_checksum": "org.agrona.checksum.Crc32",
    "authenticator_supplier": f"{__name__}:new_authenticator",
    "authorisation_service_supplier": "DENY_ALL",
    "threading_mode": "SHARED",
    "event_log": "all",
    "event_log_disable": "CMD_IN_KEEP_ALIVE",
    "control_mtu_length": "4k",
    **dict.fromkeys(("idle_strategy", "recorder_idle_strategy", "replayer_idle_strategy"), "yield"),
}
KINDS: dict[str, Callable[[Any], str]] = {
    "bool": lambda default: str(not default).lower(),
    "int": lambda default: str(int(default or 0) + 1),
    "size": lambda default: str(2 * int(default)),
    "duration_ns": lambda _: "7s",
    "str": lambda _: "other",
}
NAMES = [name for name, option in OPTIONS.items() if "archive" in option.scopes]


def new_authenticator() -> Any:
    from aerowire.archive import SimpleAuthenticator

    return SimpleAuthenticator({})


@pytest.mark.parametrize("name", NAMES)
def test_an_option_is_read_from_keyword_property_and_environment(name: str) -> None:
    option = OPTIONS[name]
    text = TEXTS.get(name) or KINDS[option.kind](option.default)
    needed = {key: value for key, value in OPTIONS_NEEDED.items() if key != name}
    found = [
        ArchiveContext(**{**needed, name: text}, environ={}),
        ArchiveContext(**needed, properties={option.property: text}, environ={option.env: "nonsense"}),
        ArchiveContext(**needed, environ={option.env: text}),
    ]
    values = [context.options[name] for context in found]
    assert values[0] == values[1] == values[2]
    assert values[0] != ArchiveContext(**OPTIONS_NEEDED, environ={}).options[name]


def test_lengths_and_places_of_files(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "archive", mark_file_dir=str(tmp_path / "marks"), catalog_capacity=4096, error_buffer_length="2m")
    assert (rig.directory / "archive.catalog").stat().st_size == 4096
    assert (tmp_path / "marks" / "archive-mark.dat").stat().st_size == 8192 + (2 << 20)
    assert (rig.directory / "archive-mark.lnk").read_text() == str(tmp_path / "marks")
    rig.close()


def test_control_streams_pings_and_the_linger_of_replays(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "archive", local_control_stream_id=10, session_liveness_check_interval_ns="5ms", replay_linger_timeout_ns="1s")
    (image,) = rig.client.response_subscription.images
    before = image.position
    rig.run(lambda: image.position >= before + 5 * 64, cycles=1_000_000)
    recording_id, _ = rig.record(5)
    rig.client.start_replay(recording_id, REPLAY_CHANNEL, REPLAY_STREAM_ID)
    rig.client.start_replay(recording_id, f"{REPLAY_CHANNEL}|linger=0", REPLAY_STREAM_ID + 1, ReplayParams(position=0))
    channels = [replay.publication.channel for replay in rig.archive.conductor.replays.of_recording(recording_id)]
    assert ["linger=1s" in channel for channel in channels] == [True, False]
    rig.close()


def test_thresholds_names_and_streams_of_an_archive_with_threads(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        **OPTIONS_NEEDED,
        "conductor_cycle_threshold_ns": "7ms",
        "recorder_cycle_threshold_ns": "8ms",
        "replayer_cycle_threshold_ns": "9ms",
        "recorder_idle_strategy": "sleep-ns",
        "local_control_stream_id": 55,
        "thread_naming": "new",
    }
    with (
        MediaDriver.launch_embedded() as driver,
        Archive.launch(aeron_dir=driver.aeron_dir, archive_dir=tmp_path, **options) as archive,
        Aeron.connect(driver.aeron_dir) as aeron,
        AeronArchive.connect(
            aeron=aeron, control_request_channel=CHANNEL, control_request_stream_id=55, control_response_channel=CHANNEL
        ) as client,
        client.add_recorded_publication(CHANNEL, STREAM_ID) as publication,
    ):
        publication.send(PAYLOAD)
        wait_until(lambda: client.list_recordings() != [], "no recording")
        labels = [
            found.label for found in aeron.counters_reader.for_each() if found.type_id == CounterType.ARCHIVE_CYCLE_TIME_THRESHOLD_EXCEEDED
        ]
        assert sorted(label.split(" - ")[0] for label in labels) == [
            "archive-conductor work cycle time exceeded count: threshold=7ms DEDICATED",
            "archive-recorder work cycle time exceeded count: threshold=8ms DEDICATED",
            "archive-replayer work cycle time exceeded count: threshold=9ms DEDICATED",
        ]
        assert [runner.role_name for runner in archive._runners] == ["aeron-ar-rec", "aeron-ar-rep", "aeron-ar-cnd"]
        assert archive.context.threading_mode is ArchiveThreadingMode.DEDICATED
        assert [archive.context.new_idle_strategy(role).alias for role in ("conductor", "recorder", "replayer")] == [
            "backoff",
            "sleep-ns",
            "backoff",
        ]


def test_a_threshold_counts_cycles_that_are_longer(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "archive", conductor_cycle_threshold_ns=0)
    (exceeded,) = (
        found.counter_id
        for found in rig.aeron.counters_reader.for_each()
        if found.type_id == CounterType.ARCHIVE_CYCLE_TIME_THRESHOLD_EXCEEDED
    )
    before = rig.aeron.counters_reader.value(exceeded)
    for _ in range(10):
        rig.cycle()
    assert rig.aeron.counters_reader.value(exceeded) >= before + 10
    rig.close()
