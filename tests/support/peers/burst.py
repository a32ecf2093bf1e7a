"""Our client asking for many publications and subscriptions before it looks for an answer; the twin of the interop suite's Burst.java.

Publishes to all of them and receives it again, prints the hash as one JSON object and removes everything by registration id.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

from aerowire.client import Aeron, ExclusivePublication, FragmentAssembler, Header, Subscription
from tests.support.peers.payloads import ContentHash, Payloads, arguments

FIRST_STREAM = 3000
FRAGMENT_LIMIT = 64


class Stream:
    """One of the streams: what was asked for, and what was sent and received."""

    def __init__(self, aeron: Aeron, channel: str, stream_id: int) -> None:
        self.publication_id = aeron.async_add_exclusive_publication(channel, stream_id).registration_id
        self.subscription_id = aeron.async_add_subscription(channel, stream_id).registration_id
        self.sent, self.received = ContentHash(), ContentHash()
        self.handler = FragmentAssembler(self._on_message)
        self.publication: ExclusivePublication
        self.subscription: Subscription

    def find(self, aeron: Aeron) -> None:
        publication = aeron.get_exclusive_publication(self.publication_id)
        subscription = aeron.get_subscription(self.subscription_id)
        assert publication is not None
        assert subscription is not None
        self.publication, self.subscription = publication, subscription

    def poll(self) -> None:
        self.subscription.poll(self.handler, FRAGMENT_LIMIT)

    def _on_message(self, buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        self.received.add(buffer[offset : offset + length])


def main() -> int:
    given = arguments()
    deadline = time.monotonic() + float(given["timeout"])

    def wait(what: str, is_done: Callable[[], bool], work: Callable[[], None] = lambda: time.sleep(0.001)) -> None:
        while not is_done():
            if time.monotonic() > deadline:
                raise TimeoutError(what)
            work()

    with Aeron.connect(given["dir"]) as aeron:
        streams = [Stream(aeron, given["channel"], FIRST_STREAM + number) for number in range(int(given["streams"]))]
        ids = [number for stream in streams for number in (stream.publication_id, stream.subscription_id)]
        in_flight = sum(aeron.is_command_active(number) for number in ids)
        wait("commands", lambda: not aeron.has_active_commands())
        for stream in streams:
            stream.find(aeron)
            wait("connection", lambda stream=stream: stream.publication.is_connected and stream.subscription.is_connected)  # type: ignore[misc]
        payloads = Payloads(int(given["seed"]), int(given["length-max"]))
        whole = ContentHash()
        for number in range(int(given["messages"])):
            stream, message = streams[number % len(streams)], payloads.next()
            wait("room", lambda stream=stream, message=message: stream.publication.offer(message) > 0, stream.poll)  # type: ignore[misc]
            stream.sent.add(message)
            whole.add(message)
        for stream in streams:
            wait("the rest", lambda stream=stream: stream.received.messages >= stream.sent.messages, stream.poll)  # type: ignore[misc]
            assert stream.received.fields() == stream.sent.fields()
        position = min(stream.publication.position for stream in streams)
        report = {"in_flight": in_flight, "position": position, "term_length": streams[0].publication.term_buffer_length}
        print(json.dumps({"role": "burst", **whole.fields(), **report}), flush=True)
        for stream in streams:
            aeron.async_remove_publication(stream.publication_id)
            aeron.async_remove_subscription(stream.subscription_id)
        wait("removal", lambda: not aeron.has_active_commands())
    return 0


if __name__ == "__main__":
    sys.exit(main())
