"""Forward a stream to another one without losing or copying twice what the other has no room for at the moment.

    python examples/forwarder.py [COUNT]

A controlled poll answers ABORT while the target is back pressured: the message stays in the log and comes again. A counter, which
`aerowire stat` shows too, says how many were forwarded; `send` waits for room; a loop over the subscription receives.
"""

from __future__ import annotations

import sys
import threading

from aerowire.client import Action, Aeron, ControlledFragmentAssembler, Header
from aerowire.driver import MediaDriver

SOURCE, TARGET = 1001, 1002
CHANNEL = "aeron:ipc?term-length=64k"
FORWARDED_TYPE_ID = 1000  # from here on types are the application's own
TIMEOUT_NS = 5_000_000_000


def main(count: int) -> None:
    with (
        MediaDriver.launch_embedded() as driver,
        Aeron.connect(aeron_dir=driver.aeron_dir) as aeron,
        aeron.add_publication(CHANNEL, SOURCE) as source,
        aeron.add_subscription(CHANNEL, SOURCE) as arriving,
        aeron.add_publication(CHANNEL, TARGET) as target,
        aeron.add_subscription(CHANNEL, TARGET) as leaving,
        aeron.add_counter(FORWARDED_TYPE_ID, "messages forwarded") as forwarded,
    ):

        def forward(buffer: memoryview, offset: int, length: int, _header: Header) -> Action:
            if target.offer(buffer, offset, length) < 0:
                return Action.ABORT
            forwarded.increment()
            return Action.COMMIT

        def run() -> None:
            handler = ControlledFragmentAssembler(forward)
            while forwarded.value < count:
                arriving.controlled_poll(handler)

        def publish() -> None:
            for number in range(count):
                source.send(b"message %d" % number * 10)

        threads = [threading.Thread(target=run), threading.Thread(target=publish)]
        for thread in threads:
            thread.start()
        received = 0
        for message in leaving.messages(timeout_ns=TIMEOUT_NS):
            assert message == b"message %d" % received * 10
            received += 1
            if received == count:
                break
        for thread in threads:
            thread.join()
        print(f"{received} received, {forwarded.value} forwarded")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
