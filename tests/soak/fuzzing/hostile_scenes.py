"""The eight hostile scenes: what the network, a neighbour in shared memory or another user does, and driver and clients that bear it.

Behind each scene stands a driver, a client that reads in every way, in an event loop too, and two streams of others, one through the
attacked endpoint. They have to live and the streams to arrive whole; where files are cut off, each process ends with its own error or one
line on stderr instead.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from aerowire.codecs.flyweights.cnc import BroadcastTrailerDecoder, RingTrailerDecoder
from aerowire.conformance.harness.cnc import CncFile
from aerowire.conformance.harness.ring import RingFullError, RingWriter
from tests.soak.bars import Part, Size
from tests.support.hostile.wire import WIRE_SCENES, Attacker
from tests.support.processes import Process, Workshop, free_port, open_workshop, wait_for_driver

RUNS = {Size.FULL: 20, Size.SMALL: 1}
STREAM = 1001
START_S = 60.0
# Longer than a poll may take: the readers' own limit is 100 ms of processor time.
SETTLE_S = 0.3
OPTIONS = {
    "aeron.dir.delete.on.start": "true",
    "aeron.dir.delete.on.shutdown": "true",
    "aeron.term.buffer.length": "64k",
    "aeron.image.liveness.timeout": "1s",
    "aeron.timer.interval": "100ms",
}
POLL_LIMIT_MS = 100.0
UNKNOWN_COMMAND = 99
REFUSAL_S = 15.0
# Seconds and process numbers ahead for which links are planted.
LINKED_SECONDS, LINKED_PROCESSES = 10, 100


class Stage:
    """A driver, a client under attack and the ports of both endpoints."""

    def __init__(self, workshop: Workshop, size: Size) -> None:
        # A client that spins takes a core from tests that run beside it.
        self._rests = int(size is Size.SMALL)
        self.workshop = workshop
        self.directory = workshop.directory()
        self.receive, self.other = free_port(), free_port()
        self.driver = workshop.driver(self.directory, OPTIONS)
        wait_for_driver(self.directory, self.driver)
        self.client = self.new_client()

    def new_client(self) -> Process:
        """Start a client under attack, whose own streams flow."""
        client = self.workshop.peer("bombarded", self.directory, receive=self.receive, other=self.other, stream=STREAM, rests=self._rests)
        try:
            client.event("ready", START_S)
        except AssertionError as error:
            if client.popen.poll() == 0:
                raise AssertionError(f"a new client has ended: {client.outcome('bombarded', 0)}") from error
            raise
        return client

    def expect_alive(self) -> None:
        """Assert that the driver lives."""
        assert self.driver.popen.poll() is None, f"the driver ended with {self.driver.popen.poll()}\n{self.driver.said()}"

    def end_client(self) -> dict[str, object]:
        """Let the client complete its streams and end; assert that it lived and that they are whole; return what it saw."""
        assert self.client.popen.stdin is not None
        self.client.popen.stdin.close()
        outcome = self.client.outcome("bombarded", START_S)
        assert self.client.popen.wait(START_S) == 0, self.client.said()
        assert outcome["finding"] == "", outcome
        assert float(outcome["longest_ms"]) <= POLL_LIMIT_MS, outcome
        self.expect_alive()
        return outcome

    def end(self) -> None:
        """End the driver in order."""
        self.driver.popen.terminate()
        assert self.driver.popen.wait(START_S) == 0, self.driver.said()


def wire(size: Size, scenes: list[str], seed: int, scratch: Path) -> str:
    """Send the datagrams of scenes to one driver and client."""
    with open_workshop(scratch) as workshop:
        stage = Stage(workshop, size)
        attacker = Attacker(stage.receive, STREAM, seed)
        try:
            for scene in scenes:
                WIRE_SCENES[scene](attacker)
                time.sleep(SETTLE_S)
                stage.expect_alive()
        finally:
            attacker.close()
        outcome = stage.end_client()
        # The attack has reached the client, and not only the socket.
        assert int(str(outcome["images"])) > len(scenes), outcome
        stage.end()
    seen = ", ".join(f"{outcome[name]} {name}" for name in ("images", "fragments", "errors", "own"))
    return f"{attacker.sent} datagrams, {seen}"


# ---- shared memory


def put(cnc: CncFile, at: int, value: int, size: int) -> None:
    cnc.mapping.buffer[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def spoil_ring(cnc: CncFile, dice: random.Random) -> None:
    """Put a record or a position that no writer leaves into the to-driver buffer."""
    offset, length = cnc.to_driver
    trailer = offset + length - RingTrailerDecoder.ENCODED_LENGTH
    capacity = length - RingTrailerDecoder.ENCODED_LENGTH
    tail = cnc.mapping.i64(trailer + RingTrailerDecoder.TAIL_POSITION_OFFSET)
    head = cnc.mapping.i64(trailer + RingTrailerDecoder.HEAD_POSITION_OFFSET)
    kind = dice.choice(("length", "tail behind", "misaligned", "tail ahead"))
    if kind == "length":
        put(cnc, offset + tail % capacity, dice.choice((2**31 - 1, -(2**31), 5, 100_000_000)), 4)
        put(cnc, trailer + RingTrailerDecoder.TAIL_POSITION_OFFSET, tail + 64, 8)
    elif kind == "tail behind":
        put(cnc, trailer + RingTrailerDecoder.TAIL_POSITION_OFFSET, max(0, head - dice.choice((8, 64, 1 << 20))), 8)
    elif kind == "misaligned":
        put(cnc, trailer + RingTrailerDecoder.HEAD_POSITION_OFFSET, head + dice.randrange(1, 8), 8)
    else:
        put(cnc, trailer + RingTrailerDecoder.TAIL_POSITION_OFFSET, tail + dice.choice((capacity, 1 << 40, 2**62)), 8)


def wait_until_served(cnc: CncFile) -> None:
    """Send a command, and wait until the driver has read everything that the to-driver buffer holds.

    Room that was claimed and never written is skipped a client's liveness timeout later, when something stands behind it: until then a
    writer may still come back to it. Aeron: ManyToOneRingBuffer.unblock.
    """
    offset, length = cnc.to_driver
    trailer = offset + length - RingTrailerDecoder.ENCODED_LENGTH
    writer = RingWriter(cnc.mapping, offset, length)
    positions: tuple[int, int] = (0, 1)
    is_sent = False
    deadline = time.monotonic() + START_S
    while not is_sent or positions[0] != positions[1]:
        assert time.monotonic() < deadline, f"the driver does not read the to-driver buffer: head and tail {positions}"
        if not is_sent:
            with contextlib.suppress(RingFullError):
                writer.write(UNKNOWN_COMMAND, bytes(16))
                is_sent = True
        time.sleep(0.01)
        positions = (
            cnc.mapping.i64(trailer + RingTrailerDecoder.HEAD_POSITION_OFFSET),
            cnc.mapping.i64(trailer + RingTrailerDecoder.TAIL_POSITION_OFFSET),
        )


def ring(size: Size, seed: int, scratch: Path) -> str:
    """Damage the to-driver buffer again and again: the driver goes on to serve, and a new client is let in."""
    dice = random.Random(seed)
    with open_workshop(scratch) as workshop:
        stage = Stage(workshop, size)
        cnc = CncFile(stage.directory)
        try:
            for _ in range(10):
                spoil_ring(cnc, dice)
                time.sleep(SETTLE_S / 3)
                stage.expect_alive()
            texts = cnc.errors()
            wait_until_served(cnc)
        finally:
            cnc.close()
        assert any("to-driver" in text for text in texts), texts
        outcome = stage.end_client()
        stage.client = stage.new_client()
        stage.end_client()
        stage.end()
    return f"{len(texts)} errors logged, own {outcome['own']}"


def broadcast(size: Size, seed: int, scratch: Path) -> str:
    """Damage the to-clients buffer: clients live or end with their own error, and a new client is served."""
    dice = random.Random(seed)
    with open_workshop(scratch) as workshop:
        stage = Stage(workshop, size)
        cnc = CncFile(stage.directory)
        try:
            offset, length = cnc.to_clients
            trailer = offset + length - BroadcastTrailerDecoder.ENCODED_LENGTH
            capacity = length - BroadcastTrailerDecoder.ENCODED_LENGTH
            for attempt in range(10):
                tail = cnc.mapping.i64(trailer + BroadcastTrailerDecoder.TAIL_OFFSET)
                # A client that meets a damaged position ends by it, so the first damage is the length at which a sum overflows.
                if attempt == 0 or dice.random() < 0.5:
                    length = dice.choice((2**31 - 1, -1, 3, 0, 1 << 20)) if attempt else 2**31 - 1
                    put(cnc, offset + tail % capacity, length, 4)
                    put(cnc, trailer + BroadcastTrailerDecoder.TAIL_INTENT_OFFSET, tail + 64, 8)
                    put(cnc, trailer + BroadcastTrailerDecoder.TAIL_OFFSET, tail + 64, 8)
                else:
                    field = dice.choice(
                        (
                            BroadcastTrailerDecoder.TAIL_OFFSET,
                            BroadcastTrailerDecoder.LATEST_OFFSET,
                            BroadcastTrailerDecoder.TAIL_INTENT_OFFSET,
                        )
                    )
                    put(cnc, trailer + field, dice.choice((tail + 3, 1 << 62, -8, tail + 8)), 8)
                time.sleep(SETTLE_S / 3)
                stage.expect_alive()
            # The driver's next message, the answer to a command of an unknown type, puts the positions right.
            RingWriter(cnc.mapping, *cnc.to_driver).write(UNKNOWN_COMMAND, bytes(16))
            time.sleep(SETTLE_S)
        finally:
            cnc.close()
        ended = ends_by_itself(stage.client)
        if not ended:
            stage.end_client()
        stage.client = stage.new_client()
        stage.end_client()
        stage.end()
    return ended or "the client lived"


def cut_log(size: Size, seed: int, scratch: Path) -> str:
    """Cut off the log of a hostile image that is being read: its readers get an error, all other streams go on."""
    dice = random.Random(seed)
    with open_workshop(scratch) as workshop:
        stage = Stage(workshop, size)
        before = set(stage.directory.glob("images/*.logbuffer"))
        attacker = Attacker(stage.receive, STREAM, seed)
        try:
            session = attacker.session()
            attacker.send(*(session.frame(index * 64, b"before") for index in range(8)))
            time.sleep(SETTLE_S)
            (log,) = set(stage.directory.glob("images/*.logbuffer")) - before
            os.truncate(log, dice.choice((0, 4096, 65536)))
            attacker.send(*(session.frame(index * 64, b"behind") for index in range(8, 512)))
        finally:
            attacker.close()
        time.sleep(SETTLE_S)
        outcome = stage.end_client()
        stage.end()
    return f"errors {outcome['errors']}, own {outcome['own']}"


def cut_cnc(size: Size, seed: int, scratch: Path) -> str:
    """Cut off cnc.dat: driver and client end, each with an error of its own."""
    with open_workshop(scratch) as workshop:
        stage = Stage(workshop, size)
        os.truncate(stage.directory / "cnc.dat", random.Random(seed).choice((0, 4096)))
        outcome = stage.client.outcome("bombarded", START_S)
        assert stage.client.popen.wait(START_S) == 0, stage.client.said()
        # Counters read as zero until the client notices: its streams may start again for that moment.
        assert outcome["finding"] == "" or "is not what was sent" in str(outcome["finding"]), outcome
        # Each of the client's readers meets the one error that has ended it, and none another one.
        assert {*outcome["errors"]} == {"TruncatedFileError"}, outcome
        assert outcome["ended"] == "" or "cnc.dat" in str(outcome["ended"]), outcome
        status = stage.driver.popen.wait(START_S)
        # A driver without its file ends as one that is asked to: in order.
        assert status == 0, f"the driver ended with {status}\n{stage.driver.said()}"
        said = stage.driver.log.read_text()
        assert re.fullmatch(r"aerowire driver: [^\n]*/cnc\.dat; [^\n]*; the driver ends\n", said), said
    return f"{outcome['errors']} / {said.strip().splitlines()[-1]}"


# ---- other users


def links(seed: int, scratch: Path) -> str:
    """Directories, captures and saved error logs that are a link, or another user's: nothing behind them is touched."""
    with open_workshop(scratch) as workshop:
        victim = scratch / "victim"
        victim.mkdir()
        said = [refusal(workshop, _linked(workshop.memory / "link", victim))]
        if os.geteuid() == 0:
            foreign = workshop.memory / "foreign"
            foreign.mkdir()
            os.chown(foreign, 65534, 65534)
            said.append(refusal(workshop, foreign))
            assert [*foreign.iterdir()] == []
        assert [*victim.iterdir()] == []
        said += capture_refusals(workshop, scratch)
        saved = saved_error_log(workshop, scratch, random.Random(seed))
    return f"{len(said)} refusals: {said[0]}; {saved}"


