"""A client paused for less than the liveness timeout goes on as if nothing had been; one paused longer is closed on both sides.

Closed means: the driver has given it up once, its streams have ended for those at their other end, nothing of it is left, and the client
itself ends with the error that says why.
"""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.codecs.tables.options import OPTIONS
from aerowire.ipc.cnc import CncFile
from tests.soak.bars import Part, Size
from tests.soak.scene import START_S, Scene, channel_of
from tests.support.processes import Workshop, open_workshop

LATE_S = 2.0
VICTIMS = {Size.FULL: 2, Size.SMALL: 1}


@dataclass(frozen=True)
class Times:
    """Seconds: a client's liveness timeout, a pause that it survives, and one that it does not."""

    liveness: float
    short: float
    long: float
    keepalive: float


TIMES = {Size.FULL: Times(10.0, 9.0, 15.0, 0.5), Size.SMALL: Times(1.0, 0.5, 1.5, 0.1)}


class PauseScene(Scene):
    """A scene any of whose clients may be paused; every timeout but that of clients is as it is by default."""

    def __init__(self, workshop: Workshop, times: Times, channel: str) -> None:
        options = {
            OPTIONS["client_liveness_timeout_ns"].property: f"{int(times.liveness * 1e3)}ms",
            OPTIONS["publication_unblock_timeout_ns"].property: f"{int(times.liveness * 1.5e3)}ms",
            OPTIONS["timer_interval_ns"].property: "100ms",
            OPTIONS["publication_linger_timeout_ns"].property: "0ms",
            OPTIONS["threading_mode"].property: "SHARED",
            OPTIONS["dir_delete_on_shutdown"].property: "true",
        }
        super().__init__(workshop, channel, options, f'{{"keepalive_interval_ns": {int(times.keepalive * 1e9)}}}')

    def pause(self, role: str, seconds: float) -> None:
        self.peers[role].popen.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.peers[role].popen.send_signal(signal.SIGCONT)

    def timeouts(self) -> int:
        """Return how many clients the driver has given up."""
        with CncFile.map(str(self.directory / CNC_FILE_NAME), writable=False) as cnc:
            return cnc.counters_reader().value(SystemCounter.CLIENT_TIMEOUTS)

    def clients(self) -> int:
        with CncFile.map(str(self.directory / CNC_FILE_NAME), writable=False) as cnc:
            return sum(info.type_id == CounterType.CLIENT_HEARTBEAT for info in cnc.counters_reader().for_each())


def run(size: Size, media: str, scratch: Path) -> str:
    times = TIMES[size]
    with open_workshop(scratch) as workshop:
        scene = PauseScene(workshop, times, channel_of(media))
        victims = (("publisher", "subscriber", "end of stream"), ("subscriber", "publisher", "disconnected"))[: VICTIMS[size]]
        for role, _, _ in victims:
            scene.pause(role, times.short)
            scene.expect_flow()
            scene.expect_flow()
        assert (scene.timeouts(), scene.clients()) == (0, 2)
        for number, (role, survivor, event) in enumerate(victims, start=1):
            scene.pause(role, times.long)
            ended = scene.peers[role].event("ended", LATE_S)
            assert ended["error"] == "ClientTimeoutError", ended
            assert scene.peers[role].popen.wait(START_S) == 0, scene.peers[role].said()
            scene.peers[survivor].event(event, times.long + LATE_S)
            assert (scene.timeouts(), scene.clients()) == (number, 1)
            scene.peers[role] = scene.watcher(role)
            scene.expect_flow()
        scene.end()
    return f"survived {times.short} s, closed after {times.long} s, with a timeout of {times.liveness} s"


def parts(size: Size) -> list[Part]:
    return [Part(media, 0, partial(run, size, media)) for media in (("ipc", "udp") if size is Size.FULL else ("ipc",))]
