"""A client of an event loop that opens one session with a cluster after another, with scripted members in threads on a real driver."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from aerowire import aio
from aerowire.aio.reconnecting_cluster import AsyncReconnectingCluster, reconnecting_cluster
from aerowire.base.errors import ClosedError, ClusterAuthenticationError, ClusterTimeoutError
from aerowire.cluster import InDoubt
from aerowire.codecs.flyweights.cluster.enums import EventCode
from aerowire.driver import MediaDriver
from tests.support.live_host import LiveHost
from tests.support.scripted.cluster import SESSION_ID, TERM_ID, ScriptedMember, message, session_event

InLoop = Callable[[Coroutine[Any, Any, Any]], Any]
INGRESS, EGRESS = "aeron:ipc?alias=reconnecting-ingress", "aeron:ipc?alias=reconnecting-egress"
CHANNELS: dict[str, Any] = {"ingress_channel": INGRESS, "egress_channel": EGRESS, "environ": {}}


def run(in_loop: InLoop, driver: MediaDriver, test: Callable[[AsyncReconnectingCluster], Coroutine[Any, Any, Any]], **options: Any) -> None:
    async def started() -> None:
        async with aio.connect(driver.aeron_dir, environ={}) as aeron, reconnecting_cluster(aeron, **CHANNELS, **options) as cluster:
            await test(cluster)

    in_loop(started())


def echoing(host: LiveHost, **session: Any) -> ScriptedMember:
    """Return a member that answers each message with itself."""
    member = ScriptedMember(host, INGRESS)
    member.answers["SessionConnectRequest"] = lambda request: [session_event(request, **session)]
    member.answers["SessionMessageHeader"] = lambda header: [message(member.messages[-1], session_id=header.cluster_session_id)]
    return member


def test_requests_and_answers_go_on_in_another_session(real_driver: MediaDriver, in_loop: InLoop) -> None:
    doubts: list[tuple[InDoubt, ...]] = []

    async def test(cluster: AsyncReconnectingCluster) -> None:
        with LiveHost(real_driver.aeron_dir) as host:
            member = echoing(host)
            await cluster.connected()
            await cluster.request("a", b"first")
            assert (await cluster.receive()).payload == b"first"
            assert cluster.answered("a")
            member.answers.clear()
            await cluster.request("b", b"unanswered")
        while cluster.is_connected:
            await asyncio.sleep(0.01)
        with pytest.raises(ClusterTimeoutError):
            await cluster.request("c", b"too early", timeout_s=0.05)
        sending = asyncio.ensure_future(cluster.request("c", b"second"))
        with LiveHost(real_driver.aeron_dir) as host:
            echoing(host, cluster_session_id=99, leadership_term_id=TERM_ID + 1)
            assert await sending > 0
            assert (await cluster.receive()).payload == b"second"
            assert cluster.answered("c")
        assert doubts == [cluster.in_doubt] == [(InDoubt("b", SESSION_ID, TERM_ID),)]

    run(in_loop, real_driver, test, on_in_doubt=doubts.append, new_leader_timeout_ns="200ms", reconnect_delay_ns="10ms")


def test_rejected_credentials_end_every_wait(real_driver: MediaDriver, in_loop: InLoop) -> None:
    async def test(cluster: AsyncReconnectingCluster) -> None:
        with LiveHost(real_driver.aeron_dir) as host:
            echoing(host, code=EventCode.AUTHENTICATION_REJECTED)
            for wait in (cluster.connected(), cluster.receive(), cluster.request("a", b"x"), cluster.closed()):
                with pytest.raises(ClusterAuthenticationError):
                    await wait
        assert cluster.is_closed

    run(in_loop, real_driver, test)


def test_closed_here_it_says_so(real_driver: MediaDriver, in_loop: InLoop) -> None:
    async def test(cluster: AsyncReconnectingCluster) -> None:
        waits = [asyncio.ensure_future(wait) for wait in (cluster.connected(), cluster.receive(), cluster.request("a", b"x"))]
        await asyncio.sleep(0)
        await cluster.close()
        for wait in waits:
            with pytest.raises(ClosedError, match="the client of the cluster is closed"):
                await wait
        await cluster.closed()

    run(in_loop, real_driver, test)
