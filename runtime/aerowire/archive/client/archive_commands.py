"""What the operations of an archive have in common: their session, and the blocking form of each."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from aerowire.archive.client.requests import ArchiveRequest, ListingRequest
from aerowire.base import arguments, units

if TYPE_CHECKING:
    from aerowire.archive.client.archive_proxy import Message
    from aerowire.archive.client.control_session import ControlSession
    from aerowire.client.aeron import Aeron
    from aerowire.client.handles.waiting import Pending

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound="ArchiveCommands")

_START = "async_"
_WAITS = """

        Waits for the archive, `message_timeout_ns` for each answer. Raises ArchiveError when it refuses, ArchiveTimeoutError,
        ArchiveConnectionError, ClosedError, and BlockingCallError in a simulated world.
        """


def blocking(start: Callable[Concatenate[C, P], Pending[T]]) -> Callable[Concatenate[C, P], T]:
    """Return the form of an operation that waits for its result: `x` of `async_x`."""
    name = start.__name__.removeprefix(_START)

    def call(self: C, /, *args: P.args, **kwargs: P.kwargs) -> T:
        self._session.require_waiting(name)
        return self._session.wait(start(self, *args, **kwargs))

    update_wrapper(call, start)
    call.__name__ = name
    call.__qualname__ = call.__qualname__.replace(start.__name__, name)
    call.__doc__ = (start.__doc__ or "").rstrip() + _WAITS
    return call


class ArchiveCommands:
    """Operations of one control session. Any thread.

    Each is started by an `async_` method, which returns a Pending: `poll()` it until it returns true, then take its `result()`. Many may be
    in flight. The method of the same name without `async_` waits for the result.
    """

    def __init__(self, session: ControlSession) -> None:
        self._session = session

    @property
    def _aeron(self) -> Aeron:
        return self._session.aeron

    def _ask(
        self,
        kind: Callable[..., Message],
        what: str,
        answer: Callable[[int], T],
        refusals: Mapping[int, T] | None = None,
        **fields: Any,
    ) -> Pending[T]:
        """Send a request whose answer is one number, of which `answer` makes the result."""
        return self._session.ask(
            kind,
            lambda ticket: ArchiveRequest(what, ticket, answer, refusals),
            control_session_id=self._session.session_id,
            **fields,
        )

    def _list(self, kind: Callable[..., Message], what: str, listed: type[T], limit: int, **fields: Any) -> Pending[list[T]]:
        """Send a request whose answer are descriptors of a class, at most `limit`."""
        limit = arguments.whole_number("count", limit, 1, units.INT32_MAX)
        return self._session.ask(
            kind, lambda ticket: ListingRequest(what, ticket, listed, limit), control_session_id=self._session.session_id, **fields
        )

    def _steps(self, what: str, steps: Generator[Pending[Any] | None, Any, T]) -> Pending[T]:
        """Start an operation of several steps."""
        return self._session.steps(what, steps)


def number(relevant_id: int) -> int:
    """Return the relevant id of an answer as it is."""
    return relevant_id


def nothing(_relevant_id: int) -> None:
    """Return None, for an answer that only says that it was done."""


def done(_relevant_id: int) -> bool:
    """Return True, for an answer that only says that it was done."""
    return True


def truth(relevant_id: int) -> bool:
    """Return whether the relevant id of an answer is other than 0."""
    return relevant_id != 0
