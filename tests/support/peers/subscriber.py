"""Our client taking a number of messages; the twin of the interop suite's Subscriber.java.

Prints their hash as one JSON object and stays until its standard input ends; a message too many changes the hash.
"""

from __future__ import annotations

import json
import sys
import time

from aerowire.client import Aeron, FragmentAssembler, Header
from tests.support.peers.payloads import ContentHash, arguments

FRAGMENT_LIMIT = 64
SLEEP_S = 20e-6
QUIET_S = 0.2


def main() -> int:
    given = arguments()
    messages = int(given["messages"])
    deadline = time.monotonic() + float(given["timeout"])
    content = ContentHash()

    def on_message(buffer: memoryview, offset: int, length: int, header: Header) -> None:
        del header
        content.add(buffer[offset : offset + length])

    handler = FragmentAssembler(on_message)
    with Aeron.connect(aeron_dir=given["dir"]) as aeron, aeron.add_subscription(given["channel"], int(given["stream"])) as subscription:
        print(json.dumps({"role": "subscriber", "ready": True}), flush=True)
        while content.messages < messages:
            if subscription.poll(handler, FRAGMENT_LIMIT) == 0:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{content.messages} of {messages} messages")
                time.sleep(SLEEP_S)
        quiet = time.monotonic() + QUIET_S
        while time.monotonic() < quiet:
            if subscription.poll(handler, FRAGMENT_LIMIT) == 0:
                time.sleep(SLEEP_S)
        print(json.dumps({"role": "subscriber", **content.fields()}), flush=True)
        sys.stdin.buffer.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
