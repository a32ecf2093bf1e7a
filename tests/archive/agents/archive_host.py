"""What a conductor of an archive does with its agents, for tests: it lends, commands, and hears the events.

The agents run in the test's own thread, one cycle at a call, unless a test gives them threads.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aerowire.archive.agents.agent_events import AgentEvents
from aerowire.archive.agents.agent_proxies import RecorderProxy, ReplayerProxy
from aerowire.archive.agents.cycle_counters import CycleCounters
from aerowire.archive.agents.events import AgentEvent, RecordingEnded, ReplayEnded, ReplayStarted
from aerowire.archive.agents.recorder import Recorder
from aerowire.archive.agents.recording_session import RecordingSession
from aerowire.archive.agents.recording_settings import RecordingSettings
from aerowire.archive.agents.replay_session import ReplaySession
from aerowire.archive.agents.replayer import Replayer
from aerowire.archive.agents.transfer_counters import TransferCounters
from aerowire.archive.agents.transfer_settings import TransferSettings
from aerowire.base.channel_builder import build_channel, initial_position
from aerowire.base.file_port import FilePort
from aerowire.base.ports import ClockPort
from aerowire.base.runner import AgentInvoker, AgentRunner
from aerowire.client import Aeron, FragmentAssembler, Image, Subscription
from aerowire.client.lending.lent_counter import LentCounter
from aerowire.client.lending.lent_image import LentImage
from aerowire.client.lending.lent_publication import LentPublication
from aerowire.codecs.tables.counters import CounterType
from aerowire.system.clock import SystemClock
from aerowire.system.file_system import FileSystem
from tests.conftest import SEED
from tests.support.waiting import rest, wait_until

TERM = 64 * 1024
SEGMENT = 64 * 1024
IO_MAX = 64 * 1024
SECOND_NS = 1_000_000_000
FOREVER = (1 << 63) - 1
HEADER = 32


def image_of(subscription: Subscription, session_id: int) -> Image:
    """Return the image of a session, as soon as it is there."""
    wait_until(lambda: subscription.image_by_session_id(session_id) is not None, "an image")
    image = subscription.image_by_session_id(session_id)
    assert image is not None
    return image


class Recorded:
    """A stream that is being recorded: its writer, its session and a second reader that keeps what the log held."""

    def __init__(self, host: ArchiveHost, publication: Any, session: RecordingSession, witness: LentImage, start_position: int) -> None:
        self.host, self.publication, self.session, self.witness = host, publication, session, witness
        self.start_position = start_position
        self.messages: list[bytes] = []
        self.content: dict[int, bytes] = {}  # position -> block
        self.seen_to: int = witness.handle.position if witness.handle else 0  # type: ignore[attr-defined]

    def watch(self) -> None:
        """Read on what the log holds, so that its memory may be used again."""
        while isinstance(block := self.witness.read_block(self.seen_to, FOREVER, TERM), bytes):
            self.content[self.seen_to] = block
            self.seen_to += len(block)
            assert self.witness.move(self.seen_to)

    def send(self, *messages: bytes) -> None:
        """Publish messages while recorder and witness read."""
        for message in messages:
            self.messages.append(message)
            while self.publication.offer(message) < 0:
                self.host.work()
        self.settle()

    def settle(self) -> None:
        """Work until all that was published is recorded, or the recording has ended."""
        wait_until(
            lambda: self.session.is_ended or self.session.position == self.publication.position, "the recording", work=self.host.work
        )
        self.watch()


class ArchiveHost:
    """Recorder and replayer of one archive directory on a client.

    What is recorded is published, and replays are read, by an `application`: a client of its own, if threads are to be checked by a
    sanitizer. It sees memory by its address, and not that the driver lets it be used again by another one.
    """

    def __init__(
        self,
        client: Aeron,
        directory: Path | str,
        *,
        application: Aeron | None = None,
        files: FilePort | None = None,
        clock: ClockPort | None = None,
        sync_level: int = 0,
        io_max: int = IO_MAX,
        segment_length: int = SEGMENT,
        recorder_totals: TransferCounters | None = None,
        recorder_cycles: CycleCounters | None = None,
        before_work: Callable[[], object] = lambda: None,
        is_preallocated: bool = False,
        **checks: Any,
    ) -> None:
        self.client, self.directory, self.segment_length = client, directory, segment_length
        self._application = client if application is None else application
        files = FileSystem() if files is None else files
        self.clock = SystemClock() if clock is None else clock
        self._before_work = before_work
        self.events = AgentEvents()
        self.recorder = Recorder(self.events, self.clock, recorder_totals or TransferCounters(), recorder_cycles)
        self.replayer = Replayer(self.events, self.clock, TransferCounters())
        self.to_recorder, self.to_replayer = RecorderProxy(self.recorder), ReplayerProxy(self.replayer)
        self.recording_settings = RecordingSettings(
            files, directory, file_io_max_length=io_max, sync_level=sync_level, is_preallocated=is_preallocated, **checks
        )
        self.replay_settings = TransferSettings(files, directory, file_io_max_length=io_max, **checks)
        self.invoker: AgentInvoker | None = AgentInvoker([self.recorder, self.replayer], self.clock)
        self.invoker.start()
        self.seen: list[AgentEvent] = []
        self.recordings: list[Recorded] = []
        self._runners: list[AgentRunner] = []
        self._opened: list[Any] = []  # of the clients

    def run(self, runners: list[AgentRunner]) -> list[AgentRunner]:
        """Start threads that run the agents from now on."""
        self.invoker = None
        self._runners = [runner.start() for runner in runners]
        return self._runners

    def work(self) -> int:
        """Run a cycle of each agent, take the events, and read the witnesses."""
        self._before_work()
        if self.invoker is None:
            rest()
        done = 0 if self.invoker is None else self.invoker.invoke()
        self.seen.extend(self.events.poll())
        for recorded in self.recordings:
            recorded.watch()
        return done

    # ---- recordings

    def record(
        self,
        recording_id: int = 1,
        *,
        stream_id: int = 1001,
        position: int = 0,
        start_position: int | None = None,
        initial_term_id: int = 7,
        term_length: int = TERM,
        **channel: Any,
    ) -> Recorded:
        """Publish a stream from a position on, and record it."""
        begin: dict[str, Any] = initial_position(position, initial_term_id, term_length)
        uri = build_channel("ipc", **begin, **channel)
        subscription = self.client.add_subscription(uri, stream_id)
        witnessing = self.client.add_subscription(uri, stream_id)
        publication = self._application.add_exclusive_publication(uri, stream_id)
        self._opened += [subscription, witnessing, publication]
        image, other = (image_of(one, publication.session_id) for one in (subscription, witnessing))
        wait_until(lambda: publication.is_connected, "subscribers")
        counter = self.client.add_counter(CounterType.ARCHIVE_RECORDING_POSITION, "rec-pos")
        counter.value = position
        session = RecordingSession(
            LentImage(image),
            LentCounter(counter),
            self.recording_settings,
            recording_id=recording_id,
            start_position=position if start_position is None else start_position,
            term_length=term_length,
            segment_length=self.segment_length,
        )
        witness = LentImage(other)
        recorded = Recorded(self, publication, session, witness, position if start_position is None else start_position)
        self.recordings.append(recorded)
        self.to_recorder.add(session)
        return recorded

    def ended(self, session: RecordingSession) -> RecordingEnded:
        """Wait for a recording's last event, and return it."""
        event: RecordingEnded = self._event(lambda event: isinstance(event, RecordingEnded) and event.session is session)
        return event

    def stop(self, recorded: Recorded) -> RecordingEnded:
        """Stop a recording."""
        self.to_recorder.stop(recorded.session)
        return self.ended(recorded.session)

    # ---- replays

    def replay(
        self,
        recording_id: int = 1,
        *,
        position: int = 0,
        limit_position: int = FOREVER,
        start_position: int = 0,
        stop_position: int = -1,
        stream_id: int = 1001,
        replay_stream_id: int = 2001,
        initial_term_id: int = 7,
        term_length: int = TERM,
        subscribe: bool = True,
        connect_timeout_ns: int = 60 * SECOND_NS,
        **options: Any,
    ) -> Replayed:
        """Replay a recording to a subscription."""
        begin: dict[str, Any] = initial_position(position, initial_term_id, term_length)
        uri = build_channel("ipc", **begin)
        publication = self.client.add_exclusive_publication(uri, replay_stream_id)
        self._opened.append(publication)
        subscription = None
        if subscribe:
            replayed = build_channel("ipc", session_id=publication.session_id)
            subscription = self._application.add_subscription(replayed, replay_stream_id)
            self._opened.append(subscription)
            wait_until(lambda: publication.is_connected and subscription.images, "a subscriber")
        session = ReplaySession(
            LentPublication(publication),
            self.replay_settings,
            recording_id=recording_id,
            position=position,
            limit_position=limit_position,
            start_position=start_position,
            stop_position=stop_position,
            initial_term_id=initial_term_id,
            stream_id=stream_id,
            term_length=term_length,
            segment_length=self.segment_length,
            connect_timeout_ns=connect_timeout_ns,
            **options,
        )
        self.to_replayer.add(session)
        return Replayed(self, publication, subscription, session)

    def replay_ended(self, session: ReplaySession) -> ReplayEnded:
        """Wait for a replay's last event, and return it."""
        event: ReplayEnded = self._event(lambda event: isinstance(event, ReplayEnded) and event.session is session)
        return event

    def has_started(self, session: ReplaySession) -> bool:
        """Return whether the replay has started."""
        return any(isinstance(event, ReplayStarted) and event.session is session for event in self.seen)

    def replayer_deadline_ns(self) -> int:
        """Return when the replayer is to work next, if nothing comes."""
        return AgentInvoker([self.replayer], self.clock).next_deadline_ns()

    def _event(self, matches: Callable[[AgentEvent], bool]) -> Any:
        wait_until(lambda: any(map(matches, self.seen)), lambda: f"the last event, after {self.seen}", work=self.work)
        return next(filter(matches, self.seen))

    def close(self) -> None:
        """Stop the agents, and close what they worked on."""
        if self.invoker is not None:
            self.invoker.close()
        for runner in self._runners:
            runner.stop()
        for recorded in self.recordings:
            recorded.witness.return_now()
        for handle in self._opened:
            handle.close()


