"""One C call that holds the interpreter's lock for ten seconds in the process of an archive, alone and with its driver.

A recording and a replay that follows it keep the rate of their publisher meanwhile, and no session, image or client is lost.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from aerowire.archive import AeronArchive, ReplayParams
from aerowire.client import Aeron, ExclusivePublication, Image
from aerowire.codecs.tables.counters import SystemCounter
from tests.soak.archives.node import ArchiveNode, start_node
from tests.soak.bars import Part, Size
from tests.support.processes import open_workshop
from tests.support.waiting import rest, wait_until

HOLD_S = {Size.FULL: 10.0, Size.SMALL: 1.0}
EDGE_S = 0.2  # between what the process says and what it does
RATE = 10e6  # bytes of messages in a second
SHARE_MIN = 0.7  # of what was published and replayed before
MESSAGE = bytes(1000)
CHANNEL = "aeron:ipc?term-length=1m"
STREAM_ID, REPLAY_STREAM_ID = 1001, 1002


class Flow:
    """A publication, its recording, and a replay that follows the recording."""

    def __init__(self, archive: AeronArchive) -> None:
        self.archive = archive
        self.publication: ExclusivePublication = archive.add_recorded_exclusive_publication(CHANNEL, STREAM_ID)
        wait_until(archive.list_recordings, "no recording")
        replay = archive.replay(0, CHANNEL, REPLAY_STREAM_ID, ReplayParams(position=0))
        wait_until(lambda: replay.images, "no image of the replay")
        self.replay: Image = replay.images[0]

    def run(self, seconds: float) -> tuple[float, float]:
        """Publish at the rate, as far as there is room; return the shares of it that were published and replayed."""
        begun, published, replayed = time.monotonic(), self.publication.position, self.replay.position
        sent = 0
        while (passed := time.monotonic() - begun) < seconds:
            while sent < RATE * passed and self.publication.offer(MESSAGE) > 0:
                sent += len(MESSAGE)
            if not self.replay.block_poll(lambda *_: None, 1 << 20):
                rest()
        wanted = RATE * seconds
        return (self.publication.position - published) / wanted, (self.replay.position - replayed) / wanted


def client_timeouts(aeron: Aeron) -> int:
    """Return how many clients the driver has given up."""
    return aeron.counters_reader.value(SystemCounter.CLIENT_TIMEOUTS)


def hold(node: ArchiveNode, flow: Flow, seconds: float) -> tuple[float, float]:
    """Let the archive's process hold its lock; return what `flow` has come to meanwhile."""
    stdin = node.process.popen.stdin
    assert stdin is not None
    stdin.write(f"{seconds}\n".encode())
    stdin.flush()
    node.process.event("holding", 60.0)
    shares = flow.run(seconds - EDGE_S)
    node.process.event("held", 60.0)
    return shares


def run(seconds: float, scratch: Path, *, is_alone: bool) -> str:
    with open_workshop(scratch) as workshop:
        node = start_node(workshop, {"segment_file_length": "16m"}, is_alone=is_alone)
        with (
            Aeron.connect(node.aeron_dir) as aeron,
            AeronArchive.connect(aeron=aeron, control_request_channel="aeron:ipc", control_response_channel="aeron:ipc") as archive,
        ):
            flow = Flow(archive)
            before = flow.run(seconds)
            session_id, timeouts = archive.control_session_id, client_timeouts(aeron)
            during = hold(node, flow, seconds)
            after = flow.run(seconds)
            for shares in (during, after):
                assert all(share > SHARE_MIN * former for share, former in zip(shares, before, strict=True)), (before, during, after)
            assert archive.await_recorded(0, flow.publication.position) == flow.publication.position
            assert (archive.is_connected, archive.control_session_id, len(archive.list_recordings())) == (True, session_id, 1)
            assert (client_timeouts(aeron), flow.replay.is_closed, archive.poll_for_error_response()) == (timeouts, False, None)
        node.end()
    said = ", ".join(f"{share:.0%}" for share in during)
    return f"published and replayed while the lock was held for {seconds:g} s: {said} of {RATE / 1e6:.0f} MB/s"


def parts(size: Size) -> list[Part]:
    kinds = [("alone", True), ("node", False)] if size is Size.FULL else [("alone", True)]
    return [Part(name, 1, partial(run, HOLD_S[size], is_alone=is_alone)) for name, is_alone in kinds]
