"""Every way to die, at a random moment: killed, stopped, terminated, with an open claim, with its files pulled away, in a full memory.

Whoever survives notices within the timeouts or goes on undisturbed, nothing hangs, messages pass again afterwards, and when all
have ended in order nothing is left behind. Scenes and timeouts are those of kill9.
"""

from __future__ import annotations

import gc
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from aerowire.base.errors import AerowireError, RegistrationError
from aerowire.client import Aeron
from aerowire.codecs.tables.errors import ErrorCode
from tests.interop.scenarios import order
from tests.soak.bars import Part, Size
from tests.soak.scene import START_S, STREAM
from tests.soak.transport.kill9 import LATE_S, NOTICE_S, VICTIMS, KillScene
from tests.support import small_disk
from tests.support.processes import Workshop, free_port, open_workshop

ROUNDS = {Size.FULL: 20, Size.SMALL: 1}
SEED = 911
CLIENT_TIMEOUT_NS = 1_000_000_000
CLAIMED = 640
# A file system that holds the driver's own files and a few streams of 64 KiB terms.
MEMORY = "24m"


def killed(victim: str, scene: KillScene) -> None:
    scene.kill(victim)
    scene.recover(victim)


def stopped_client(victim: str, scene: KillScene) -> None:
    """A client that stands still is given up; when it goes on it learns that."""
    peer = scene.peers[victim]
    peer.popen.send_signal(signal.SIGSTOP)
    survivor, event = ("subscriber", "end of stream") if victim == "publisher" else ("publisher", "disconnected")
    scene.peers[survivor].event(event, NOTICE_S)
    peer.popen.send_signal(signal.SIGCONT)
    assert peer.event("ended", NOTICE_S)["error"] == "ClientTimeoutError"
    assert peer.popen.wait(START_S) == 0, peer.said()
    scene.recover(victim)


def stopped_driver(scene: KillScene) -> None:
    """A driver that stands still is given up by its clients; when it goes on it serves others."""
    scene.driver.popen.send_signal(signal.SIGSTOP)
    for peer in scene.peers.values():
        assert peer.event("ended", NOTICE_S)["error"] == "DriverTimeoutError"
        assert peer.popen.wait(START_S) == 0, peer.said()
    scene.driver.popen.send_signal(signal.SIGCONT)
    scene.start_peers()


def terminated_driver(scene: KillScene) -> None:
    scene.driver.popen.terminate()
    assert scene.driver.popen.wait(START_S) == 0, scene.driver.said()
    for peer in scene.peers.values():
        assert peer.event("ended", NOTICE_S)["error"] == "DriverShutdownError"
    scene.recover("driver")


def pulled_directory(scene: KillScene) -> None:
    """Whoever has the files mapped goes on; whoever comes has nowhere to go to, and is told at once."""
    shutil.rmtree(scene.directory)
    scene.expect_flow()
    started = time.monotonic()
    try:
        Aeron.connect(aeron_dir=str(scene.directory), driver_timeout_ns=CLIENT_TIMEOUT_NS).close()
    except AerowireError:
        assert time.monotonic() - started < CLIENT_TIMEOUT_NS / 1e9 + LATE_S
    else:
        raise AssertionError("connected to a directory that is not there")
    terminated_driver(scene)


def pulled_logs(scene: KillScene) -> None:
    """Streams that are mapped go on without their files, and end in order."""
    for log in scene.directory.glob("*/*.logbuffer"):
        log.unlink()
    scene.expect_flow()
    for peer in reversed(scene.peers.values()):
        assert peer.finish() == 0, peer.said()
    scene.start_peers()


def killed_claimant(scene: KillScene) -> None:
    """A publisher that shares the stream dies between claim and commit."""
    claimant = scene.workshop.peer(
        "publisher", scene.directory, channel=scene.channel, stream=STREAM, messages=0, seed=1, length_max=1, timeout=int(START_S)
    )
    claimant.outcome("publisher", START_S)
    order(claimant, f"claim {CLAIMED}")
    claimant.popen.kill()
    claimant.popen.wait(START_S)
    scene.expect_flow()
    scene.expect_flow()


def refusal_of(aeron: Aeron, channel: str) -> int | None:
    try:
        aeron.add_publication(channel, STREAM + 1).close()
    except RegistrationError as error:
        return error.error_code
    return None


def full_memory(scene: KillScene) -> None:
    """In a file system without room, streams that have their memory go on, and a new one is refused with the reason."""
    filler = scene.directory.parent / "filler"
    with filler.open("wb") as file:
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError:
            pass
    scene.expect_flow()
    with Aeron.connect(aeron_dir=str(scene.directory)) as aeron:
        assert refusal_of(aeron, "aeron:ipc?term-length=64k|sparse=false") == ErrorCode.STORAGE_SPACE
        filler.unlink()
        assert refusal_of(aeron, "aeron:ipc?term-length=64k|sparse=false") is None
    gc.collect()  # the closed client's mapping, which would keep the memory of files that are gone
    scene.expect_flow()


DEATHS: dict[str, Callable[[KillScene], None]] = {
    **{f"{victim}-killed": partial(killed, victim) for victim in VICTIMS},
    **{f"{victim}-stopped": partial(stopped_client, victim) for victim in ("publisher", "subscriber")},
    "driver-stopped": stopped_driver,
    "driver-terminated": terminated_driver,
    "directory-pulled": pulled_directory,
    "logs-pulled": pulled_logs,
    "claimant-killed": killed_claimant,
    "memory-full": full_memory,
}
SMALL = ("memory-full",)


def die(name: str, rounds: int, seed: int, workshop: Workshop) -> str:
    generator = random.Random(f"{seed} {name}")
    channels = ("aeron:ipc?", f"aeron:udp?endpoint=127.0.0.1:{free_port()}|")
    for number in range(rounds):
        scene = KillScene(workshop, f"{channels[number % 2]}term-length=64k|sparse=false", ("SHARED", "DEDICATED")[number // 2 % 2])
        time.sleep(generator.uniform(0.0, 0.3))
        DEATHS[name](scene)
        scene.end()
    return f"{rounds} times, nothing hung, nothing left"


def run(name: str, rounds: int, seed: int, scratch: Path) -> str:
    if name != "memory-full":
        with open_workshop(scratch) as workshop:
            return die(name, rounds, seed, workshop)
    # Drivers and clients share a small file system, which only a namespace of their own can have.
    if (reason := small_disk.reason_against()) is not None:
        return f"not run: {reason}"
    memory = scratch / "memory"
    memory.mkdir()
    command = [sys.executable, "-m", "tests.soak.transport.deaths", name, str(rounds), str(seed), str(scratch), str(memory)]
    done = subprocess.run(small_disk.within(memory, MEMORY, command), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def main() -> int:
    """Run deaths in a folder that is the whole memory: NAME ROUNDS SEED SCRATCH MEMORY."""
    name, rounds, seed, scratch, memory = sys.argv[1:]
    workshop = Workshop(Path(scratch), Path(memory))
    try:
        print(die(name, int(rounds), int(seed), workshop))
    finally:
        for process in reversed(workshop.processes):
            process.stop()
    assert not (left := list(Path(memory).iterdir())), left
    return 0


def parts(size: Size) -> list[Part]:
    return [Part(name, SEED, partial(run, name, ROUNDS[size], SEED)) for name in (DEATHS if size is Size.FULL else SMALL)]


if __name__ == "__main__":
    sys.exit(main())
