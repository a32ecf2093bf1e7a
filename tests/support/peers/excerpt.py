"""Our client taking a part of the messages of a seed, in their order: what a subscriber that may miss some must get.

Prints which it got when it is ordered to `finish` and nothing more comes, and for each image where that began and the hash of its
messages; a message that was not sent, or not then, is an error. Another order: `reject REASON` of every image.
"""

from __future__ import annotations

import json
import sys
import time

from aerowire.client import Aeron, FragmentAssembler, Header, Subscription
from tests.support.peers.orders import Orders
from tests.support.peers.payloads import ContentHash, Payloads, arguments

FRAGMENT_LIMIT = 64
SLEEP_S = 20e-6
QUIET_S = 0.3


class Excerpt:
    """What was got so far, as places in what is sent, and of each image by itself."""

    def __init__(self, payloads: Payloads, messages: int) -> None:
        self._payloads = payloads
        self._messages = messages
        self._next = 0
        self._image = -1
        self._assembler = FragmentAssembler(self.on_message)
        self.first = -1
        self.last = -1
        self.got = 0
        self.images: list[tuple[int, ContentHash]] = []  # where each began, and what came of it
        self.is_finishing = False

    def poll(self, subscription: Subscription) -> int:
        for image in subscription.images:
            if image.correlation_id != self._image:
                self._image = image.correlation_id
                self.images.append((image.join_position, ContentHash()))
                self._assembler.free_session_buffer(image.session_id)
        return subscription.poll(self._assembler, FRAGMENT_LIMIT)

    def on_message(self, buffer: memoryview, offset: int, length: int, header: Header) -> None:
        del header
        message = bytes(buffer[offset : offset + length])
        self.images[-1][1].add(message)
        while self._next < self._messages:
            index = self._next
            self._next += 1
            if bytes(self._payloads.next()) == message:
                self.last = index
                self.first = index if self.first < 0 else self.first
                self.got += 1
                return
        raise AssertionError(f"message of {length} bytes after {self.got} others was not sent then")

    def finish(self, _rest: str) -> None:
        self.is_finishing = True

    def fields(self) -> dict[str, object]:
        images = [{"join_position": position, **content.fields()} for position, content in self.images]
        return {"first": self.first, "last": self.last, "messages": self.got, "images": images}


def main() -> int:
    given = arguments()
    deadline = time.monotonic() + float(given["timeout"])
    excerpt = Excerpt(Payloads(int(given["seed"]), int(given["length-max"])), int(given["messages"]))
    with Aeron.connect(aeron_dir=given["dir"]) as aeron, aeron.add_subscription(given["channel"], int(given["stream"])) as subscription:

        def reject(reason: str) -> None:
            for image in subscription.images:
                image.reject(reason)

        orders = Orders({"finish": excerpt.finish, "reject": reject})
        print(json.dumps({"role": "excerpt", "ready": True}), flush=True)
        quiet_since = time.monotonic()
        while not (excerpt.is_finishing and time.monotonic() > quiet_since + QUIET_S):
            orders.obey()
            if excerpt.poll(subscription) > 0:
                quiet_since = time.monotonic()
                continue
            if time.monotonic() > deadline:
                raise TimeoutError(f"{excerpt.got} messages, and no order to finish")
            time.sleep(SLEEP_S)
        print(json.dumps({"role": "excerpt", **excerpt.fields()}), flush=True)
        while orders.obey():
            time.sleep(0.001)
    return 0


if __name__ == "__main__":
    sys.exit(main())
