"""The client of an archive in an event loop, with a scripted archive in a thread on a real driver."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import pytest

from aerowire import aio
from aerowire.aio.archive import AsyncAeronArchive, connect_archive
from aerowire.archive import AeronArchive, Archive, ArchiveClientContext, ArchiveErrorCode, RecordingSignal, RecordingSignalEvent
from aerowire.base.errors import (
    ArchiveConnectionError,
    ArchiveError,
    ArchiveTimeoutError,
    ClosedError,
    ConfigurationError,
)
from aerowire.codecs.flyweights.archive.messages import recording_signal_event
from aerowire.driver import MediaDriver
from tests.support.live_host import LiveHost
from tests.support.scripted.archive import ARCHIVE_ID, SESSION_ID, ScriptedArchive, error, ok

InLoop = Callable[[Coroutine[Any, Any, Any]], Any]
CHANNEL = "aeron:ipc?alias=archive-in-loop"
CHANNELS: dict[str, Any] = {"control_request_channel": CHANNEL, "control_response_channel": CHANNEL, "environ": {}}


@pytest.fixture
def archive(real_driver: MediaDriver) -> Iterator[ScriptedArchive]:
    with LiveHost(real_driver.aeron_dir) as host:
        made = ScriptedArchive(host, CHANNEL)
        made.answers["StartPositionRequest"] = lambda request: [ok(request, request.recording_id * 10)]
        yield made


def run(in_loop: InLoop, driver: MediaDriver, test: Callable[[AsyncAeronArchive], Coroutine[Any, Any, Any]], **options: Any) -> None:
    async def connected() -> None:
        async with aio.connect(driver.aeron_dir, environ={}) as aeron, connect_archive(aeron, **CHANNELS, **options) as client:
            await test(client)

    in_loop(connected())


def test_operations_are_awaited_many_at_a_time(real_driver: MediaDriver, archive: ScriptedArchive, in_loop: InLoop) -> None:
    async def test(client: AsyncAeronArchive) -> None:
        assert (client.client.archive_id, client.client.control_session_id) == (ARCHIVE_ID, SESSION_ID)
        assert await client.get_start_position(3) == 30
        assert await asyncio.gather(*(client.get_start_position(number) for number in range(20))) == [10 * number for number in range(20)]

    run(in_loop, real_driver, test)
    assert archive.names()[-1] == "CloseSessionRequest"


def test_a_refusal_is_raised(real_driver: MediaDriver, archive: ScriptedArchive, in_loop: InLoop) -> None:
    archive.answers["PurgeRecordingRequest"] = lambda request: [error(request, 2, "recording is active")]

    async def test(client: AsyncAeronArchive) -> None:
        with pytest.raises(ArchiveError, match="recording is active") as caught:
            await client.purge_recording(3)
        assert (caught.value.error_code, caught.value.recording_id) == (ArchiveErrorCode.ACTIVE_RECORDING, 3)

    run(in_loop, real_driver, test)


def test_a_request_without_an_answer_ends_by_itself_or_with_its_task(
    real_driver: MediaDriver, archive: ScriptedArchive, in_loop: InLoop
) -> None:
    del archive.answers["StartPositionRequest"]

    async def test(client: AsyncAeronArchive) -> None:
        task = asyncio.ensure_future(client.get_start_position(1))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ArchiveTimeoutError):
            await client.get_start_position(2)
        assert client.client.is_connected

    run(in_loop, real_driver, test, message_timeout_ns="200ms")


def test_signals_and_errors_come_into_the_loop(real_driver: MediaDriver, archive: ScriptedArchive, in_loop: InLoop) -> None:
    signals: list[RecordingSignalEvent] = []

    async def test(client: AsyncAeronArchive) -> None:
        waiting = asyncio.ensure_future(client.error_response())
        start = archive.requests[0]
        archive.say(
            recording_signal_event.RecordingSignalEvent(
                control_session_id=SESSION_ID,
                correlation_id=1,
                recording_id=2,
                subscription_id=3,
                position=0,
                signal=RecordingSignal.START,
            ),
            error(start, 0, "a replication failed"),
        )
        assert (await waiting).what == "the archive reports an error: a replication failed"
        assert [(event.recording_id, event.signal) for event in signals] == [(2, RecordingSignal.START)]

    run(in_loop, real_driver, test, recording_signal_consumer=signals.append)


def test_recorded_publications_and_replays_are_of_the_loop(real_driver: MediaDriver, archive: ScriptedArchive, in_loop: InLoop) -> None:
    archive.answers["StartRecordingRequest"] = lambda request: [ok(request, 77)]
    archive.answers["ReplayRequest"] = lambda request: [ok(request, 5)]

    async def test(client: AsyncAeronArchive) -> None:
        async with (
            await client.add_recorded_exclusive_publication("aeron:ipc?session-id=5", 9) as publication,
            await client.replay(0, "aeron:ipc", 9) as replay,
        ):
            await publication.send(b"recorded", timeout_s=10)
            assert (await replay.receive()).payload == b"recorded"
        assert archive.requests[-2].channel == f"aeron:ipc?session-id={publication.handle.session_id}"

    run(in_loop, real_driver, test)


def test_every_operation_can_be_awaited() -> None:
    operations = {name.removeprefix("async_") for name in dir(AeronArchive) if name.startswith("async_")} - {"connect"}
    assert [name for name in sorted(operations) if not iscoroutinefunction(getattr(AsyncAeronArchive, name, None))] == []


def test_a_recording_goes_on_and_its_end_is_read_in_the_loop(real_driver: MediaDriver, in_loop: InLoop, tmp_path: Path) -> None:
    channels: dict[str, Any] = {"control_request_channel": "aeron:ipc", "control_response_channel": "aeron:ipc"}

    async def test() -> None:
        async with aio.connect(real_driver.aeron_dir, environ={}) as aeron, connect_archive(aeron, **channels) as client:
            for number in range(2):
                prices = await client.add_continued_publication("aeron:ipc?term-length=64k|alias=prices", 7)
                assert (prices.recording_id, prices.position) == (0, 64 * number)
                async with prices.publication as publication:
                    await publication.send(b"price %d" % number, timeout_s=10)
                    assert await client.await_recorded(0, 64 * (number + 1)) == 64 * (number + 1)
            for replay in (await client.tail(0, "aeron:ipc", 8, length=10), await client.open_replay(0, "aeron:ipc", 9)):
                async with replay.subscription as subscription:
                    assert [(await subscription.receive()).payload for _ in range(2)] == [b"price 0", b"price 1"]
                await client.stop_replay(replay.replay_session_id)
            with pytest.raises(ArchiveError, match="unknown recording"):
                await client.tail(5, "aeron:ipc", 8, length=10)

    with Archive.launch(
        aeron_dir=real_driver.aeron_dir,
        archive_dir=tmp_path,
        control_channel_enabled=False,
        replication_channel="aeron:udp?endpoint=127.0.0.1:0",
        segment_file_length="64k",
        low_storage_space_threshold=0,
    ):
        in_loop(test())


def test_close_ends_what_is_waited_for(real_driver: MediaDriver, archive: ScriptedArchive, in_loop: InLoop) -> None:
    del archive.answers["StartPositionRequest"]

    async def test(client: AsyncAeronArchive) -> None:
        task = asyncio.ensure_future(client.get_start_position(1))
        await asyncio.sleep(0)
        await client.close()
        with pytest.raises(ClosedError, match="was closed: get the start position"):
            await task
        await client.close()

    run(in_loop, real_driver, test)


def test_a_connection_takes_the_client_of_the_loop(real_driver: MediaDriver, archive: ScriptedArchive, in_loop: InLoop) -> None:
    context = ArchiveClientContext(**CHANNELS)

    async def test() -> None:
        async with aio.connect(real_driver.aeron_dir, environ={}) as aeron:
            async with connect_archive(aeron, context) as client:
                assert client.client.aeron is aeron.client
            with pytest.raises(ConfigurationError, match="the client of the loop"):
                connect_archive(aeron, ArchiveClientContext(aeron=aeron.client, **CHANNELS))
            del archive.answers["AuthConnectRequest"]
            with pytest.raises(ArchiveTimeoutError):
                await connect_archive(aeron, message_timeout_ns="200ms", **CHANNELS)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await connect_archive(aeron, **CHANNELS)
            await asyncio.sleep(0)

    in_loop(test())


def test_an_archive_that_goes_is_told(real_driver: MediaDriver, archive: ScriptedArchive, in_loop: InLoop) -> None:
    async def test(client: AsyncAeronArchive) -> None:
        waiting = asyncio.ensure_future(client.error_response())
        assert archive.publication is not None
        archive.publication.close()
        assert isinstance(await waiting, ArchiveConnectionError)
        with pytest.raises(ArchiveConnectionError):
            await client.get_start_position(1)

    run(in_loop, real_driver, test)
