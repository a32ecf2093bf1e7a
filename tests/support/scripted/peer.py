"""A peer that takes requests on one channel and answers them on another as a test says, in a simulated world or in real time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from aerowire.client import Aeron, ExclusivePublication, FragmentAssembler, Header, Pending

T = TypeVar("T")

Answer = Callable[[Any], Iterable[Any]]


class ScriptedClient(Protocol):
    """What a peer needs of its client: of a SimulatedClient, or of one that runs in real time."""

    @property
    def aeron(self) -> Aeron: ...
    def complete(self, pending: Pending[T]) -> T: ...


class ScriptedHost(Protocol):
    """What a peer needs of its host: of a SimulatedHost, or of one that runs in real time."""

    def connect(self, *, work: Callable[[], int]) -> ScriptedClient: ...


class ScriptedPeer(ABC):
    """A process of a host that answers each kind of request by `answers`: class name -> records or bytes, or none.

    A connect request opens the publication of answers. `requests` are all that came, in order.
    """

    def __init__(self, host: ScriptedHost, channel: str, stream_id: int, answers: dict[str, Answer]) -> None:
        self.requests: list[Any] = []
        self.answers = answers
        self.publication: ExclusivePublication | None = None
        self._opening: Pending[ExclusivePublication] | None = None
        self._unsent: deque[bytes] = deque()
        self._assembler = FragmentAssembler(self._on_fragments)
        self.client = host.connect(work=self._work)
        self.subscription = self.client.complete(self.client.aeron.async_add_subscription(channel, stream_id))

    def names(self) -> list[str]:
        """Return the kinds of the requests that came."""
        return [type(request).__name__ for request in self.requests]

    def say(self, *records: Any) -> None:
        """Send records or bytes on the publication of answers."""
        self._unsent.extend(record if isinstance(record, bytes) else record.encode() for record in records)

    def reach(self, channel: str, stream_id: int) -> None:
        """Open a publication to a client; what is said is sent on it from then on."""
        self.publication = None
        self._opening = self.client.aeron.async_add_exclusive_publication(channel, stream_id)

    @abstractmethod
    def _on_message(self, data: bytes, header: Header) -> None:
        """Handle a message that came."""

    def _on_connect(self, request: Any, header: Header) -> None:
        """Reach the client that wants to connect."""
        channel = request.response_channel
        if "control-mode=response" in channel:
            channel += f"|response-correlation-id={header.image.correlation_id}"
        self.reach(channel, request.response_stream_id)

    def _answer(self, request: Any) -> None:
        self.say(*self.answers.get(type(request).__name__, lambda _: ())(request))

    def _work(self) -> int:
        done = 0
        if hasattr(self, "subscription") and not self.subscription.is_closed:
            done = self.subscription.poll(self._assembler, 10)
        if self._opening is not None and self._opening.poll():
            self.publication, self._opening = self._opening.result(), None
            done += 1
        publication = self.publication
        while self._unsent and publication is not None and not publication.is_closed and publication.offer(self._unsent[0]) > 0:
            self._unsent.popleft()
            done += 1
        return done

    def _on_fragments(self, buffer: memoryview, offset: int, length: int, header: Header) -> None:
        self._on_message(bytes(buffer[offset : offset + length]), header)
