"""Messages through a real driver: order, turns, room, and that a cancelled task neither loses nor repeats one."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import struct
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest

from aerowire import aio
from aerowire.aio.handle import AsyncHandle
from aerowire.base.errors import BackPressureError, ConfigurationError, MaxPositionExceededError, MessageTooLongError, WrongTypeError
from aerowire.driver import MediaDriver
from tests.aio.conftest import run
from tests.support.processes import free_port

IPC = "aeron:ipc"
TERM = 65536


@pytest.fixture(params=["ipc", "udp"])
def channel(request: pytest.FixtureRequest) -> str:
    return IPC if request.param == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"


@contextlib.asynccontextmanager
async def ends(driver: MediaDriver, channel: str = IPC) -> AsyncIterator[tuple[aio.AsyncPublication, aio.AsyncSubscription]]:
    async with (
        aio.connect(driver.aeron_dir) as aeron,
        aeron.add_subscription(channel, 10) as subscription,
        aeron.add_publication(channel, 10) as publication,
    ):
        await publication.connected(timeout_s=5)
        await subscription.connected(timeout_s=5)
        yield publication, subscription


async def fill(publication: aio.AsyncPublication, value: int | None = None) -> int:
    """Send numbers, or `value` again and again, until there is no room; return how many."""
    sent = 0
    with contextlib.suppress(BackPressureError):
        while True:
            await publication.send(number(sent if value is None else value), timeout_s=0.1)
            sent += 1
    return sent


def number(value: int) -> bytes:
    return struct.pack("<q", value)


async def take(subscription: aio.AsyncSubscription, count: int) -> list[int]:
    return [struct.unpack_from("<q", await subscription.receive())[0] for _ in range(count)]


def test_messages_of_any_length_come_whole_and_in_order(real_driver: MediaDriver, channel: str) -> None:
    messages = [random.Random(7).randbytes(length) for length in (0, 1, 1376, 1377, 5000, 8192) for _ in range(12)]

    async def main() -> None:
        async with ends(real_driver, channel) as (publication, subscription):

            async def send() -> int:
                for message in messages:
                    position = await publication.send(message, reserved_value=len(message), timeout_s=10)
                return position

            async with asyncio.TaskGroup() as group:
                sending = group.create_task(send())
                received = [await subscription.receive() for _ in messages]
            assert [message.payload for message in received] == messages
            assert [message.reserved_value for message in received] == [len(message) for message in messages]
            assert {message.session_id for message in received} == {publication.session_id}
            assert received[-1].position == sending.result() == publication.position

    run(main())


def test_a_message_is_a_buffer_that_can_be_sent_on(real_driver: MediaDriver) -> None:
    async def main() -> None:
        async with ends(real_driver) as (publication, subscription):
            await publication.send(b"there and back")
            message = await subscription.receive()
            await publication.send(message)
            again = await subscription.receive()
            assert bytes(again) == again.payload == bytes(memoryview(again)) == b"there and back"
            assert len(again) == 14
            assert again != message
            assert hash(again) != hash(message)
            assert "there and back" in repr(again)

    run(main())


def test_batches_hold_what_is_there(real_driver: MediaDriver) -> None:
    rows = np.arange(3000, dtype=np.int64).reshape(-1, 1)

    async def main() -> None:
        async with ends(real_driver) as (publication, subscription):

            async def receive() -> list[int]:
                got: list[int] = []
                async for batch in subscription.batches(100):
                    assert 0 < len(batch) <= 100
                    got += batch.array(np.int64).tolist()
                    if len(got) == len(rows):
                        return got
                raise AssertionError("the subscription ended")

            async with asyncio.TaskGroup() as group:
                receiving = group.create_task(receive())
                await publication.send_many(rows[:1500], timeout_s=10)
                await publication.send_many([row.tobytes() for row in rows[1500:]], timeout_s=10)
            assert receiving.result() == list(range(3000))

    run(main())


def test_a_send_waits_for_room_and_gives_up_in_time(real_driver: MediaDriver) -> None:
    async def main() -> None:
        async with ends(real_driver) as (publication, subscription):
            sent = await fill(publication)
            with pytest.raises(BackPressureError, match=r"no room in the stream.*within 0.02 s") as refused:
                await publication.send(number(sent), timeout_s=0.02)
            position, limit = publication.position, publication.handle.position_limit
            stands = f"position {position} with a limit of {limit}"
            assert refused.value.actual == stands
            assert "longer term-length" in str(refused.value.hint)
            with pytest.raises(BackPressureError, match=f"{stands}; 0 bytes of the batch were sent"):
                await publication.send_many([b"x"], timeout_s=0.02)
            waiting = asyncio.ensure_future(publication.send(number(sent), timeout_s=10))
            await asyncio.sleep(0.01)
            assert not waiting.done()
            assert publication.position == position
            assert await take(subscription, sent + 1) == list(range(sent + 1))
            assert await waiting > position

    run(main())


def test_handles_are_tables_in_notebooks(real_driver: MediaDriver) -> None:
    async def main() -> None:
        async with (
            aio.connect(real_driver.aeron_dir) as aeron,
            aeron.add_subscription("aeron:ipc?alias=<b>", 10) as subscription,
            aeron.add_publication("aeron:ipc?alias=<b>", 10) as publication,
            aeron.add_exclusive_publication("aeron:ipc?alias=<b>", 10) as exclusive,
            aeron.add_counter(1001, "mine & yours") as counter,
        ):
            handles: tuple[AsyncHandle, ...] = (publication, exclusive, subscription, counter)
            for handle, shown in zip(handles, ("alias=&lt;b&gt;", "alias=&lt;b&gt;", "alias=&lt;b&gt;", "mine &amp; yours"), strict=True):
                assert handle._repr_html_().startswith("<table>")
                assert shown in handle._repr_html_()
                await handle.close()
                assert "closed" in handle._repr_html_()

    run(main())


WRONG_TIMEOUTS = ["1", True, [1], 1j, math.nan, 10**400, np.zeros(2)]


@pytest.mark.parametrize("timeout_s", WRONG_TIMEOUTS, ids=str)
def test_a_timeout_that_is_no_number_is_refused_before_anything_is_waited_for(real_driver: MediaDriver, timeout_s: Any) -> None:
    async def main() -> None:
        async with ends(real_driver) as (publication, subscription), publication._aeron.add_publication(IPC, 11) as alone:
            for wait in (
                lambda: alone.send(b"x", timeout_s=timeout_s),
                lambda: alone.send_many([b"x"], timeout_s=timeout_s),
                lambda: publication.send_many([b"x"], timeout_s=timeout_s),
                lambda: alone.connected(timeout_s=timeout_s),
                lambda: subscription.connected(timeout_s=timeout_s),
            ):
                with pytest.raises(ConfigurationError, match=r"timeout_s .*expected seconds as a number"):
                    await wait()
            assert await publication.send(number(1)) == publication.position
            assert await take(subscription, 1) == [1]

    run(main())


@pytest.mark.parametrize("timeout_s", [0, -1, 0.0, np.float32(0)])
def test_what_there_is_room_for_is_sent_without_any_time_to_wait(real_driver: MediaDriver, timeout_s: float) -> None:
    async def main() -> None:
        async with ends(real_driver) as (publication, subscription):

            async def wait_for_window() -> None:
                while publication.handle.available_window < 200 * 64:
                    await asyncio.sleep(0.001)

            for start in range(0, 3 * TERM // 64, 200):
                await wait_for_window()  # the driver sets it soon after the subscriber is connected
                for value in range(start, start + 200, 2):
                    await publication.send(number(value), timeout_s=timeout_s)
                    await publication.send_many([number(value + 1)], timeout_s=timeout_s)
                assert await take(subscription, 200) == list(range(start, start + 200))
            await wait_for_window()
            for _ in range(200):
                await publication.send(b"", timeout_s=timeout_s)
            await fill(publication, -1)
            with pytest.raises(BackPressureError):
                await publication.send(number(1), timeout_s=timeout_s)

    run(main())


@pytest.mark.parametrize("limit", [0, -1, 1 << 31, None, "5", 1.5, True])
def test_a_limit_that_no_batch_meets_is_refused(real_driver: MediaDriver, limit: Any) -> None:
    async def main() -> None:
        async with ends(real_driver) as (publication, subscription):
            await publication.send(b"x")
            with pytest.raises(ConfigurationError, match=r"fragment_limit .*expected"):
                await anext(aiter(subscription.batches(limit)))

    run(main())


def test_what_is_no_function_handles_no_images(real_driver: MediaDriver) -> None:
    async def main() -> None:
        async with aio.connect(real_driver.aeron_dir) as aeron:
            for name in ("available_image_handler", "unavailable_image_handler"):
                wrong: dict[str, Any] = {name: 5}
                with pytest.raises(WrongTypeError, match=f"{name} has the wrong type; expected a function"):
                    aeron.add_subscription(IPC, 10, **wrong)

    run(main())


def test_senders_that_wait_for_room_go_in_turn(real_driver: MediaDriver) -> None:
    async def main() -> None:
        async with ends(real_driver) as (publication, subscription):
            backlog = await fill(publication, -1)
            tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(publication.send(number(value))) for value in range(30)]
            await asyncio.sleep(0.01)
            tasks[4].cancel()
            tasks.append(asyncio.ensure_future(publication.send_many([number(value) for value in range(30, 40)])))
            tasks.append(asyncio.ensure_future(publication.send(number(40))))
            assert await take(subscription, backlog) == [-1] * backlog
            assert await take(subscription, 40) == [value for value in range(41) if value != 4]
            await asyncio.gather(*tasks, return_exceptions=True)

    run(main())


def test_a_reader_with_plenty_to_read_and_a_sender_with_room_leave_the_others_their_turn(real_driver: MediaDriver) -> None:
    async def main() -> None:
        async with ends(real_driver) as (publication, subscription):
            turns = 0
            is_done = False

            async def bystander() -> None:
                nonlocal turns
                while not is_done:
                    turns += 1
                    await asyncio.sleep(0)

            async with asyncio.TaskGroup() as group:
                group.create_task(bystander())
                await asyncio.sleep(0)
                for value in range(500):
                    await publication.send(number(value))
                sending, turns = turns, 0
                assert await take(subscription, 500) == list(range(500))
                is_done = True
            assert sending >= 5
            assert turns >= 5

    run(main())


@pytest.mark.parametrize("seed", range(4))
def test_cancelled_readers_and_senders_lose_and_repeat_nothing(real_driver: MediaDriver, seed: int) -> None:
    """Readers and senders are cancelled all the time; what was sent by somebody's word is what is read, once and in order."""
    chance = random.Random(seed)
    count = 300

    async def main() -> None:
        async with ends(real_driver) as (publication, subscription):
            sent: list[int] = []
            read: list[int] = []

            async def send_one(value: int) -> None:
                await publication.send(number(value) + bytes(chance.choice((0, 900, 4000))))
                sent.append(value)

            async def send_all() -> None:
                for value in range(count):
                    while True:
                        task = asyncio.ensure_future(send_one(value))
                        if chance.random() < 0.5:
                            for _ in range(chance.randrange(4)):
                                await asyncio.sleep(0)
                            task.cancel()
                        with contextlib.suppress(asyncio.CancelledError):
                            await task
                        if sent and sent[-1] == value:
                            break

            async def read_one() -> None:
                message = await subscription.receive()
                read.append(struct.unpack_from("<q", message)[0])

            async def read_all() -> None:
                while len(read) < count:
                    try:
                        async with asyncio.timeout(chance.choice((0, 1e-5, 1e-3, None))):
                            await read_one()
                    except TimeoutError:
                        pass

            async with asyncio.TaskGroup() as group:
                group.create_task(send_all())
                group.create_task(read_all())
            assert sent == list(range(count))
            assert read == list(range(count))

    run(main())


