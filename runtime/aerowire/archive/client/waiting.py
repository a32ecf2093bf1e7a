"""Waiting of a client of an archive or a cluster, which meanwhile invokes components without threads of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from aerowire.client.handles.waiting import Pending, wait_for

if TYPE_CHECKING:
    from aerowire.archive.client.client_options import ConcludedClientOptions
    from aerowire.client.aeron import Aeron
    from aerowire.client.context import Invoker

T = TypeVar("T")


def invokers(options: ConcludedClientOptions, aeron: Aeron) -> tuple[Invoker, ...]:
    """Return the invokers of an archive, a driver and a client that have no threads of their own."""
    found = (options.agent_invoker, aeron.context.driver_agent_invoker, aeron.conductor_agent_invoker)
    return tuple(invoker for invoker in found if invoker is not None)


def run_invokers(options: ConcludedClientOptions, aeron: Aeron) -> None:
    """Invoke each of them once."""
    for invoker in invokers(options, aeron):
        invoker.invoke()


def wait_for_result(pending: Pending[T], options: ConcludedClientOptions, *, progress: Callable[[], int] = lambda: 0) -> T:
    """Poll until an operation is done, and return its result; a signal gives it up.

    Between polls the idle strategy idles, unless what `progress` returns has grown: there may be more to read.
    """
    strategy, seen = options.idle_strategy, progress()
    strategy.start_over()

    def idle(_work: int) -> None:
        nonlocal seen
        before, seen = seen, progress()
        strategy(seen - before)

    try:
        wait_for(pending.poll, None, idle=idle, waiting=options.ports.waiting)
    except BaseException:
        pending.abandon()
        raise
    return pending.result()
