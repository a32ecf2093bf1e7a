"""A client that tells, one JSON object a line, what it sees happen: role=publisher offers all the time, role=subscriber polls.

Events: `ready`, `connected`, `disconnected` (publication), `image`, `end of stream`, `no image` (subscription), `messages` (each
further thousand), `ended` with the error when the client ended. Times are of the monotonic clock, which all processes share.
Ends when standard input does.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

from aerowire.base.errors import AerowireError
from aerowire.client import Aeron, Header, Image
from tests.support.peers.payloads import arguments

FRAGMENT_LIMIT = 64
SLEEP_S = 200e-6
MESSAGE = bytes(range(256))
REPORT_EVERY = 1000


def tell(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, "at": time.monotonic(), **fields}), flush=True)


def publish(aeron: Aeron, channel: str, stream: int, gone: threading.Event) -> None:
    sent = 0
    with aeron.add_publication(channel, stream) as publication:
        connected = False
        tell("ready")
        while not gone.is_set():
            if publication.is_connected != connected:
                connected = not connected
                tell("connected" if connected else "disconnected")
            if publication.offer(MESSAGE) > 0:
                sent += 1
                if sent % REPORT_EVERY == 0:
                    tell("messages", count=sent)
            time.sleep(SLEEP_S)


def subscribe(aeron: Aeron, channel: str, stream: int, gone: threading.Event) -> None:
    got = 0
    wrong = 0
    told: set[int] = set()

    def on_fragment(buffer: memoryview, offset: int, length: int, header: Header) -> None:
        nonlocal got, wrong
        del header
        got += 1
        wrong += buffer[offset : offset + length] != MESSAGE
        if got % REPORT_EVERY == 0:
            tell("messages", count=got, wrong=wrong)

    with aeron.add_subscription(channel, stream) as subscription:
        last: tuple[Image, ...] = ()
        tell("ready")
        while not gone.is_set():
            images = subscription.images
            for image in {*last, *images}:  # one may have ended and gone since the last look
                if image.is_end_of_stream and image.correlation_id not in told:
                    told.add(image.correlation_id)
                    tell("end of stream")
            if len(images) != len(last):
                tell("image" if len(images) > len(last) else "no image", count=len(images))
            last = images
            if subscription.poll(on_fragment, FRAGMENT_LIMIT) == 0:
                time.sleep(SLEEP_S)


def main() -> int:
    given = arguments()
    gone = threading.Event()

    def wait_for_end() -> None:
        # Not through sys.stdin: a daemon thread that holds its lock would stop the interpreter from ending.
        while os.read(0, 1):
            continue
        gone.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    options = json.loads(given.get("options", "{}"))
    try:
        with Aeron.connect(aeron_dir=given["dir"], **options) as aeron:
            (publish if given["role"] == "publisher" else subscribe)(aeron, given["channel"], int(given["stream"]), gone)
    except AerowireError as error:
        tell("ended", error=type(error).__name__, message=str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
