"""One episode: a new driver and client, some hundred to some thousand hostile datagrams, and everything that has to hold meanwhile."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from aerowire.base.errors import AerowireError
from aerowire.client import ExclusivePublication, Image, Subscription
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.conformance.accepted.generator import AcceptedGenerator
from aerowire.conformance.accepted.steps import Step
from aerowire.conformance.accepted.targets import SendTarget
from aerowire.ipc.cnc import CncFile
from tests.fuzz.grammar.bystander import Bystander
from tests.fuzz.grammar.changes import Changes, is_change, with_changes
from tests.fuzz.grammar.polls import OracleError, Reader
from tests.fuzz.grammar.world import (
    CONTROL,
    GROUP,
    GROUP_PORT,
    GROUP_STREAM,
    HOST,
    HOSTILE_DESTINATIONS,
    HOSTILE_RECEIVER,
    HOSTILE_RESPONDER,
    LOSSY_STREAM,
    MS,
    MULTI_STREAM,
    OTHER_STREAM,
    OWN_STREAM,
    PATH_A,
    PATH_B,
    RECEIVE,
    RECEIVE_OTHER,
    RESPONSE,
    STAMPED,
    TERM,
    World,
    targets,
)

LONG_PAUSE_NS = 1_200 * MS
# Index of the publication that sends to listed destinations.
LISTED = 2
# Cycles between two polls of a slow reader.
SLOW = 200
# One episode in so many has its capture read, which takes as long as an episode. Odd, like the seeds of the drivers that capture.
CAPTURES_READ = 9
DATAGRAMS_PER_CYCLE = 16
# Virtual time in which a stream of others has to be complete after the last hostile datagram.
PATIENCE_NS = 10_000 * MS
ERRORS_LOGGED_MAX = 5_000
# Bytes that the driver may send in answer for each byte that came, beside what time alone makes it send: status messages and heartbeats.
# A NAK of 28 bytes gets what it asks for once in each linger, up to a term: a publication's share depends on how many of the datagrams
# are NAKs. Nine times is the most that was seen; a driver that answers each NAK in full sends hundreds of times as much.
ANSWERS_OF_RECEIVER, ANSWERS_OF_SENDER = 1, 32
TIMED_ANSWERS = 64 * 1024
WAYS_OF_STREAM = {
    1001: ("poll", "assembler", "poll_many"),
    1002: ("controlled", "poll_block", "messages"),
    1003: ("controlled-assembler", "block_poll", "views"),
    1004: ("images", "raw_poll", "poll_into"),
    MULTI_STREAM: ("assembler",),
    GROUP_STREAM: ("poll_many",),
    LOSSY_STREAM: ("assembler", "messages"),
}


@dataclass(slots=True)
class Outcome:
    """What an episode was and what came of it; `finding` is empty when everything held."""

    seed: int
    episode: int
    datagrams: int = 0
    invalid: int = 0
    over_runs: int = 0
    under_runs: int = 0
    images: int = 0
    fragments: int = 0
    bystander_messages: int = 0
    answers: int = 0
    errors_logged: int = 0
    longest_poll_ms: float = 0.0
    kinds: dict[str, int] = field(default_factory=dict)
    poll_errors: dict[str, int] = field(default_factory=dict)
    finding: str = ""
    traceback: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return asdict(self)


class Episode:
    """Driver, client, readers and bystanders of one episode."""

    def __init__(self, directory: Path, seed: int) -> None:
        self._seed = seed
        self.world = World(directory, seed)
        self.outcome = Outcome(seed, 0)
        # Images by (number of the subscription, correlation id): those announced, and those whose end was announced.
        self.announced: dict[tuple[int, int], Image] = {}
        self.ended: set[tuple[int, int]] = set()
        self._subscriptions: list[Subscription] = []
        aeron = self.world.aeron
        channel = f"aeron:udp?endpoint={HOST}:{RECEIVE}"
        other = f"aeron:udp?endpoint={HOST}:{RECEIVE_OTHER}"
        control = ("static", "cubic")[seed // 2 % 2]
        group = f"aeron:udp?endpoint={GROUP}:{GROUP_PORT}|interface={HOST}|cc={control}"
        stamp = ("0", "8", "reserved")[seed % 3]
        receiver = f"endpoint={HOST}:{HOSTILE_RECEIVER}"
        dynamic = f"control={HOST}:{CONTROL}|control-mode=dynamic"
        flow_control = ("tagged,g:4711/1,t:500ms", "min,g:/1,t:500ms", "max")[seed // 3 % 3]
        stamped = f"aeron:udp?endpoint={HOST}:{STAMPED}|reliable=false|channel-rcv-ts-offset={stamp}|cc={control}"
        channels = {GROUP_STREAM: group, LOSSY_STREAM: stamped}
        self.readers = [
            Reader(self._subscribe(channels.get(stream, channel), stream), way, seed + number)
            for stream, ways in WAYS_OF_STREAM.items()
            for number, way in enumerate(ways)
        ]
        own, away = self._subscribe(channel, OWN_STREAM), self._subscribe(other, OTHER_STREAM)
        self.bystanders = [
            Bystander(aeron.add_publication(f"{channel}|session-id=7|{TERM}", OWN_STREAM), own, seed, "poll"),
            Bystander(aeron.add_publication(f"{other}|session-id=8|{TERM}", OTHER_STREAM), away, seed, "controlled"),
        ]
        responses = self._subscribe(f"aeron:udp?control={HOST}:{RESPONSE}|control-mode=response", 3104)
        self.readers.append(Reader(responses, "poll", seed))
        self.readers += [
            Reader(self._subscribe(f"aeron-spy:aeron:udp?{receiver}", 3001), "assembler", seed),
            Reader(self._subscribe(f"aeron-spy:aeron:udp?{dynamic}", 3002), "poll_block", seed),
        ]
        # These are read so seldom that the driver goes on without them.
        self.slow_readers = [
            Reader(self._subscribe(f"{name}|tether=false", stream), "assembler", seed)
            for name, stream in (
                (channel, 1001),
                (channel, OWN_STREAM),
                (f"aeron-spy:aeron:udp?{receiver}", 3001),
                (f"aeron-spy:aeron:udp?{dynamic}|rejoin=false", 3002),
            )
        ]
        last = 2**31 - 1
        self._channels_of_publications = [
            (f"{receiver}|channel-snd-ts-offset={stamp}|session-id=21", 0, 3001),
            (f"{dynamic}|fc={flow_control}|session-id=22", last, 3002),
            ("control-mode=manual|session-id=23", -1, 3003),
            (f"endpoint={HOST}:{HOSTILE_RESPONDER}|session-id=24|response-correlation-id={responses.registration_id}", last, 3004),
        ]
        self.publications = [self._publication(number) for number in range(len(self._channels_of_publications))]
        self._former_readers: list[Reader] = []
        self._former_lengths = [0] * len(self.publications)
        self.changes = Changes(self)
        self._checks_positions = True
        self._offered = [publication.position for publication in self.publications]
        self.targets = targets()
        for target in self.targets:
            self.world.attach(target)
        self.cnc = CncFile.map(directory / "cnc.dat")
        self.counters = self.cnc.counters_reader()
        for _ in range(40):
            self.world.advance(5 * MS)
            for bystander in self.bystanders:
                bystander.work()

    def trust_nothing(self) -> None:
        """Others write into logs and counters from now on: positions need not only grow."""
        self._checks_positions = False
        for reader in self._all_readers:
            reader.trust_nothing()

    @property
    def _all_readers(self) -> list[Reader]:
        return [*self.readers, *self.slow_readers]

    def renew_reader(self, number: int) -> None:
        """Close the subscription of a reader, and add it again. Raises RegistrationError while the driver still has its ports."""
        former = self.readers[number]
        former.subscription.close()
        subscription = self._subscribe(former.subscription.channel, former.subscription.stream_id)
        self.readers[number] = Reader(subscription, former.way, self._seed + number)
        self._former_readers.append(former)

    def renew_publication(self, number: int) -> None:
        """Close a publication to hostile receivers, and add it again. Raises RegistrationError while the driver still has the first one."""
        self.publications[number].close()
        self._former_lengths[number] += self._offered[number]
        self._offered[number] = 0
        self.publications[number] = self._publication(number)

    def listed(self) -> tuple[ExclusivePublication | Subscription, list[str]]:
        """Return the publication with a list of destinations, and these."""
        return self.publications[LISTED], [f"aeron:udp?endpoint={HOST}:{HOSTILE_DESTINATIONS + index}" for index in range(2)]

    def paths(self) -> tuple[ExclusivePublication | Subscription, list[str]]:
        """Return the subscription with several destinations, and these."""
        subscription = next(reader.subscription for reader in self.readers if reader.subscription.stream_id == MULTI_STREAM)
        return subscription, [f"aeron:udp?endpoint={HOST}:{port}" for port in (PATH_A, PATH_B)]

    def close(self) -> None:
        """End everything."""
        self.cnc.close()
        self.world.close()

    def run(self, steps: Iterable[Step], count: int, generator: AcceptedGenerator | None = None) -> None:
        """Send steps until `count` datagrams have gone out or there are no more; raise OracleError when something does not hold."""
        world = self.world
        for number, step in enumerate(steps):
            if is_change(step):
                self.changes.apply(step)
            else:
                world.send(step)
            if number % DATAGRAMS_PER_CYCLE == 0:
                self.cycle(number // DATAGRAMS_PER_CYCLE, generator)
            if not step.pause_ns:
                self.outcome.kinds[step.kind] = self.outcome.kinds.get(step.kind, 0) + 1
            if world.sent >= count:
                break
        self.cycle(0, generator)

    def finish(self) -> None:
        """Let the bystanders end their streams, and check what has to hold at the end."""
        world = self.world
        goals = [bystander.sent + 20 for bystander in self.bystanders]
        for _ in range(PATIENCE_NS // (5 * MS)):
            world.advance(5 * MS)
            for reader in self.readers:
                reader.poll()
            for bystander, goal in zip(self.bystanders, goals, strict=True):
                if bystander.sent < goal:
                    bystander.work()
                else:
                    bystander.take()
            if all(bystander.received == bystander.sent >= goal for bystander, goal in zip(self.bystanders, goals, strict=True)):
                break
        for bystander, goal in zip(self.bystanders, goals, strict=True):
            if bystander.sent < goal or bystander.received < bystander.sent:
                raise OracleError(f"a stream of others: {bystander.received} messages of {bystander.sent} arrived, {goal} were to be sent")
        # Hostile senders are silent now: their images end once all is read, and each end is announced.
        world.advance(3 * LONG_PAUSE_NS)
        for _ in range(200):
            world.advance(20 * MS)
            for reader in self._all_readers:
                reader.poll()
        self._check_ends()
        self._check_counters()
        self._check_answers()

    def measure(self) -> Outcome:
        """Return the outcome with what the driver has counted."""
        outcome, value = self.outcome, self.counters.value
        outcome.datagrams = self.world.sent
        outcome.invalid = value(SystemCounter.INVALID_PACKETS)
        outcome.over_runs = value(SystemCounter.FLOW_CONTROL_OVER_RUNS)
        outcome.under_runs = value(SystemCounter.FLOW_CONTROL_UNDER_RUNS)
        outcome.errors_logged = value(SystemCounter.ERRORS)
        outcome.images = len({correlation for _, correlation in self.announced})
        outcome.fragments = sum(reader.fragments for reader in [*self._all_readers, *self._former_readers])
        outcome.bystander_messages = sum(bystander.received for bystander in self.bystanders)
        outcome.longest_poll_ms = round(max(reader.longest_s for reader in self._all_readers) * 1e3, 3)
        errors: Counter[str] = Counter()
        for reader in self._all_readers:
            errors.update(reader.errors)
        errors.update(type(error).__name__ for error in self.world.errors)
        outcome.poll_errors = dict(errors)
        return outcome

    def check_capture(self) -> None:
        """The capture of a driver that has ended can be read to its end. A process of its own reads it, for the memory that this takes."""
        path = self.world.capture
        if path is None or self._seed % CAPTURES_READ:
            return
        command = [sys.executable, "-m", "aerowire.tools.main", "pcap", "summary", str(path)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise OracleError(f"the driver's capture cannot be read: {done.stderr[-1000:]}")

    # ---- what happens

    def cycle(self, number: int, generator: AcceptedGenerator | None = None) -> None:
        """Let driver and client work; read every stream, in ways that take turns; let the others go on."""
        world = self.world
        world.work()
        for name, payload in world.received():
            self.outcome.answers += 1
            if generator is not None:
                generator.feed(name, payload)
        turn = number % 3
        for index, reader in enumerate(self.readers):
            if index % 3 == turn:
                reader.poll()
        if number % SLOW == 0:
            for reader in self.slow_readers:
                reader.poll()
        if number % 2 == 0:
            for bystander in self.bystanders:
                bystander.work()
            self._publish()

    def _publish(self) -> None:
        """Offer to the publications whose receivers are hostile: their positions may only grow."""
        for index, publication in enumerate(self.publications):
            if publication.is_closed:
                continue
            publication.offer(b"\x11" * 700)
            position = publication.position
            if self._checks_positions and 0 <= position < self._offered[index]:
                raise OracleError(f"a publication's position went from {self._offered[index]} back to {position}")
            self._offered[index] = position

    def _publication(self, number: int) -> ExclusivePublication:
        channel, term_id, stream = self._channels_of_publications[number]
        begin = f"init-term-id={term_id}|term-id={term_id}|term-offset=0|{TERM}"
        publication = self.world.aeron.add_exclusive_publication(f"aeron:udp?{channel}|{begin}", stream)
        if number == LISTED:
            for index in range(2):
                publication.add_destination(f"aeron:udp?endpoint={HOST}:{HOSTILE_DESTINATIONS + index}")
        return publication

    def _subscribe(self, channel: str, stream: int) -> Subscription:
        number = len(self._subscriptions)

        def on_image(image: Image) -> None:
            self.announced[number, image.correlation_id] = image

        def on_end(image: Image) -> None:
            self.ended.add((number, image.correlation_id))

        is_multi = stream == MULTI_STREAM
        subscription = self.world.aeron.add_subscription(
            "aeron:udp?control-mode=manual" if is_multi else channel,
            stream,
            available_image_handler=on_image,
            unavailable_image_handler=on_end,
        )
        if is_multi:
            for port in (PATH_A, PATH_B):
                subscription.add_destination(f"aeron:udp?endpoint={HOST}:{port}")
        self._subscriptions.append(subscription)
        return subscription

    # ---- what has to hold

    def _check_ends(self) -> None:
        living = {(at, image.correlation_id) for at, subscription in enumerate(self._subscriptions) for image in subscription.images}
        silent = [self.announced[key] for key in self.announced if key not in self.ended and key not in living]
        if silent:
            raise OracleError(f"{len(silent)} images went without notice, the first of session {silent[0].session_id}")
        hostile = [self.announced[key] for key in living if self.announced[key].session_id >= 10_000]
        if hostile:
            first = hostile[0]
            raise OracleError(
                f"{len(hostile)} images outlive their silent senders, the first of session {first.session_id} at {first.position}"
            )
        foreign = [error for error in self.world.errors if not isinstance(error, AerowireError)]
        if foreign:
            raise OracleError(f"the client's error handler got {foreign[0]!r}")
        if self.world.aeron.is_closed:
            raise OracleError("the client has ended")

    def _check_counters(self) -> None:
        value = self.counters.value
        if value(SystemCounter.ERRORS) > ERRORS_LOGGED_MAX:
            raise OracleError(f"{value(SystemCounter.ERRORS)} errors were logged")
        for which in SystemCounter:
            if value(which) < 0:
                raise OracleError(f"counter {which.name} is {value(which)}")
        if value(SystemCounter.CLIENT_TIMEOUTS):
            raise OracleError(f"{value(SystemCounter.CLIENT_TIMEOUTS)} clients were given up")

    def _check_answers(self) -> None:
        """The driver's answers are bounded by what was sent to it; a publication with one destination sends its own data beside."""
        asked, answered = self.world.asked, self.world.answered
        for target in self.targets:
            name = target.name
            if isinstance(target, SendTarget) and target.receivers > 1:
                # Each of its forged receivers is a destination, and gets the stream.
                continue
            is_sender = isinstance(target, SendTarget)
            most = (ANSWERS_OF_SENDER if is_sender else ANSWERS_OF_RECEIVER) * asked[name] + TIMED_ANSWERS
            if is_sender:
                number = {"one": 0, "request": 3}[name]
                most += self._former_lengths[number] + self._offered[number]
            if answered[name] > most:
                raise OracleError(f"{answered[name]} bytes answered {asked[name]} bytes to {name!r}, {most} are to be expected")


