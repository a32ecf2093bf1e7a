"""Our client answering every message of every image with the same message, on a response channel of the image's own; the twin of
the interop suite's Responder.java.

`response=` begins the channel of the answers, `response-stream=` is their stream. Stays until its standard input ends.
"""

from __future__ import annotations

import json
import sys
import time

from aerowire.client import Aeron, FragmentAssembler, Header, Publication
from tests.support.peers.orders import Orders
from tests.support.peers.payloads import arguments

FRAGMENT_LIMIT = 64
SLEEP_S = 20e-6


def main() -> int:
    given = arguments()
    stream = int(given["stream"])
    deadline = time.monotonic() + float(given["timeout"])
    answers: dict[int, Publication] = {}

    def answer(buffer: memoryview, offset: int, length: int, header: Header) -> None:
        while answers[header.session_id].offer(buffer[offset : offset + length]) < 0:
            if time.monotonic() > deadline:
                raise TimeoutError("an answer finds no window")
            time.sleep(SLEEP_S)

    handler = FragmentAssembler(answer)
    with Aeron.connect(aeron_dir=given["dir"]) as aeron, aeron.add_subscription(given["channel"], stream) as subscription:
        orders = Orders({})
        print(json.dumps({"event": "ready"}), flush=True)
        while orders.obey():
            for image in subscription.images:
                if image.session_id not in answers:
                    channel = f"{given['response']}|response-correlation-id={image.correlation_id}"
                    answers[image.session_id] = aeron.add_publication(channel, int(given["response-stream"]))
            if subscription.poll(handler, FRAGMENT_LIMIT) == 0:
                time.sleep(SLEEP_S)
    return 0


if __name__ == "__main__":
    sys.exit(main())