def capture_refusals(workshop: Workshop, scratch: Path) -> list[str]:
    """Start drivers whose capture file is there, a link to a file, or a link to none; return what they said."""
    kept, missing = scratch / "kept.pcapng", scratch / "missing.pcapng"
    kept.write_text("kept")
    links = [_linked(scratch / f"to-{target.stem}.pcapng", target) for target in (kept, missing)]
    attempts = [(kept, ()), *((link, more) for link in links for more in ((), ("--capture-overwrite",)))]
    said = [
        refusal(workshop, workshop.memory / f"capturing-{number}", "--capture", str(path), *more)
        for number, (path, more) in enumerate(attempts)
    ]
    assert kept.read_text() == "kept"
    assert not missing.exists()
    assert all(link.is_symlink() for link in links)
    return said


def saved_error_log(workshop: Workshop, scratch: Path, dice: random.Random) -> str:
    """Plant links at the names under which a driver can save the errors of the one before it; return the line that names the file."""
    victim = scratch / "victim.log"
    victim.write_text("kept")
    directory = workshop.memory / "erring"
    # The errors stay when their driver dies.
    first = workshop.driver(directory, OPTIONS)
    wait_for_driver(directory, first)
    cnc = CncFile(directory)
    try:
        RingWriter(cnc.mapping, *cnc.to_driver).write(UNKNOWN_COMMAND, bytes(16))
        deadline = time.monotonic() + START_S
        while not cnc.errors():
            assert time.monotonic() < deadline, "the driver logs no error"
            time.sleep(0.01)
    finally:
        cnc.close()
    first.popen.kill()
    first.popen.wait(START_S)
    # A name has the second in which it is made and the process's number, which the next processes are close to.
    now, last = time.time(), first.popen.pid
    stamps = [time.strftime("%Y-%m-%d-%H-%M-%S", time.localtime(now + second)) for second in range(LINKED_SECONDS)]
    planted = [
        _linked(workshop.memory / f"erring-{stamp}-{last + ahead}-error.log", victim if dice.random() < 0.5 else scratch / "no-log")
        for stamp in stamps
        for ahead in range(1, LINKED_PROCESSES)
    ]
    second = workshop.driver(directory, {**OPTIONS, "aeron.dir.delete.on.start": "false", "aeron.driver.timeout": "1s"})
    wait_for_driver(directory, second)
    second.popen.terminate()
    assert second.popen.wait(START_S) == 0, second.said()
    said = second.log.read_text()
    found = re.search(r"existing errors saved to: (\S+)", said)
    assert found, said
    assert victim.read_text() == "kept"
    assert not (scratch / "no-log").exists()
    saved = Path(found[1])
    assert not saved.is_symlink()
    assert str(UNKNOWN_COMMAND) in saved.read_text()
    assert any(link.name.startswith(saved.name.rpartition("-error")[0].rsplit("-", 1)[0]) for link in planted), f"{saved} had no link"
    return f"errors saved to {saved.name}"


