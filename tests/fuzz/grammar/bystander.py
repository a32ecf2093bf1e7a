"""A legitimate stream beside hostile ones, which has to arrive whole and in order."""

from __future__ import annotations

import random
import struct

from aerowire.client import Action, ExclusivePublication, FragmentAssembler, Header, Publication, Subscription
from tests.fuzz.grammar.polls import OracleError


class Bystander:
    """A legitimate stream: messages with numbers, some of several fragments, which must arrive whole and in order."""

    def __init__(self, publication: ExclusivePublication | Publication, subscription: Subscription, seed: int, way: str) -> None:
        self._publication = publication
        self._subscription = subscription
        self._dice = random.Random(seed)
        self._seed = seed
        self._assembler = FragmentAssembler(self._on_message)
        self._way = way
        self.sent = 0
        self.received = 0

    @property
    def registration_id(self) -> int:
        """Of the publication; its log is called by it."""
        return self._publication.registration_id

    @property
    def session_id(self) -> int:
        """Of the publication, and so of its image."""
        return self._publication.session_id

    def work(self) -> None:
        """Offer one message and take what has come."""
        if self._publication.offer(self._message(self.sent)) > 0:
            self.sent += 1
        self.take()

    def take(self) -> None:
        """Poll once."""
        if self._way == "controlled":
            self._subscription.controlled_poll(self._on_controlled, 10)
        else:
            self._subscription.poll(self._assembler, 10)

    def _message(self, number: int) -> bytes:
        length = (number * 7919 + self._seed) % 301 + (3000 if number % 50 == 49 else 0)
        return struct.pack("<q", number) + bytes((number & 0xFF,)) * length

    def _on_controlled(self, buffer: memoryview, offset: int, length: int, header: Header) -> Action:
        if header.session_id == self._publication.session_id:
            self._assembler(buffer, offset, length, header)
        return Action.CONTINUE

    def _on_message(self, buffer: memoryview, offset: int, length: int, header: Header) -> None:
        if header.session_id != self._publication.session_id:
            return
        expected = self._message(self.received)
        if bytes(buffer[offset : offset + length]) != expected:
            raise OracleError(f"message {self.received} of stream {header.stream_id} is not what was sent: {length} bytes")
        self.received += 1
