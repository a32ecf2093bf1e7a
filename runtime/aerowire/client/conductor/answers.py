"""Waiting for the driver's answer to a command: the blocking form of every operation of the client."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from aerowire.base import arguments
from aerowire.base.errors import DriverTimeoutError
from aerowire.client.handles.waiting import wait_for

if TYPE_CHECKING:
    from aerowire.client.context import ConcludedContext
    from aerowire.client.handles.waiting import Pending

T = TypeVar("T")

# Answers come within a driver's idle sleep, about a millisecond; a longer sleep only makes set-up slow.
ANSWER_SLEEP_MAX_S = 1e-3


def wait_for_answer(
    pending: Pending[T], timeout_ns: int | str | None, context: ConcludedContext, *, poll: Callable[[], bool], is_open: Callable[[], bool]
) -> T:
    """Call `poll` until it is true, at most `timeout_ns` (None: the driver timeout), and return the answer.

    Raises DriverTimeoutError when there is none in time; a signal gives the command up. `is_open` says whether the client still is.
    """
    try:
        limit_ns = context.driver_timeout_ns if timeout_ns is None else arguments.duration_ns("timeout_ns", timeout_ns)
        idle = context.awaiting_idle_strategy
        if not wait_for(poll, limit_ns, sleep_max_s=ANSWER_SLEEP_MAX_S, idle=idle, waiting=context.ports.waiting):
            raise DriverTimeoutError(
                f"no answer to: {pending.what}",
                where=context.aeron_dir,
                expected=f"an answer within {limit_ns / 1e9:g} s",
                hint="the driver is alive but busy or stuck" if is_open() else None,
            )
    except BaseException:
        pending.abandon()
        raise
    return pending.result()