def run_episode(seed: int, number: int, count: int, record: Callable[[Step], object] | None = None) -> Outcome:
    """Draw and run an episode; `record` is called with each step BEFORE it is done."""
    return _run(seed, number, count, None, record)


def replay_episode(seed: int, number: int, steps: list[Step]) -> Outcome:
    """Run an episode with recorded steps in the place of drawn ones."""
    return _run(seed, number, len(steps), steps, None)


def _run(seed: int, number: int, count: int, steps: Iterable[Step] | None, record: Callable[[Step], object] | None) -> Outcome:
    outcome = Outcome(seed, number)
    with tempfile.TemporaryDirectory(prefix="aw-grammar-", dir=_shared_memory()) as scratch:
        episode = Episode(Path(scratch) / "driver", seed * 1_000_003 + number)
        episode.outcome = outcome
        try:
            generator = None
            if steps is None:
                generator = AcceptedGenerator(f"{seed}-{number}", episode.targets, long_pause_ns=LONG_PAUSE_NS)
                drawn = with_changes(generator, f"{seed}-{number}")
                steps = drawn if record is None else _recorded(drawn, record)
            episode.run(steps, count, generator)
            episode.finish()
        except OracleError as error:
            outcome.finding = str(error)
        except Exception as error:
            outcome.finding = f"{type(error).__name__}: {error}"
            outcome.traceback = traceback.format_exc()
        finally:
            episode.measure()
            episode.close()
        if not outcome.finding:
            try:
                episode.check_capture()
            except OracleError as error:
                outcome.finding = str(error)
    return outcome


def _recorded(steps: Iterable[Step], record: Callable[[Step], object]) -> Iterator[Step]:
    for step in steps:
        record(step)
        yield step


def _shared_memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
