"""How a client ends by itself: what the keepalive found, as the error that every later call raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.errors import AerowireError, ClientTimeoutError, DriverShutdownError, DriverTimeoutError
from aerowire.client.conductor import keepalive

if TYPE_CHECKING:
    from aerowire.client.context import ConcludedContext


def end_of_client(watch: keepalive.KeepaliveAgent, context: ConcludedContext, client_id: int) -> AerowireError | None:
    """Return why the client has ended; None while it lives."""
    found = watch.liveness
    where = context.aeron_dir
    if found == keepalive.OK:
        return None
    if found == keepalive.DRIVER_SHUTDOWN:
        return DriverShutdownError("the media driver has shut down", where=where, hint="start it and connect again")
    if found == keepalive.DRIVER_TIMEOUT:
        return DriverTimeoutError(
            "the media driver is gone",
            where=where,
            expected=f"a heartbeat at most {context.driver_timeout_ns // 1_000_000} ms old",
            actual=f"{watch.heartbeat_age_ms} ms",
            hint="it was killed, or stands still; start it and connect again",
        )
    if found == keepalive.HEARTBEAT_LOST:
        return ClientTimeoutError(
            "the driver freed this client's heartbeat counter: it counts as dead",
            where=where,
            expected=f"counter {watch.heartbeat_counter_id} in use for client {client_id}",
            hint="the process stood still for longer than the driver's client liveness timeout; connect again",
        )
    return ClientTimeoutError(
        "the client stood still for longer than the driver waits",
        where=where,
        expected="a cycle within the client liveness timeout",
        actual=f"{watch.service_gap_ns / 1e9:.3f} s",
        hint="the process was stopped, or the machine suspended; connect again",
    )


def dropped_by_driver(context: ConcludedContext) -> ClientTimeoutError:
    """Return the error for a client that the driver has said it gave up."""
    return ClientTimeoutError(
        "the driver dropped this client",
        where=context.aeron_dir,
        expected="a heartbeat within the driver's client liveness timeout",
        hint="the process stood still for longer, or the machine was suspended; connect again",
    )


def driver_replaced(context: ConcludedContext) -> DriverTimeoutError:
    """Return the error for a driver whose directory another one has taken over."""
    return DriverTimeoutError(
        "the media driver is gone: another one has taken its directory",
        where=context.aeron_dir,
        expected="the driver that this client connected to",
        hint="connect again",
    )