class Replayed:
    """A replay and its subscriber."""

    def __init__(self, host: ArchiveHost, publication: Any, subscription: Any, session: ReplaySession) -> None:
        self.host, self.publication, self.subscription, self.session = host, publication, subscription, session
        self.messages: list[bytes] = []
        self.headers: list[tuple[int, int]] = []  # session id and stream id of each
        self._assembler = FragmentAssembler(self._on_message)

    def poll(self) -> None:
        """Run a cycle of the agents and receive what has come."""
        self.host.work()
        for image in self.subscription.images:
            image.poll(self._assembler, 1_000)

    def ended(self) -> ReplayEnded:
        """Receive until the replay has ended and all of it has come."""
        wait_until(lambda: self.is_over, lambda: f"the end of the replay, after {len(self.messages)} messages", work=self.poll)
        end = self.host.replay_ended(self.session)
        wait_until(lambda: self.subscription.images[0].position >= end.position, "the last messages", work=self.poll)
        return end

    def receive(self, count: int) -> None:
        """Receive until so many messages have come in all."""
        wait_until(lambda: len(self.messages) >= count, lambda: f"{len(self.messages)} messages", work=self.poll)
        assert len(self.messages) == count

    @property
    def is_over(self) -> bool:
        """Whether the replay has ended."""
        return any(isinstance(event, ReplayEnded) and event.session is self.session for event in self.host.seen)

    def _on_message(self, buffer: Any, offset: int, length: int, header: Any) -> None:
        self.messages.append(bytes(buffer[offset : offset + length]))
        self.headers.append((header.session_id, header.stream_id))


