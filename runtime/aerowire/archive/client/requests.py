"""Requests to an archive that are not answered yet: what becomes of each answer. Sans I/O: no clock, no publication.

Aeron: AeronArchive.pollForResponse, pollForResponseAllowingError, pollForDescriptors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from aerowire.archive.client.parameters import NULL_VALUE
from aerowire.base.errors import ArchiveError
from aerowire.client.handles.waiting import Pending
from aerowire.codecs.flyweights.archive.enums import ControlResponseCode
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode

if TYPE_CHECKING:
    from aerowire.codecs.flyweights.archive.messages.challenge import Challenge
    from aerowire.codecs.flyweights.archive.messages.control_response import ControlResponse

T = TypeVar("T")

_ENDS_OF_LISTINGS = (ControlResponseCode.RECORDING_UNKNOWN, ControlResponseCode.SUBSCRIPTION_UNKNOWN)


class Ticket(NamedTuple):
    """What a control session gives each of its requests: its numbers, its deadline, and the way back to the session."""

    correlation_id: int
    recording_id: int
    deadline_ns: int
    service: Callable[[], object]
    cancel: Callable[[Pending[Any]], None]


class ArchiveRequest(Pending[T]):
    """A request that waits for one ControlResponse. Changed by its control session only, under the session's lock.

    `answer` makes the result of the relevant id of an OK; `refusals` are results for error codes that are no errors of this request.
    """

    __slots__ = ("_answer", "_refusals", "deadline_ns", "recording_id")

    def __init__(self, what: str, ticket: Ticket, answer: Callable[[int], T], refusals: Mapping[int, T] | None = None) -> None:
        super().__init__(ticket.correlation_id, what, ticket.service, ticket.cancel)
        self.recording_id = ticket.recording_id
        self.deadline_ns = ticket.deadline_ns
        self._answer = answer
        self._refusals = refusals or {}

    def on_response(self, response: ControlResponse) -> None:
        """Take the archive's answer."""
        if response.code == ControlResponseCode.OK:
            self.complete(self._answer(response.relevant_id))
        elif response.code == ControlResponseCode.ERROR and response.relevant_id in self._refusals:
            self.complete(self._refusals[response.relevant_id])
        else:
            self.fail(refusal(response, self.what, self.recording_id))

    def on_descriptor(self, _descriptor: Any) -> None:
        """Ignore a descriptor: the request asked for none."""

    def on_challenge(self, _challenge: Challenge) -> None:
        """Ignore a challenge, which answers no request of an open session."""


class ListingRequest(ArchiveRequest[list[T]]):
    """A request that waits for descriptors: for as many as it asked for, or for the end of the list."""

    __slots__ = ("_found", "_kind", "_limit")

    def __init__(self, what: str, ticket: Ticket, kind: type[T], limit: int) -> None:
        super().__init__(what, ticket, lambda _: self._found)
        self._kind = kind
        self._found: list[T] = []
        self._limit = limit

    def on_descriptor(self, descriptor: Any) -> None:
        """Take one descriptor of the kind that was asked for; the last that was asked for completes the request."""
        if not isinstance(descriptor, self._kind):
            return
        self._found.append(descriptor)
        if len(self._found) == self._limit:
            self.complete(self._found)

    def on_response(self, response: ControlResponse) -> None:
        """Take the end of the list, or an error; an OK says nothing of a list."""
        if response.code in _ENDS_OF_LISTINGS:
            self.complete(self._found)
        elif response.code != ControlResponseCode.OK:
            self.fail(refusal(response, self.what, self.recording_id))


class Exchange(ArchiveRequest["ControlResponse | Challenge"]):
    """A request of a session that is being opened: its result is the archive's message itself, an OK or a challenge.

    `control_session_id` is the session that the archive names in any answer; -1 before it.
    """

    __slots__ = ("control_session_id",)

    def __init__(self, what: str, ticket: Ticket) -> None:
        super().__init__(what, ticket, _unused)
        self.control_session_id = NULL_VALUE

    def on_response(self, response: ControlResponse) -> None:
        """Take the archive's answer."""
        self.control_session_id = response.control_session_id
        if response.code == ControlResponseCode.OK:
            self.complete(response)
        else:
            self.fail(refusal(response, self.what))

    def on_challenge(self, challenge: Challenge) -> None:
        """Take a challenge."""
        self.control_session_id = challenge.control_session_id
        self.complete(challenge)


def refusal(response: ControlResponse, what: str, recording_id: int = NULL_VALUE) -> ArchiveError:
    """Return the error that an answer other than OK stands for."""
    code = response.relevant_id if response.code == ControlResponseCode.ERROR else _error_code(response.code)
    return ArchiveError(
        f"the archive refused to {what}: {response.error_message or response.code.name}",
        where=f"control session {response.control_session_id}, correlation id {response.correlation_id}",
        actual=f"response code {response.code.name}" if code is None else f"error {code_name(code)}",
        error_code=code,
        request=what,
        correlation_id=response.correlation_id,
        recording_id=recording_id,
    )


def unrequested(response: ControlResponse) -> ArchiveError:
    """Return the error that an archive reports without a request that waits for it: a replay or a replication failed, for instance."""
    return ArchiveError(
        f"the archive reports an error: {response.error_message}",
        where=f"control session {response.control_session_id}, correlation id {response.correlation_id}",
        actual=f"error {code_name(response.relevant_id)}",
        error_code=response.relevant_id,
        correlation_id=response.correlation_id,
    )


def code_name(code: int) -> str:
    """Return an error code of an archive as text: its name where it has one, and its number."""
    try:
        return f"{ArchiveErrorCode(code).name} ({code})"
    except ValueError:
        return str(code)


def _error_code(code: ControlResponseCode) -> int | None:
    if code == ControlResponseCode.RECORDING_UNKNOWN:
        return ArchiveErrorCode.UNKNOWN_RECORDING.value
    return ArchiveErrorCode.UNKNOWN_SUBSCRIPTION.value if code == ControlResponseCode.SUBSCRIPTION_UNKNOWN else None


def _unused(_relevant_id: int) -> Any:
    raise AssertionError("an exchange completes itself")