def test_each_message_goes_to_one_of_several_readers(real_driver: MediaDriver) -> None:
    async def main() -> None:
        async with ends(real_driver) as (publication, subscription):
            got: list[list[int]] = [[], [], []]

            async def read(into: list[int]) -> None:
                async for message in subscription:
                    into.append(struct.unpack_from("<q", message)[0])
                    await asyncio.sleep(0)

            readers = [asyncio.ensure_future(read(into)) for into in got]
            for value in range(300):
                await publication.send(number(value), timeout_s=10)
            async with asyncio.timeout(10):
                while sum(map(len, got)) < 300:
                    await asyncio.sleep(0.001)
            await subscription.close()
            await asyncio.gather(*readers)
            assert sorted(value for into in got for value in into) == list(range(300))
            assert all(into == sorted(into) for into in got)

    run(main())


def test_many_streams_share_one_loop_and_one_watcher(real_driver: MediaDriver) -> None:
    streams, count = 50, 40

    async def main() -> None:
        async with aio.connect(real_driver.aeron_dir) as aeron, contextlib.AsyncExitStack() as stack:
            subscriptions = [await stack.enter_async_context(aeron.add_subscription(IPC, 100 + stream)) for stream in range(streams)]
            publications = [await stack.enter_async_context(aeron.add_publication(IPC, 100 + stream)) for stream in range(streams)]

            async def send(publication: aio.AsyncPublication) -> None:
                for value in range(count):
                    await publication.send(number(value), timeout_s=10)
                    if value % 10 == 0:
                        await asyncio.sleep(0.001)

            async with asyncio.TaskGroup() as group:
                reading = [group.create_task(take(subscription, count)) for subscription in subscriptions]
                for publication in publications:
                    group.create_task(send(publication))
            assert all(task.result() == list(range(count)) for task in reading)

    run(main())


