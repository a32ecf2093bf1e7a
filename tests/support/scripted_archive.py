"""An archive that answers as a test says, in a simulated world or in real time. It speaks on real channels; it records nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from aerowire.client import Aeron, ExclusivePublication, FragmentAssembler, Header, Pending
from aerowire.codecs.flyweights import archive
from aerowire.codecs.flyweights.archive.enums import ControlResponseCode
from aerowire.codecs.flyweights.archive.messages.control_response import ControlResponse

T = TypeVar("T")

PROTOCOL_VERSION = 1 << 16 | 12 << 8
ARCHIVE_ID = 4711
SESSION_ID = 2026

Answer = Callable[[Any], Iterable[Any]]


def ok(request: Any, relevant_id: int = 0, version: int = PROTOCOL_VERSION) -> ControlResponse:
    """Return an OK to a request."""
    return _response(request, relevant_id, ControlResponseCode.OK, "", version)


def error(request: Any, code: int, text: str, version: int = PROTOCOL_VERSION) -> ControlResponse:
    """Return an error to a request."""
    return _response(request, code, ControlResponseCode.ERROR, text, version)


def _response(request: Any, relevant_id: int, code: ControlResponseCode, text: str, version: int) -> ControlResponse:
    return ControlResponse(
        control_session_id=SESSION_ID,
        correlation_id=request.correlation_id,
        relevant_id=relevant_id,
        code=code,
        version=version,
        error_message=text,
    )


class ScriptedClient(Protocol):
    """What an archive needs of its client: of a SimulatedClient, or of one that runs in real time."""

    @property
    def aeron(self) -> Aeron: ...
    def complete(self, pending: Pending[T]) -> T: ...


class ScriptedHost(Protocol):
    """What an archive needs of its host: of a SimulatedHost, or of one that runs in real time."""

    def connect(self, *, work: Callable[[], int]) -> ScriptedClient: ...


class ScriptedArchive:
    """A process of a host that takes requests on a channel and answers each kind by `answers`: class name -> records, or none.

    A connect request opens the publication of answers. `requests` are all that came, in order.
    """

    def __init__(self, host: ScriptedHost, channel: str, stream_id: int = 10, *, version: int = PROTOCOL_VERSION) -> None:
        self.requests: list[Any] = []
        self.answers: dict[str, Answer] = {
            "AuthConnectRequest": lambda request: [ok(request, SESSION_ID, version)],
            "ArchiveIdRequest": lambda request: [ok(request, ARCHIVE_ID)],
        }
        self.publication: ExclusivePublication | None = None
        self._opening: Pending[ExclusivePublication] | None = None
        self._unsent: deque[bytes] = deque()
        self._assembler = FragmentAssembler(self._on_message)
        self.client = host.connect(work=self._work)
        self.subscription = self.client.complete(self.client.aeron.async_add_subscription(channel, stream_id))

    def names(self) -> list[str]:
        """Return the kinds of the requests that came."""
        return [type(request).__name__ for request in self.requests]

    def say(self, *records: Any) -> None:
        """Send records on the publication of answers."""
        self._unsent.extend(record.encode() for record in records)

    def _work(self) -> int:
        done = self.subscription.poll(self._assembler, 10) if hasattr(self, "subscription") else 0
        if self._opening is not None and self._opening.poll():
            self.publication, self._opening = self._opening.result(), None
            done += 1
        publication = self.publication
        while self._unsent and publication is not None and not publication.is_closed and publication.offer(self._unsent[0]) > 0:
            self._unsent.popleft()
            done += 1
        return done

    def _on_message(self, buffer: memoryview, offset: int, length: int, header: Header) -> None:
        request = archive.decode(bytes(buffer[offset : offset + length]))
        self.requests.append(request)
        name = type(request).__name__
        if name == "AuthConnectRequest":
            channel, stream_id = request.response_channel, request.response_stream_id  # type: ignore[union-attr]
            if "control-mode=response" in channel:
                channel += f"|response-correlation-id={header.image.correlation_id}"
            self._opening = self.client.aeron.async_add_exclusive_publication(channel, stream_id)
        self._unsent.extend(record.encode() for record in self.answers.get(name, lambda _: ())(request))