def expected_segments(recorded: Recorded, segment_length: int = SEGMENT) -> dict[int, bytes]:
    """Return what the segment files hold by what the log held: of padding the header alone, and zeros where nothing was."""
    base = recorded.start_position - recorded.start_position % TERM
    segments: dict[int, bytearray] = {}
    for position, block in recorded.content.items():
        begin = base + (position - base) // segment_length * segment_length
        segment = segments.setdefault(begin, bytearray(segment_length))
        is_padding = struct.unpack_from("<H", block, 6)[0] == 0
        data = block[:HEADER] if is_padding else block
        segment[position - begin : position - begin + len(data)] = data
    return {begin: bytes(content) for begin, content in segments.items()}


def files_of(directory: Path, recording_id: int) -> dict[int, bytes]:
    """Return the segment files of a recording."""
    return {int(path.stem.split("-")[1]): path.read_bytes() for path in directory.glob(f"{recording_id}-*.rec")}


def random_messages(count: int, *, salt: int = 0) -> list[bytes]:
    """Return messages of lengths around every kind of boundary."""
    draw = random.Random(SEED + salt)
    lengths = [draw.choice((0, 1, 31, 32, 33, 100, 1000, 1376, 1377, 5000, draw.randrange(8000))) for _ in range(count)]
    return [draw.randbytes(length) for length in lengths]
