"""Forged NAKs for a second or more: no byte is sent again twice within the linger, and other streams go on."""

from __future__ import annotations

import os
import random
import socket
import threading
import time
from functools import partial
from pathlib import Path

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.client import Aeron
from aerowire.codecs.flyweights.transport import FrameHeaderDecoder, FrameType, NakEncoder, SetupDecoder, StatusMessageEncoder
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.codecs.tables.options import OPTIONS
from aerowire.ipc.cnc import CncFile
from tests.soak.bars import Part, Size
from tests.support.processes import open_workshop, wait_for_driver

SECONDS = {Size.FULL: 10.0, Size.SMALL: 1.0}
SEED = 19
STREAM = 1001
TERM_LENGTH = 1 << 20
# What the publication has sent, and a NAK may ask for.
SENT = TERM_LENGTH // 2 - 64 * 1024
RANGE = 64 * 1024
MESSAGE = bytes(1376)
LINGER_S = 0.010
NAK_LENGTH = 28
DATAGRAM_MAX = 65536
LIMIT_S = 20.0


class Receiver:
    """The one receiver of a publication, by hand: it grants a window and reads whatever comes."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.1)
        self.port: int = self.socket.getsockname()[1]
        self.setup: SetupDecoder | None = None
        self.sender: tuple[str, int] | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self.socket.close()

    def _read(self) -> None:
        heard_s = 0.0
        while not self._is_over.is_set():
            try:
                frame, source = self.socket.recvfrom(DATAGRAM_MAX)
            except TimeoutError:
                continue
            if self.setup is None and FrameHeaderDecoder(frame).type == FrameType.SETUP:
                self.setup, self.sender = SetupDecoder(frame), source
            if self.setup is not None and time.monotonic() - heard_s > 0.1:
                heard_s = time.monotonic()
                self.grant()

    def grant(self) -> None:
        assert self.setup is not None
        frame = StatusMessageEncoder.encode(
            session_id=self.setup.session_id,
            stream_id=STREAM,
            consumption_term_id=self.setup.initial_term_id,
            receiver_window=TERM_LENGTH // 2,
            receiver_id=1,
        )
        self.say(frame)

    def nak(self, offset: int) -> None:
        assert self.setup is not None
        self.say(
            NakEncoder.encode(
                session_id=self.setup.session_id, stream_id=STREAM, term_id=self.setup.initial_term_id, term_offset=offset, length=RANGE
            )
        )

    def say(self, frame: bytes) -> None:
        assert self.sender is not None
        self.socket.sendto(frame, self.sender)


def run(seconds: float, seed: int, scratch: Path) -> str:
    dice = random.Random(seed)
    with open_workshop(scratch) as workshop, Receiver() as receiver:
        directory = workshop.memory / "driver"
        driver = workshop.driver(directory, {OPTIONS["threading_mode"].property: "DEDICATED"})
        wait_for_driver(directory, driver)
        channel = f"aeron:udp?endpoint=127.0.0.1:{receiver.port}|term-length=1m"
        with (
            CncFile.map(str(directory / CNC_FILE_NAME), writable=False) as cnc,
            Aeron.connect(aeron_dir=str(directory)) as client,
            client.add_exclusive_publication(channel, STREAM) as publication,
        ):
            counters = cnc.counters_reader()
            deadline = time.monotonic() + LIMIT_S
            while publication.position < SENT:
                assert time.monotonic() < deadline, f"the publication stands at {publication.position}"
                if publication.offer(MESSAGE) <= 0:
                    time.sleep(0.001)
            before, naks = counters.value(SystemCounter.RETRANSMITTED_BYTES), 0
            started = time.monotonic()
            while (elapsed := time.monotonic() - started) < seconds:
                receiver.nak(dice.randrange(0, (SENT - RANGE) // 32) * 32 if naks % 2 else (naks // 2) % (SENT // RANGE) * RANGE)
                naks += 1
            time.sleep(0.05)
            moved = counters.value(SystemCounter.RETRANSMITTED_BYTES) - before
        heard = naks * NAK_LENGTH
        # What waits in a socket is read a little later.
        allowed = SENT * ((elapsed + 0.1) / LINGER_S + 1)
        assert moved <= allowed, f"{moved:,} bytes for {heard:,}, allowed {allowed:,.0f}"
        assert moved >= RANGE, "nothing was repaired"
    return f"{naks:,} NAKs in {elapsed:.1f} s moved {moved / 2**20:,.0f} MiB: {moved / heard:,.0f} bytes for each received"


def parts(size: Size) -> list[Part]:
    seed = int(os.environ.get("AEROWIRE_SEED", SEED))
    return [Part("unicast", seed, partial(run, SECONDS[size], seed))]
