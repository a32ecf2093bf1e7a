"""An archive in a process of its own, until standard input ends, or the archive does; with `driver`, together with its driver.

`driver` and `archive` are the options of both, as JSON objects. Prints `ready` with the seconds that the launch of the archive took, once
it serves. A number on standard input is a time in seconds for which one call holds the interpreter's lock, between `holding` and `held`.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import sys
import time
from contextlib import nullcontext

from aerowire.archive import Archive
from aerowire.driver import Context, MediaDriver
from tests.support.peers.payloads import arguments

LOOK_S = 0.1  # between two looks at the archive


def hold_lock(seconds: float) -> None:
    print(json.dumps({"event": "holding"}), flush=True)
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))  # a PyDLL keeps the lock
    print(json.dumps({"event": "held"}), flush=True)


def main() -> int:
    given = arguments()
    driver = given.get("driver")
    with nullcontext() if driver is None else MediaDriver.launch(Context(aeron_dir=given["dir"], **json.loads(driver))):
        begun = time.monotonic()
        with Archive.launch(aeron_dir=given["dir"], **json.loads(given["archive"])) as archive:
            print(json.dumps({"event": "ready", "launch_s": time.monotonic() - begun}), flush=True)
            while not archive.has_ended:
                if select.select([0], [], [], LOOK_S)[0]:
                    line = os.read(0, 100)
                    if not line:
                        return 0
                    hold_lock(float(line))
    return 1


if __name__ == "__main__":
    sys.exit(main())
