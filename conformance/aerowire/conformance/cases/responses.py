"""Response channels: the harness asks a driver's subscription, and hears the answers of its publications."""

from __future__ import annotations

import time

from aerowire.codecs.flyweights.transport import SetupFlags
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, LOOPBACK, TERM_LENGTH, Bench, Sink, Source, Subscription
from aerowire.conformance.harness.client import Image
from aerowire.conformance.harness.wire import free_port

WITH_RESPONSE = int(SetupFlags.SEND_RESPONSE)


class Answers:
    """A channel on which a driver answers requests, each of them with a publication of its own."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.port = free_port()
        self.stream_id = bench.new_id()
        self.channel = f"aeron:udp?control-mode=response|control={LOOPBACK}:{self.port}|term-length={TERM_LENGTH}"

    def add(self, correlation_id: object, *, is_exclusive: bool = True) -> Sink:
        """Add the publication that answers an image's sender; return a receiver's side of it, of which nobody has heard yet."""
        channel = f"{self.channel}|response-correlation-id={correlation_id}"
        added_ns = time.monotonic_ns()
        publication = self._bench.client.add_publication(channel, self.stream_id, is_exclusive=is_exclusive)
        sink = Sink(self._bench, self._bench.wire(), publication, added_ns)
        sink.driver = (LOOPBACK, self.port)
        return sink


def ask(bench: Bench, subscription: Subscription, *, flags: int = WITH_RESPONSE) -> tuple[Source, Image]:
    """Let a sender of requests introduce itself, with the wish to be answered or not; return it and its image."""
    source = bench.source(subscription)
    source.send(source.frames.setup(flags=flags))
    return source, source.expect_image()


def connect(sink: Sink) -> None:
    """Let the receiver of the answers ask for their SETUP until it comes, and then say where it is.

    A sender may not know at first what its conductor has confirmed.
    """
    for _ in range(20):
        sink.send(sink.frames.elicit(sink.receiver_id))
        if sink.wire.collect(25.0, match=frames.is_setup, start=0, until=frames.is_setup):
            break
    sink.connect()


def expect_response_setup(bench: Bench, source: Source, sink: Sink, *, start: int = 0) -> None:
    """Wait for the frame that names the session of the answers to who asked."""
    bench.client.poll()
    source.wire.expect(
        lambda frame: frames.is_response_setup(frame) and frame.response_session_id == sink.publication.session_id,
        "a RSP_SETUP with the session of the answers",
        within_ms=CONDUCTOR_MS,
        start=start,
    )
