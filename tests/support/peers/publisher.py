"""Our client publishing the messages of a seed; the twin of the interop suite's Publisher.java.

Prints what it sent as one JSON object and stays until its standard input ends, so that what was lost can still be
sent again.
"""

from __future__ import annotations

import json
import sys
import time

from aerowire.client import ADMIN_ACTION, BACK_PRESSURED, Aeron
from tests.support.peers.payloads import ContentHash, Payloads, arguments

SLEEP_S = 20e-6


def main() -> int:
    given = arguments()
    messages = int(given["messages"])
    payloads = Payloads(int(given["seed"]), int(given["length-max"]))
    deadline = time.monotonic() + float(given["timeout"])
    content = ContentHash()
    back_pressured = 0
    with Aeron.connect(aeron_dir=given["dir"]) as aeron:
        add = aeron.add_exclusive_publication if given.get("exclusive") == "true" else aeron.add_publication
        with add(given["channel"], int(given["stream"])) as publication:
            while not publication.is_connected:
                if time.monotonic() > deadline:
                    raise TimeoutError("no subscriber")
                time.sleep(0.001)
            started = time.monotonic()
            for index in range(messages):
                message = payloads.next()
                while (result := publication.offer(message)) < 0:
                    if result not in (BACK_PRESSURED, ADMIN_ACTION):
                        raise RuntimeError(f"offer returned {result} at message {index}")
                    if time.monotonic() > deadline:
                        raise TimeoutError(f"stuck at message {index}")
                    back_pressured += 1
                    time.sleep(SLEEP_S)
                content.add(message)
            seconds = time.monotonic() - started
            said = {"seconds": seconds, "back_pressured": back_pressured, "position": publication.position}
            lengths = {"term_length": publication.term_buffer_length}
            print(json.dumps({"role": "publisher", **content.fields(), **said, **lengths}), flush=True)
            sys.stdin.buffer.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
