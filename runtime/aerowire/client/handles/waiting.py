"""The one blocking helper, and the handle of an operation that has been started and not yet answered.

Every operation of the client is start, poll, result; the blocking form is `wait_for` around `poll`. Nothing here knows what is waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from aerowire.system.waiting import SystemWaiting, WaitPort

T = TypeVar("T")

SLEEP_MIN_S = 20e-6
# A signal is noticed when a sleep ends: Python's limit for "Ctrl-C works" in this project is 50 ms.
SLEEP_MAX_S = 50e-3
STEP_SLEEP_MAX_S = 1e-3  # between the steps of what takes several of them, such as the launch of an archive


def wait_for(
    poll: Callable[[], bool],
    timeout_ns: int | None,
    *,
    sleep_max_s: float = SLEEP_MAX_S,
    idle: Callable[[int], None] | None = None,
    waiting: WaitPort | None = None,
) -> bool:
    """Call `poll` until it returns true or `timeout_ns` (None: for ever) is over; return what it returned last.

    Between calls the thread sleeps without the interpreter lock, from 20 us doubling up to `sleep_max_s`, so that
    signal handlers run and other threads go on; or it calls `idle(0)`, an idle strategy, if there is one.
    `waiting` is the port to sleep by; None: the operating system's. What `poll` or a signal handler raises goes to the caller.
    """
    waiting = SystemWaiting() if waiting is None else waiting
    deadline_ns = None if timeout_ns is None else waiting.now_ns() + timeout_ns
    sleep_s = SLEEP_MIN_S
    while not poll():
        if deadline_ns is not None and waiting.now_ns() >= deadline_ns:
            return poll()
        if idle is not None:
            idle(0)
            continue
        waiting.sleep(round(sleep_s * 1e9))
        sleep_s = min(sleep_s * 2, sleep_max_s, SLEEP_MAX_S)
    return True


class Pending(Generic[T]):
    """A command that was sent to the driver and is not answered yet.

    Changed by the conductor only, under its lock. Invariant: once `is_done`, exactly one of value and error is set for good.
    """

    __slots__ = ("_cancel", "_error", "_is_done", "_service", "_value", "correlation_id", "what")

    def __init__(self, correlation_id: int, what: str, service: Callable[[], object], cancel: Callable[[Pending[T]], None]) -> None:
        self.correlation_id = correlation_id
        self.what = what
        self._service = service
        self._cancel = cancel
        self._is_done = False
        self._value: T | None = None
        self._error: BaseException | None = None

    @property
    def registration_id(self) -> int:
        """Id by which the driver knows what this adds; that of the command itself."""
        return self.correlation_id

    @property
    def is_fulfilled(self) -> bool:
        """Whether the driver has answered, and well."""
        return self._is_done and self._error is None

    @property
    def is_done(self) -> bool:
        """Whether the driver has answered, well or badly; does not look for an answer."""
        return self._is_done

    def poll(self) -> bool:
        """Look for the driver's answer without waiting; return whether there is one. Raises when the client has ended."""
        if not self._is_done:
            self._service()
        return self._is_done

    def result(self) -> T:
        """Return the resource, or raise what the driver refused it with. Raises RuntimeError while there is no answer."""
        if not self._is_done:
            raise RuntimeError(f"{self.what} has no answer yet: poll() until it returns True")
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]

    def cancel(self) -> None:
        """Give the operation up: what the driver still makes for it is removed at once. Nothing if it is done."""
        if not self._is_done:
            self._cancel(self)

    def abandon(self) -> None:
        """As `cancel`, and close what the driver has made for it already: for who waited, and will never take the result."""
        self.cancel()
        if self.is_fulfilled and (close := getattr(self._value, "close", None)) is not None:
            close()

    def complete(self, value: T) -> None:
        """Conductor: the driver answered with `value`."""
        self._value = value
        self._is_done = True

    def fail(self, error: BaseException) -> None:
        """Conductor: the driver refused, or the client ended."""
        self._error = error
        self._is_done = True

    def __repr__(self) -> str:
        return f"Pending({self.what}, correlation_id={self.correlation_id}, is_done={self._is_done})"


def wait_for_result(
    pending: Pending[T], waiting: WaitPort, *, sleep_max_s: float = STEP_SLEEP_MAX_S, idle: Callable[[int], None] | None = None
) -> T:
    """Wait as `wait_for` does until an operation is done, and return its result; a signal gives it up."""
    try:
        wait_for(pending.poll, None, sleep_max_s=sleep_max_s, idle=idle, waiting=waiting)
    except BaseException:
        pending.abandon()
        raise
    return pending.result()


def wait_for_close(start: Callable[[], Pending[None]], waiting: WaitPort, name: str) -> None:
    """Start to close a component, and wait until it is closed. Raises BlockingCallError in a simulated world, before it starts."""
    waiting.require(f"{name}.close", f"{name}.async_close")
    closing = start()
    wait_for(closing.poll, None, sleep_max_s=STEP_SLEEP_MAX_S, waiting=waiting)
    closing.result()
