"""The common part of connecting to an archive and to a cluster: the client of the driver, the deadline, the last problem."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeVar

from aerowire.archive.client.steps import Steps
from aerowire.archive.client.waiting import run_invokers
from aerowire.base.errors import AerowireError, RegistrationError
from aerowire.client.aeron import Aeron
from aerowire.codecs.tables.errors import ErrorCode

if TYPE_CHECKING:
    from aerowire.archive.client.client_options import ConcludedClientOptions
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.subscriptions.subscription import Subscription

T = TypeVar("T")
R = TypeVar("R")


class Connecting(Steps[T]):
    """Base of a connection under way: connects a client of the driver unless the options have one, and fails after `message_timeout_ns`.

    `problem` is the last error that the connection has got over.
    """

    __slots__ = ("_aeron", "_deadline_ns", "_options", "_timeout_error", "problem")

    def __init__(
        self,
        what: str,
        steps: Callable[[Aeron, ExitStack], Generator[Pending[Any] | None, Any, T]],
        options: ConcludedClientOptions,
        *,
        default_name: str,
        timed_out: Callable[[], AerowireError],
    ) -> None:
        """`steps(aeron, opened)` are those of the subclass; unless they succeed, what they register with `opened` is closed.

        `default_name` is the name of a client without one; `timed_out` makes the error of a connection that has taken too long.
        """
        super().__init__(what, self._connect(steps, default_name), self._look_at_time)
        self.problem: AerowireError | None = None
        self._options = options
        self._aeron = options.aeron
        self._timeout_error = timed_out
        self._deadline_ns = self.now_ns() + options.message_timeout_ns

    @property
    def deadline_ns(self) -> int:
        """When (ns of the client's clock) the connection fails."""
        return self._deadline_ns

    def now_ns(self) -> int:
        """Return the time by that clock."""
        clock = self._options.ports.clock if self._aeron is None else self._aeron.context.clock
        return clock.now_ns()

    def _connect(
        self, steps: Callable[[Aeron, ExitStack], Generator[Pending[Any] | None, Any, T]], default_name: str
    ) -> Generator[Pending[Any] | None, Any, T]:
        with ExitStack() as opened:
            if self._aeron is None:
                self._aeron = yield from self._connect_client(default_name)
                opened.callback(self._aeron.close)
            result = yield from steps(self._aeron, opened)
            opened.pop_all()
            return result

    def _connect_client(self, default_name: str) -> Generator[Pending[Any] | None, Any, Aeron]:
        options = self._options
        connecting = Aeron.async_connect(
            options.aeron_dir,
            client_name=options.client_name or default_name,
            properties=options.properties,
            environ=options.environ,
            ports=options.ports,
        )
        try:
            while not connecting.poll():
                self.problem = connecting.problem
                yield None
        except BaseException:
            connecting.abandon()
            raise
        self.problem = None
        return connecting.result()

    def _look_at_time(self) -> None:
        if self.now_ns() >= self._deadline_ns:
            self.interrupt(self._timeout_error())
        elif self._aeron is not None:
            run_invokers(self._options, self._aeron)


def add(connecting: Connecting[Any], start: Callable[[], Pending[R]]) -> Generator[Pending[Any] | None, Any, R]:
    """Have the driver add a stream. A temporary refusal is kept as the problem of the connection, and followed by another attempt."""
    while True:
        try:
            added: R = yield start()
            return added
        except RegistrationError as error:
            if error.error_code != ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE:
                raise
            connecting.problem = error
            yield None


def resolved_channel(subscription: Subscription) -> Generator[Pending[Any] | None, Any, str]:
    """Return the channel of a subscription once its port is known."""
    while (channel := subscription.try_resolve_channel_endpoint_port()) is None:
        yield None
    return channel
