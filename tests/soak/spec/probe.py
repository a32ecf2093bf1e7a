"""What driver and capture reader make of the layouts they were built with; run inside a tree by spec_change.py.

`drive CAPTURE` sends messages through two drivers, one of which drops and captures, and prints the default term length
of IPC and every counter's label; `read CAPTURE` prints the NAKs of a capture as [term offset, length].
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.client import Aeron
from aerowire.codecs.tables.options import OPTIONS
from aerowire.ipc.cnc import CncFile
from aerowire.pcap import read_frames
from tests.support.processes import LIMIT_S, free_port, open_workshop, wait_for_driver

MESSAGES = 2_000


def drive(capture: str) -> dict[str, object]:
    common = {"channel": f"aeron:udp?endpoint=127.0.0.1:{free_port()}", "stream": 1001, "messages": MESSAGES, "timeout": LIMIT_S}
    shared = {OPTIONS["threading_mode"].property: "SHARED"}
    lossy = {OPTIONS["debug_send_data_loss_rate"].property: "0.1", OPTIONS["debug_send_data_loss_seed"].property: "22"}
    with tempfile.TemporaryDirectory() as scratch, open_workshop(Path(scratch)) as workshop:
        sending, receiving = workshop.memory / "sending", workshop.memory / "receiving"
        driver = workshop.driver(sending, {**shared, **lossy}, "--capture", capture)
        workshop.driver(receiving, shared)
        wait_for_driver(sending, driver)
        subscriber = workshop.peer("subscriber", receiving, **common)
        assert subscriber.result(LIMIT_S)["ready"]
        publisher = workshop.peer("publisher", sending, **common, seed=22, length_max=2_000)
        sent, got = publisher.outcome("publisher", LIMIT_S), subscriber.result(LIMIT_S)
        assert sent["sha256"] == got["sha256"]
        with Aeron.connect(aeron_dir=str(sending)) as aeron, aeron.add_publication("aeron:ipc", 1) as publication:
            term_length = publication.term_buffer_length
        cnc = CncFile.map(str(sending / CNC_FILE_NAME), writable=False)
        labels = [counter.label for counter in cnc.counters_reader().for_each()]
        cnc.close()
        driver.stop()
    return {"ipc_term_length": term_length, "labels": labels}


def read(capture: str) -> dict[str, object]:
    naks = [row for row in read_frames(capture).to_pylist() if row["type"] == "NAK"]
    return {"naks": [[row["term_offset"], row["length"]] for row in naks]}


if __name__ == "__main__":
    print(json.dumps({"drive": drive, "read": read}[sys.argv[1]](sys.argv[2])))
