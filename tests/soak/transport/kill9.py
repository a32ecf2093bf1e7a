"""kill -9 of a publisher, a subscriber or the driver at a random moment, timeouts at 1 s.

The survivors notice within the timeouts, nothing hangs, a restart works in the same directory, and when all have ended
in order nothing is left behind.
"""

from __future__ import annotations

import random
import time
from functools import partial
from pathlib import Path

from aerowire.codecs.tables.options import OPTIONS
from tests.soak.bars import Part, Size
from tests.soak.scene import START_S, Scene, channel_of
from tests.support.processes import Workshop, open_workshop

ROUNDS = {Size.FULL: 10, Size.SMALL: 3}
SEEDS = {Size.FULL: 909, Size.SMALL: 910}
# Media and threading mode of each part.
SCENES = {
    Size.FULL: (("ipc", "SHARED"), ("udp", "SHARED"), ("ipc", "DEDICATED"), ("udp", "DEDICATED")),
    Size.SMALL: (("ipc", "SHARED"), ("udp", "DEDICATED")),
}
VICTIMS = ("publisher", "subscriber", "driver")
TIMEOUT_S = 1.0
# A timer looks at each timeout this often, the end of a stream goes out with a heartbeat, and a loaded machine runs a process late.
TIMER_S, HEARTBEAT_S, LATE_S = 0.1, 0.1, 1.0
NOTICE_S = TIMEOUT_S + TIMER_S + HEARTBEAT_S + LATE_S
# Before an image is taken from its subscribers, its receiver confirms the end of the stream five times, each 200 ms.
CONFIRM_S = 5 * 0.2

TIMEOUTS = (
    "client_liveness_timeout_ns",
    "image_liveness_timeout_ns",
    "publication_connection_timeout_ns",
    "publication_linger_timeout_ns",
    "driver_timeout_ns",
)


def driver_options(threading_mode: str) -> dict[str, str]:
    milliseconds = int(TIMEOUT_S * 1e3)
    # One of them is read in milliseconds when it has no unit, and takes none.
    limits = {OPTIONS[name].property: f"{milliseconds}{'' if OPTIONS[name].unit == 'ms' else 'ms'}" for name in TIMEOUTS}
    return {
        **limits,
        OPTIONS["publication_unblock_timeout_ns"].property: "2s",
        OPTIONS["timer_interval_ns"].property: f"{int(TIMER_S * 1e3)}ms",
        OPTIONS["threading_mode"].property: threading_mode,
        OPTIONS["counters_buffer_length"].property: "1m",
        OPTIONS["dir_delete_on_shutdown"].property: "true",
    }


class KillScene(Scene):
    """A scene any of whose processes may be killed and started again, with short timeouts."""

    def __init__(self, workshop: Workshop, channel: str, threading_mode: str) -> None:
        super().__init__(workshop, channel, driver_options(threading_mode), f'{{"driver_timeout_ns": {int(TIMEOUT_S * 1e9)}}}')

    def kill(self, victim: str, *, is_restarted_at_once: bool = False) -> float:
        """Kill the victim; return how long until every survivor that must notice has noticed."""
        process = self.driver if victim == "driver" else self.peers[victim]
        killed = time.monotonic()
        process.popen.kill()
        process.popen.wait(START_S)
        if victim == "driver":
            if is_restarted_at_once:
                self.start_driver()
            return max(float(peer.event("ended", NOTICE_S)["at"]) for peer in self.peers.values()) - killed
        survivor, event = ("subscriber", "end of stream") if victim == "publisher" else ("publisher", "disconnected")
        noticed = float(self.peers[survivor].event(event, NOTICE_S)["at"]) - killed
        if victim == "publisher":
            self.peers[survivor].event("no image", CONFIRM_S + TIMER_S + LATE_S)
        return noticed

    def recover(self, victim: str, *, is_restarted_at_once: bool = False) -> None:
        """Start again what was killed, in the same directory, and see messages pass."""
        if victim == "driver":
            for peer in self.peers.values():
                assert peer.popen.wait(START_S) == 0, peer.said()
            if not is_restarted_at_once:
                self.start_driver()
            self.start_peers()
        else:
            self.peers[victim] = self.watcher(victim)
            self.expect_flow()


def run(rounds: int, seed: int, media: str, threading_mode: str, scratch: Path) -> str:
    generator = random.Random(seed)
    noticed: dict[str, list[float]] = {victim: [] for victim in VICTIMS}
    with open_workshop(scratch) as workshop:
        scene = KillScene(workshop, channel_of(media), threading_mode)
        for number in range(rounds):
            # Every kind of victim comes up, in an order and at moments that the seed decides.
            victim = VICTIMS[(number + seed) % len(VICTIMS)]
            # Every other driver is started again before anybody may have noticed that it was killed.
            is_restarted_at_once = victim == "driver" and len(noticed[victim]) % 2 == 1
            time.sleep(generator.uniform(0.0, 0.8))
            noticed[victim].append(scene.kill(victim, is_restarted_at_once=is_restarted_at_once))
            scene.recover(victim, is_restarted_at_once=is_restarted_at_once)
        scene.end()
    for victim, times in noticed.items():
        assert all(seconds <= NOTICE_S for seconds in times), (victim, noticed)
    return ", ".join(f"{victim} {len(times)} times, noticed within {max(times):.2f} s" for victim, times in noticed.items() if times)


def parts(size: Size) -> list[Part]:
    return [
        Part(f"{media}-{threading_mode.lower()}", SEEDS[size], partial(run, ROUNDS[size], SEEDS[size], media, threading_mode))
        for media, threading_mode in SCENES[size]
    ]
