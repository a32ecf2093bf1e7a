"""A response publication and its subscriber in one thread, with a driver between them."""

from __future__ import annotations

from aerowire.client import Aeron
from aerowire.driver import MediaDriver
from tests.archive.conductor.conftest import PATIENT


class ResponseWire:
    """Messages that are offered to `publication` are what `take` returns."""

    def __init__(self) -> None:
        self._driver = MediaDriver.launch_embedded(threading_mode="INVOKER", **PATIENT)
        self._aeron = Aeron.connect(self._driver.aeron_dir, use_conductor_agent_invoker=True, driver_agent_invoker=self._driver.invoker)
        self._subscription = self._aeron.add_subscription("aeron:ipc", 7)
        self.publication = self._aeron.add_exclusive_publication("aeron:ipc?term-length=64k", 7)
        while not self.publication.is_connected or not self._subscription.images:
            self._turn()

    def _turn(self) -> None:
        self._driver.invoker.invoke()
        self._aeron.invoke()

    def take(self) -> list[bytes]:
        """Return the messages that have come, and let the publication go on."""
        found: list[bytes] = []
        (image,) = self._subscription.images
        while image.position < self.publication.position:  # a poll that comes to padding finds no message
            image.poll(lambda buffer, offset, length, _header: found.append(bytes(buffer[offset : offset + length])), 64)
        self._turn()
        return found

    def close(self) -> None:
        self._aeron.close()
        self._driver.close()
