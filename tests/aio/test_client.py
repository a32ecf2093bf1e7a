"""Connecting, adding and ending in a loop, on a driver made of shared memory."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from aerowire import aio
from aerowire.base.errors import (
    ClientTimeoutError,
    ClosedError,
    ConfigurationError,
    DriverDirectoryMissingError,
    DriverTimeoutError,
    NotConnectedError,
    RegistrationError,
    WrongTypeError,
)
from aerowire.client.conductor.driver_events_adapter import MESSAGE_LIMIT
from aerowire.codecs.flyweights.commands import CommandType
from tests.aio.conftest import FakeDriver, run
from tests.support.waiting import no_longer_than, wait_until

IPC = "aeron:ipc"


@pytest.fixture
def background(driver: FakeDriver) -> Any:
    with driver.background():
        yield driver


def kinds(driver: FakeDriver) -> list[CommandType]:
    return [kind for kind, _ in driver.commands]


def test_opens_with_async_with_and_closes_at_the_end(background: FakeDriver) -> None:
    async def main() -> None:
        async with aio.connect(background.directory) as aeron:
            async with (
                aeron.add_subscription(IPC, 10) as subscription,
                aeron.add_publication(IPC, 10) as publication,
                aeron.add_exclusive_publication(IPC, 11) as exclusive,
                aeron.add_counter(1001, "mine") as counter,
            ):
                assert (publication.stream_id, exclusive.stream_id, subscription.stream_id) == (10, 11, 10)
                assert counter.value == 0
            assert publication.is_closed
            assert subscription.is_closed
            assert counter.is_closed
        assert aeron.is_closed

    run(main())
    asked = set(kinds(background))
    assert {CommandType.REMOVE_PUBLICATION, CommandType.REMOVE_SUBSCRIPTION, CommandType.REMOVE_COUNTER, CommandType.CLIENT_CLOSE} <= asked


def test_each_agent_tells_on_its_own_thread_that_it_starts(background: FakeDriver) -> None:
    started: list[tuple[str, str]] = []

    async def main() -> None:
        async with (
            aio.connect(background.directory, agent_on_start=lambda name: started.append((name, threading.current_thread().name))) as aeron,
            aeron.add_publication(IPC, 10),
        ):
            pass

    run(main())
    assert sorted(started) == [(name, name) for name in ("aeron-aio-watcher", "aeron-client-conductor", "aeron-client-keepalive")]


def test_opens_by_await_too(background: FakeDriver) -> None:
    async def main() -> None:
        aeron = await aio.connect(background.directory)
        publication = await aeron.add_publication(IPC, 10)
        await aeron.close()
        assert publication.is_closed
        await aeron.close()

    run(main())


def test_many_are_added_at_once(background: FakeDriver) -> None:
    async def main() -> None:
        async with aio.connect(background.directory) as aeron:
            added = await asyncio.gather(*(_added(aeron, stream) for stream in range(40)))
            assert [publication.stream_id for publication in added] == list(range(40))

    async def _added(aeron: aio.AsyncAeron, stream: int) -> aio.AsyncPublication:
        return await aeron.add_publication(IPC, stream)

    run(main())


def test_a_refusal_is_raised_with_the_drivers_code(background: FakeDriver) -> None:
    async def main() -> None:
        async with aio.connect(background.directory) as aeron:
            with pytest.raises(RegistrationError, match="refused by the fake driver"):
                await aeron.add_publication("aeron:ipc?alias=refuse", 10)

    run(main())


def test_a_driver_that_does_not_answer_is_waited_for_only_so_long(background: FakeDriver) -> None:
    async def main() -> None:
        async with aio.connect(background.directory) as aeron:
            background.is_deaf = True
            with pytest.raises(DriverTimeoutError, match="no answer to: add publication"):
                await aeron.add_publication(IPC, 10, timeout_s=0.05)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await aeron.add_subscription(IPC, 10)
            background.is_deaf = False
            # What was given up is taken back as soon as the driver has made it.
            async with asyncio.timeout(5):
                while CommandType.REMOVE_PUBLICATION not in kinds(background):
                    await asyncio.sleep(0.002)
            assert kinds(background).count(CommandType.REMOVE_SUBSCRIPTION) == 1

    run(main())


def test_a_client_that_is_invoked_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="cannot be invoked"):
        aio.connect("/nowhere", use_conductor_agent_invoker=True)


def test_connecting_raises_what_the_client_raises(aeron_dir: Path) -> None:
    async def main() -> None:
        with pytest.raises(DriverDirectoryMissingError):
            await aio.connect(aeron_dir / "none", driver_timeout_ns=20_000_000)

    run(main())


def test_a_cancelled_connect_leaves_the_loop_at_once_and_no_client_behind(aeron_dir: Path) -> None:
    async def main() -> None:
        with no_longer_than(3.5, "the loop has waited for the driver"), pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await aio.connect(aeron_dir, driver_timeout_ns=4_000_000_000)
        driver = FakeDriver(aeron_dir)  # now it comes: the thread that nobody waits for connects, and takes its leave
        with driver.background():
            async with asyncio.timeout(5):
                while CommandType.CLIENT_CLOSE not in kinds(driver):
                    await asyncio.sleep(0.005)

    run(main())


def test_the_death_of_the_driver_reaches_everyone_who_waits(background: FakeDriver) -> None:
    errors: list[BaseException] = []

    async def main() -> None:
        async with aio.connect(background.directory, driver_timeout_ns=100_000_000, error_handler=errors.append) as aeron:
            subscription = await aeron.add_subscription(IPC, 10)
            other = await aeron.add_subscription(IPC, 12)
            publication = await aeron.add_publication(IPC, 11)
            counter = await aeron.add_counter(1001, "mine")

            async def iterate() -> None:
                async for _ in subscription:
                    pass

            async def batches() -> None:
                async for _ in other.batches():
                    pass

            waiters = [
                asyncio.ensure_future(waiter)
                for waiter in (
                    iterate(),
                    batches(),
                    subscription.receive(),
                    subscription.connected(),
                    subscription.closed(),
                    publication.send(b"x"),
                    publication.send(b"y"),
                    publication.send_many([b"z"]),
                    publication.connected(),
                    publication.closed(),
                    counter.changed(0),
                    aeron.closed(),
                )
            ]
            await asyncio.sleep(0.02)
            background.is_dead = True
            async with asyncio.timeout(5):
                results = await asyncio.gather(*waiters, return_exceptions=True)
            assert [type(result) for result in results] == [DriverTimeoutError] * len(waiters)
            with pytest.raises(DriverTimeoutError):
                await aeron.add_publication(IPC, 12)
            assert [type(error) for error in errors] == [DriverTimeoutError]

    run(main())


def test_a_client_that_the_driver_drops_hears_of_it(background: FakeDriver, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with aio.connect(background.directory) as aeron:
            subscription = await aeron.add_subscription(IPC, 10)
            waiting = asyncio.ensure_future(subscription.receive())
            await asyncio.sleep(0.01)
            background.give_up(aeron.client_id)
            with pytest.raises(ClientTimeoutError):
                await waiting
            with pytest.raises(ClientTimeoutError):
                await aeron.closed()

    run(main())
    assert "the driver dropped this client" in caplog.text


def test_closing_ends_everyone_who_waits(background: FakeDriver) -> None:
    async def main() -> None:
        aeron = await aio.connect(background.directory)
        subscription = await aeron.add_subscription(IPC, 10)
        publication = await aeron.add_publication(IPC, 11)

        async def iterate() -> list[aio.Message]:
            return [message async for message in subscription]

        tasks = [asyncio.ensure_future(t) for t in (iterate(), subscription.receive(), publication.send(b"x"), aeron.closed())]
        await asyncio.sleep(0.01)
        await aeron.close()
        got = await asyncio.gather(*tasks, return_exceptions=True)
        assert got[0] == []
        assert isinstance(got[1], ClosedError)
        assert isinstance(got[2], ClosedError)
        assert got[3] is None
        with pytest.raises(ClosedError):
            await aeron.add_publication(IPC, 1)

    run(main())


def test_a_close_that_is_cancelled_ends_everyone_who_waits_all_the_same(background: FakeDriver) -> None:
    async def main() -> None:
        aeron = await aio.connect(background.directory)
        subscription = await aeron.add_subscription(IPC, 10)
        task = asyncio.ensure_future(subscription.receive())
        ended = asyncio.ensure_future(aeron.closed())
        await asyncio.sleep(0.01)
        with aeron.client._conductor._lock:  # the close is not done before the task has looked
            closing = asyncio.ensure_future(aeron.close())
            await asyncio.sleep(0.01)
            closing.cancel()
            await asyncio.wait([closing])
            await asyncio.sleep(0.01)
        async with asyncio.timeout(10):
            await ended
            with pytest.raises(ClosedError):
                await task

    run(main())


def test_what_comes_as_its_caller_is_cancelled_is_given_back(background: FakeDriver) -> None:
    async def main() -> None:
        async with aio.connect(background.directory) as aeron:
            background.is_deaf = True
            pending = aeron.client.async_add_publication(IPC, 10)
            task = asyncio.ensure_future(aeron.wait(pending))
            await asyncio.sleep(0)
            background.is_deaf = False
            wait_until(pending.poll, "no answer")  # another task's look finds the answer
            publication = pending.result()
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
            assert publication.is_closed

    run(main())


def test_an_answer_behind_many_of_other_clients_is_heard(background: FakeDriver) -> None:
    """More than is handled in one go: what is left must not wait until the driver says something else."""

    async def main() -> None:
        async with aio.connect(background.directory) as aeron:
            with aeron.client._conductor._lock:
                background.is_deaf = True
                for other in range(10 * MESSAGE_LIMIT):
                    background.success(-other)
                pending = aeron.client.async_add_publication(IPC, 10)
                background.is_deaf = False
                wait_until(lambda: CommandType.ADD_PUBLICATION in kinds(background) and background.streams, "the command does not arrive")
            publication = await aeron.wait(pending, timeout_s=5)
            assert publication.stream_id == 10

    run(main())


def test_only_what_was_started_is_waited_for(background: FakeDriver) -> None:
    async def main() -> None:
        async with aio.connect(background.directory) as aeron:
            with pytest.raises(WrongTypeError, match=r"pending has the wrong type; .*got 5 \(int\)"):
                await aeron.wait(5)  # type: ignore[arg-type]

    run(main())


def test_closing_one_subscription_ends_its_iteration_only(background: FakeDriver) -> None:
    async def main() -> None:
        async with aio.connect(background.directory) as aeron:
            one, other = await aeron.add_subscription(IPC, 10), await aeron.add_subscription(IPC, 11)
            ends = [asyncio.ensure_future(subscription.closed()) for subscription in (one, other)]
            await asyncio.sleep(0.01)
            await one.close()
            await asyncio.wait_for(ends[0], 1)
            assert not ends[1].done()
            ends[1].cancel()

    run(main())


def test_handlers_are_called_in_the_loop(background: FakeDriver) -> None:
    seen: list[tuple[str, int]] = []

    async def main() -> None:
        import threading

        def note(what: str) -> Any:
            return lambda *_: seen.append((what, threading.get_ident()))

        async with aio.connect(background.directory, close_handler=note("close"), available_counter_handler=note("counter")) as aeron:
            subscription = await aeron.add_subscription(
                IPC, 10, available_image_handler=note("image"), unavailable_image_handler=note("gone")
            )
            publication = await aeron.add_publication(IPC, 10)
            await subscription.connected(timeout_s=5)
            await aeron.add_counter(1001, "mine")
            await publication.close()
            background.drop_images(background.streams[0])
            async with asyncio.timeout(5):
                while "gone" not in [what for what, _ in seen]:
                    await asyncio.sleep(0.002)
        await asyncio.sleep(0)
        assert {what for what, _ in seen} == {"close", "counter", "image", "gone"}
        assert {ident for _, ident in seen} == {threading.get_ident()}

    run(main())


def test_the_watches_of_what_is_closed_are_given_back(background: FakeDriver) -> None:
    async def main() -> None:
        async with aio.connect(background.directory) as aeron:
            watcher = aeron._watching.watcher
            before = watcher.watch_count
            for _ in range(5):
                async with aeron.add_subscription(IPC, 10) as subscription, aeron.add_publication(IPC, 10) as publication:
                    await publication.send(b"x", timeout_s=5)
                    assert (await subscription.receive()).payload == b"x"
                    assert watcher.watch_count > before
            async with asyncio.timeout(5):
                while watcher.watch_count > before:
                    await asyncio.sleep(0.02)

    run(main())


def test_a_send_without_a_subscriber_raises_in_time(background: FakeDriver) -> None:
    async def main() -> None:
        async with aio.connect(background.directory) as aeron, aeron.add_publication(IPC, 10) as publication:
            with pytest.raises(NotConnectedError, match=r"no subscriber.*one within 0.02 s"):
                await publication.send(b"x", timeout_s=0.02)
            with pytest.raises(NotConnectedError):
                await publication.send_many([b"x"], timeout_s=0.02)
            with pytest.raises(NotConnectedError):
                await publication.connected(timeout_s=0.02)
            assert publication.position == 0

    run(main())


def test_a_loop_that_ends_without_closing_does_no_harm(background: FakeDriver) -> None:
    kept: list[aio.AsyncAeron] = []

    async def main() -> None:
        kept.append(await aio.connect(background.directory))

    run(main())
    assert not kept[0].client.is_closed
    kept[0]._close_client()
    assert kept[0].client.is_closed


def test_a_forked_child_is_told(background: FakeDriver) -> None:
    async def main() -> None:
        async with aio.connect(background.directory) as aeron, aeron.add_publication(IPC, 10) as publication:
            child = os.fork()
            if child == 0:
                try:
                    publication.offer(b"x")
                except BaseException as error:
                    os._exit(7 if type(error).__name__ == "ForkedProcessError" else 8)
                os._exit(9)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7

    run(main())
