"""Our client taking a part of the messages of a seed, in their order: what a subscriber that may miss some must get.

Prints which it got when it is ordered to `finish` and nothing more comes; a message that was not sent, or not then, is an error.
"""

from __future__ import annotations

import json
import sys
import time

from aerowire.client import Aeron, FragmentAssembler, Header
from tests.support.peers.orders import Orders
from tests.support.peers.payloads import Payloads, arguments

FRAGMENT_LIMIT = 64
SLEEP_S = 20e-6
QUIET_S = 0.3


class Excerpt:
    """What was got so far, as places in what is sent."""

    def __init__(self, payloads: Payloads, messages: int) -> None:
        self._payloads = payloads
        self._messages = messages
        self._next = 0
        self.first = -1
        self.last = -1
        self.got = 0
        self.is_finishing = False

    def on_message(self, buffer: memoryview, offset: int, length: int, header: Header) -> None:
        del header
        message = bytes(buffer[offset : offset + length])
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


def main() -> int:
    given = arguments()
    deadline = time.monotonic() + float(given["timeout"])
    excerpt = Excerpt(Payloads(int(given["seed"]), int(given["length-max"])), int(given["messages"]))
    handler = FragmentAssembler(excerpt.on_message)
    with Aeron.connect(aeron_dir=given["dir"]) as aeron, aeron.add_subscription(given["channel"], int(given["stream"])) as subscription:
        orders = Orders({"finish": excerpt.finish})
        print(json.dumps({"role": "excerpt", "ready": True}), flush=True)
        quiet_since = time.monotonic()
        while not (excerpt.is_finishing and time.monotonic() > quiet_since + QUIET_S):
            orders.obey()
            if subscription.poll(handler, FRAGMENT_LIMIT) > 0:
                quiet_since = time.monotonic()
                continue
            if time.monotonic() > deadline:
                raise TimeoutError(f"{excerpt.got} messages, and no order to finish")
            time.sleep(SLEEP_S)
        print(json.dumps({"role": "excerpt", "first": excerpt.first, "last": excerpt.last, "messages": excerpt.got}), flush=True)
        while orders.obey():
            time.sleep(0.001)
    return 0


if __name__ == "__main__":
    sys.exit(main())