def test_a_connection_that_goes_and_comes_is_seen(real_driver: MediaDriver) -> None:
    async def main() -> None:
        async with aio.connect(real_driver.aeron_dir) as aeron, aeron.add_publication(IPC, 10) as publication:
            for _ in range(2):
                subscription = await aeron.add_subscription(IPC, 10)
                await publication.connected(timeout_s=5)
                gone = asyncio.ensure_future(publication.disconnected())
                await asyncio.sleep(0.005)
                assert not gone.done()
                await subscription.close()
                await asyncio.wait_for(gone, 5)
                back = asyncio.ensure_future(publication.connected())
                await asyncio.sleep(0.005)
                assert not back.done()
                back.cancel()

    run(main())


def test_a_counter_tells_of_its_changes(real_driver: MediaDriver) -> None:
    async def main() -> None:
        async with aio.connect(real_driver.aeron_dir) as aeron, aeron.add_counter(1001, "mine") as counter:
            from_zero = asyncio.ensure_future(counter.changed(0))
            await asyncio.sleep(0.005)
            counter.increment()
            from_one = asyncio.ensure_future(counter.changed(1))
            assert await asyncio.wait_for(from_zero, 5) in (1, 2)
            counter.value = 2
            assert await asyncio.wait_for(from_one, 5) == 2
            assert counter.get_and_add(3) == 2
            assert await counter.changed(2) == 5

    run(main())


