"""The client of a cluster in an event loop, with a scripted member in a thread on a real driver."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from aerowire import aio
from aerowire.aio.cluster import AsyncAeronCluster, connect_cluster
from aerowire.aio.cluster_egress import MESSAGES_MAX, ClusterMessage
from aerowire.base.errors import ClosedError, ClusterConnectionError, ClusterError, ClusterTimeoutError, ConfigurationError
from aerowire.cluster import ClusterClientContext, EventListener
from aerowire.codecs.flyweights.cluster.enums import AdminRequestType, AdminResponseCode
from aerowire.codecs.flyweights.cluster.messages.admin_response import AdminResponse
from aerowire.driver import MediaDriver
from tests.support.live_host import LiveHost
from tests.support.scripted.cluster import SESSION_ID, ScriptedMember, closed, message, new_leader
from tests.support.waiting import wait_until

InLoop = Callable[[Coroutine[Any, Any, Any]], Any]
INGRESS, EGRESS = "aeron:ipc?alias=ingress-of-loop", "aeron:ipc?alias=egress-of-loop"
CHANNELS: dict[str, Any] = {"ingress_channel": INGRESS, "egress_channel": EGRESS, "environ": {}}


@pytest.fixture
def member(real_driver: MediaDriver) -> Iterator[ScriptedMember]:
    with LiveHost(real_driver.aeron_dir) as host:
        yield ScriptedMember(host, INGRESS)


def run(in_loop: InLoop, driver: MediaDriver, test: Callable[[AsyncAeronCluster], Coroutine[Any, Any, Any]], **options: Any) -> None:
    async def connected() -> None:
        async with aio.connect(driver.aeron_dir, environ={}) as aeron, connect_cluster(aeron, **CHANNELS, **options) as cluster:
            await test(cluster)

    in_loop(connected())


def test_sends_and_iterates(real_driver: MediaDriver, member: ScriptedMember, in_loop: InLoop) -> None:
    member.answers["SessionMessageHeader"] = lambda _: [message(member.messages[-1], timestamp=len(member.messages))]

    async def test(cluster: AsyncAeronCluster) -> None:
        await asyncio.gather(*(cluster.send(b"%d" % number) for number in range(20)))
        found = [await cluster.receive()]
        async for echo in cluster:
            found.append(echo)
            if len(found) == 20:
                break
        assert found == [ClusterMessage(b"%d" % number, number + 1) for number in range(20)]

    run(in_loop, real_driver, test)
    wait_until(lambda: member.names()[-1] == "SessionCloseRequest", "the end of the session")


def test_more_messages_than_are_kept_wait_in_the_stream(real_driver: MediaDriver, member: ScriptedMember, in_loop: InLoop) -> None:
    count = 2 * MESSAGES_MAX + 10

    async def test(cluster: AsyncAeronCluster) -> None:
        member.say(*(message(b"%d" % number) for number in range(count)))
        await asyncio.sleep(0.1)
        assert [(await cluster.receive()).payload for _ in range(count)] == [b"%d" % number for number in range(count)]

    run(in_loop, real_driver, test)


def test_keeps_the_session_alive(real_driver: MediaDriver, member: ScriptedMember, in_loop: InLoop) -> None:
    async def test(_cluster: AsyncAeronCluster) -> None:
        while member.names().count("SessionKeepAlive") < 3:
            await asyncio.sleep(0.01)

    run(in_loop, real_driver, test, keep_alive_interval_s=0.02)


def test_asks_for_a_snapshot(real_driver: MediaDriver, member: ScriptedMember, in_loop: InLoop) -> None:
    codes = iter([AdminResponseCode.OK, AdminResponseCode.UNAUTHORISED_ACCESS])
    member.answers["AdminRequest"] = lambda request: [
        AdminResponse(
            cluster_session_id=SESSION_ID,
            correlation_id=request.correlation_id,
            request_type=AdminRequestType.SNAPSHOT,
            response_code=next(codes),
            message="not you",
        )
    ]

    async def test(cluster: AsyncAeronCluster) -> None:
        await cluster.take_snapshot()
        with pytest.raises(ClusterError, match="the cluster refused to take a snapshot: not you"):
            await cluster.take_snapshot()

    run(in_loop, real_driver, test)


class Events(EventListener):
    def __init__(self) -> None:
        self.events: list[object] = []

    def on_session_event(self, event: object, /) -> None:
        self.events.append(event)

    on_new_leader = on_admin_response = on_session_event


def test_a_session_that_the_cluster_closes_ends_every_wait(real_driver: MediaDriver, member: ScriptedMember, in_loop: InLoop) -> None:
    events = Events()

    async def test(cluster: AsyncAeronCluster) -> None:
        waits = [asyncio.ensure_future(wait) for wait in (cluster.receive(), cluster.closed(), cluster.take_snapshot())]
        await asyncio.sleep(0)
        member.say(closed("SERVICE_ACTION"))
        for wait in waits:
            with pytest.raises(ClusterConnectionError, match="the cluster has closed the session: SERVICE_ACTION"):
                await wait
        with pytest.raises(ClusterConnectionError):
            await cluster.send(b"late")
        assert cluster.is_closed

    run(in_loop, real_driver, test, event_listener=events)
    assert len(events.events) == 1


def test_a_send_without_a_leader_waits_for_the_next_one(real_driver: MediaDriver, member: ScriptedMember, in_loop: InLoop) -> None:
    async def test(cluster: AsyncAeronCluster) -> None:
        member.subscription.close()
        while cluster.client.ingress_publication is None or cluster.client.ingress_publication.is_connected:
            await asyncio.sleep(0.01)
        with pytest.raises(ClusterTimeoutError, match="no room in the ingress, no leader, or no answer"):
            await cluster.send(b"too early", timeout_s=0.05)
        sending = asyncio.ensure_future(cluster.send(b"waited"))
        await asyncio.sleep(0.02)
        assert not sending.done()
        with LiveHost(real_driver.aeron_dir) as host:
            leader = ScriptedMember(host, INGRESS)
            leader.reach(EGRESS)
            leader.say(new_leader(1, ""))
            assert await sending > 0
            while leader.messages != [b"waited"]:
                await asyncio.sleep(0.01)
        assert cluster.client.leader_member_id == 1

    run(in_loop, real_driver, test)


@pytest.mark.usefixtures("member")
def test_closed_here_it_says_so(real_driver: MediaDriver, in_loop: InLoop) -> None:
    async def test(cluster: AsyncAeronCluster) -> None:
        waiting = asyncio.ensure_future(cluster.receive())
        await asyncio.sleep(0)
        await cluster.close()
        with pytest.raises(ClosedError, match="the client of the cluster is closed"):
            await waiting
        await cluster.closed()
        assert [found async for found in cluster] == []
        with pytest.raises(ClosedError):
            await cluster.send(b"late")

    run(in_loop, real_driver, test)


def test_a_cancelled_connection_leaves_nothing_open(real_driver: MediaDriver, member: ScriptedMember, in_loop: InLoop) -> None:
    member.answers.clear()

    async def test() -> None:
        async with aio.connect(real_driver.aeron_dir, environ={}) as aeron:
            task = asyncio.ensure_future(connect_cluster(aeron, **CHANNELS).__aenter__())
            while "SessionConnectRequest" not in member.names():
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while member.subscription.is_connected:
                await asyncio.sleep(0.01)

    in_loop(test())


def test_options_that_belong_to_the_loop_are_refused(real_driver: MediaDriver, in_loop: InLoop) -> None:
    async def test() -> None:
        async with aio.connect(real_driver.aeron_dir, environ={}) as aeron:
            with pytest.raises(ConfigurationError, match="expected no option 'aeron'"):
                connect_cluster(aeron, ClusterClientContext(aeron=aeron.client))
            with pytest.raises(ConfigurationError, match="expected no option 'egress_listener'"):
                connect_cluster(aeron, egress_listener=print, **CHANNELS)
            with pytest.raises(ConfigurationError, match="expected an EventListener"):
                connect_cluster(aeron, event_listener=print, **CHANNELS)  # type: ignore[arg-type]
            with pytest.raises(TypeError, match="either a context or options"):
                connect_cluster(aeron, ClusterClientContext(), **CHANNELS)

    in_loop(test())
