"""An application of a simulated host: the real client, one publication, one subscription, and what was asked of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

from aerowire.base.directory import IMAGES_DIRECTORY, LOG_SUFFIX
from aerowire.base.errors import AerowireError
from aerowire.client import Aeron, ExclusivePublication, Image, Pending, Publication, Subscription
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.ipc.counters import CountersReader
from aerowire.logbuffer.log import LogBuffers
from aerowire.simulation.host import SimulatedHost
from aerowire.simulation.world import SimulatedWorld

STREAM = 1001
_FRAGMENTS_AT_ONCE = 256


class StreamClient:
    """Sends what it is given and keeps what it receives. `publication` and `subscription` are there once the driver has answered.

    With `reads` false what arrives stays unread.
    """

    def __init__(self, host: SimulatedHost, *, reads: bool = True, **options: Any) -> None:
        self.host = host
        self.reads = reads
        self.received: list[bytes] = []
        self.publication: Publication | ExclusivePublication | None = None
        self.subscription: Subscription | None = None
        self._outbox: deque[bytes] = deque()
        self._asked: list[tuple[Pending[Any], Callable[[Any], None]]] = []
        self.client = host.connect(work=self._work, **options)

    @classmethod
    def launch(cls, world: SimulatedWorld, address: str, **options: Any) -> Self:
        """Start a driver at an address, and a client of it; `options` are the driver's."""
        return cls(world.add_host(address, **{"environ": {}, "term_buffer_length": "64k", **options}))

    @property
    def aeron(self) -> Aeron:
        return self.client.aeron

    @property
    def errors(self) -> list[BaseException]:
        """What the driver refused, and what no caller could be given."""
        return self.client.errors

    @property
    def counters(self) -> CountersReader:
        return self.aeron.counters_reader

    @property
    def image(self) -> Image | None:
        """The latest image; None while there is none."""
        images = () if self.subscription is None else self.subscription.images
        return images[-1] if images else None

    @property
    def has_image(self) -> bool:
        return self.image is not None

    @property
    def is_asking(self) -> bool:
        """Whether the driver has not answered all that was asked of it."""
        return bool(self._asked)

    def publish(self, channel: str, *, is_exclusive: bool = False) -> None:
        """Ask for the publication."""
        add = self.aeron.async_add_exclusive_publication if is_exclusive else self.aeron.async_add_publication
        self._asked.append((add(channel, STREAM), self._keep_publication))

    def subscribe(self, channel: str) -> None:
        """Ask for the subscription."""
        self._asked.append((self.aeron.async_add_subscription(channel, STREAM), self._keep_subscription))

    def send(self, messages: Iterable[bytes]) -> None:
        """Send messages one after the other, as there is room for them."""
        self._outbox.extend(messages)

    def offer(self, message: bytes) -> int:
        """Offer a message now; return its position, or why it was not taken."""
        assert self.publication is not None
        return self.publication.offer(message)

    def system(self, counter: SystemCounter) -> int:
        """Return a system counter of the driver."""
        return self.counters.value(counter)

    def counter(self, kind: CounterType) -> int:
        """Return the first counter of a type."""
        return next(info.value for info in self.counters.for_each() if info.type_id == kind)

    def image_log(self) -> LogBuffers:
        """Map the log of the latest image, beside the client."""
        assert self.image is not None
        path = Path(self.host.driver.aeron_dir) / IMAGES_DIRECTORY / f"{self.image.correlation_id}{LOG_SUFFIX}"
        return LogBuffers.map(path, regions=self.host.regions)

    def work_on_streams(self) -> int:
        """Send and receive; return how much that was."""
        done = 0
        while self._outbox and self.publication is not None and self.offer(self._outbox[0]) > 0:
            self._outbox.popleft()
            done += 1
        if self.subscription is not None and self.reads and not self.subscription.is_closed:
            done += self.subscription.poll(self._on_fragment, _FRAGMENTS_AT_ONCE)
        return done

    def _work(self) -> int:
        for pending, keep in [asked for asked in self._asked if asked[0].is_done]:
            self._asked.remove((pending, keep))
            try:
                keep(pending.result())
            except AerowireError as error:
                self.errors.append(error)
        return 0 if self.aeron.is_closed else self.work_on_streams()

    def _keep_publication(self, publication: Publication | ExclusivePublication) -> None:
        self.publication = publication

    def _keep_subscription(self, subscription: Subscription) -> None:
        self.subscription = subscription

    def _on_fragment(self, buffer: memoryview, offset: int, length: int, _header: object) -> None:
        self.received.append(bytes(buffer[offset : offset + length]))