def test_destinations_come_and_go(real_driver: MediaDriver) -> None:
    endpoints = [f"aeron:udp?endpoint=127.0.0.1:{free_port()}" for _ in range(2)]

    async def main() -> None:
        async with (
            aio.connect(real_driver.aeron_dir) as aeron,
            aeron.add_subscription("aeron:udp?control-mode=manual", 30) as subscription,
            aeron.add_publication("aeron:udp?control-mode=manual", 30) as publication,
        ):
            for channel in endpoints:
                await subscription.add_destination(channel)
                registration_id = await publication.add_destination(channel)
                await publication.connected(timeout_s=5)
                await publication.send(channel.encode(), timeout_s=5)
                async with asyncio.timeout(5):
                    assert (await subscription.receive()).payload == channel.encode()
                await publication.remove_destination(registration_id)
                await subscription.remove_destination(channel)
            assert await aeron.next_session_id(30) != publication.session_id
            async with aeron.add_static_counter(1001, "stays", registration_id=77) as counter:
                counter.value = 5
            async with aeron.add_static_counter(1001, "stays", registration_id=77) as counter:
                assert counter.value == 5

    run(main())


def test_what_no_waiting_helps_against_is_raised_at_once(real_driver: MediaDriver) -> None:
    last = f"aeron:ipc?term-length={TERM}|init-term-id=0|term-id=2147483647|term-offset={TERM - 128}"

    async def main() -> None:
        async with aio.connect(real_driver.aeron_dir) as aeron:
            async with aeron.add_subscription(IPC, 10), aeron.add_publication(IPC, 10) as publication:
                with pytest.raises(MessageTooLongError):
                    await publication.send(bytes(publication.max_message_length + 1))
            async with aeron.add_subscription(last, 20), aeron.add_exclusive_publication(last, 20) as publication:
                await publication.send(bytes(32), timeout_s=5)
                await publication.send(bytes(32), timeout_s=5)
                with pytest.raises(MaxPositionExceededError, match="the stream is at its last position"):
                    await publication.send(bytes(32), timeout_s=5)

    run(main())