def refusal(workshop: Workshop, directory: Path, *arguments: str) -> str:
    """Start a driver that has to refuse; return what it said."""
    driver = workshop.driver(directory, OPTIONS, *arguments)
    try:
        status = driver.popen.wait(REFUSAL_S)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"a driver serves {directory} {arguments}\n{driver.said()}") from None
    said = driver.log.read_text().strip()
    assert status > 0, driver.said()
    assert said, f"the driver ended with {status} and said nothing"
    assert "Traceback" not in said, said
    return said.splitlines()[0]


def _linked(path: Path, target: Path) -> Path:
    path.symlink_to(target)
    return path


def ends_by_itself(client: Process) -> str:
    """Return the error with which a client has ended by itself, or an empty text while it lives; a crash fails."""
    try:
        outcome = client.outcome("bombarded", SETTLE_S)
    except AssertionError:
        assert client.popen.poll() is None, client.said()
        return ""
    assert outcome["finding"] == "", outcome
    assert client.popen.wait(START_S) == 0, client.said()
    assert outcome["ended"], outcome
    return str(outcome["ended"])


def parts(size: Size) -> list[Part]:
    """Return the parts: one scene each at full size, those of the wire together at small size."""
    others: list[tuple[str, Callable[[int, Path], str]]] = [
        ("ring", partial(ring, size)),
        ("broadcast", partial(broadcast, size)),
        ("cut-log", partial(cut_log, size)),
        ("cut-cnc", partial(cut_cnc, size)),
        ("links", links),
    ]
    if size is Size.SMALL:
        return [Part("wire", 1, partial(wire, size, list(WIRE_SCENES), 1)), *(Part(name, 1, partial(scene, 1)) for name, scene in others)]
    scenes: list[tuple[str, Callable[[int, Path], str]]] = [(name, partial(wire, size, [name])) for name in WIRE_SCENES]
    scenes += others
    return [Part(f"{name}-{run}", run, partial(scene, run)) for name, scene in scenes for run in range(1, RUNS[size] + 1)]
