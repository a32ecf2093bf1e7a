"""A driver that is deliberately simple and, when told so, deliberately wrong, and small helpers for the harness's tests.

The fake speaks enough of shared memory and of the wire for a dozen cases: it confirms subscriptions and
publications, asks for a SETUP, sends SETUPs and counts invalid packets. Each fault breaks one rule.
"""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from aerowire.codecs.flyweights import cnc, commands, logbuffer
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.flyweights.transport import (
    FRAME_ALIGNMENT,
    DataFlags,
    DataHeaderDecoder,
    DataHeaderEncoder,
    FrameHeaderDecoder,
    FrameType,
    SetupEncoder,
    SmFlags,
    StatusMessageEncoder,
)
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.conformance.harness.cnc import CNC_FILE
from aerowire.conformance.harness.memory import Mapping
from aerowire.conformance.harness.ring import align
from aerowire.conformance.peers.base import Peer
from aerowire.conformance.rules import is_valid_frame

RING_CAPACITY = 1 << 14
BROADCAST_CAPACITY = 1 << 14
COUNTERS = 128
TERM_LENGTH = 65_536
MTU = 1408
SETUP_PERIOD_S = 0.1
PENDING_S = 1.0
FAULTS = {
    "A01": ["elicit_never", "elicit_twice", "elicit_without_flag", "elicit_with_window", "elicit_other_stream"],
    "A02": ["pending_never_remembered"],
    "A03": ["pending_never_forgotten"],
    "A04": ["elicit_at_end_of_stream"],
    "A05": ["elicit_without_interest", "count_without_interest"],
    "B01": ["setup_too_often", "setup_once", "heartbeat_before_status"],
    "B02": ["setup_wrong_mtu", "setup_wrong_offset", "setup_with_ttl"],
    "M04": ["invalid_uncounted", "invalid_counted_twice", "invalid_answered"],
    "M15": ["invalid_uncounted", "invalid_counted_twice", "invalid_answered"],
}


def make_cnc(directory: Path) -> Mapping:
    """Create a small command-and-control file and return it mapped."""
    lengths = {
        "to_driver_buffer_length": RING_CAPACITY + cnc.RingTrailerDecoder.ENCODED_LENGTH,
        "to_clients_buffer_length": BROADCAST_CAPACITY + cnc.BroadcastTrailerDecoder.ENCODED_LENGTH,
        "counters_metadata_buffer_length": COUNTERS * cnc.CounterMetadataDecoder.ENCODED_LENGTH,
        "counters_values_buffer_length": COUNTERS * cnc.CounterValueDecoder.ENCODED_LENGTH,
        "error_log_buffer_length": 4096,
    }
    header = cnc.CncHeaderEncoder.encode(version=cnc.CNC_VERSION, file_page_size=4096, client_liveness_timeout_ns=10**10, **lengths)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / CNC_FILE
    path.write_bytes(header + bytes(sum(lengths.values())))
    return Mapping(path)


@dataclass
class Sender:
    """A publication of the fake."""

    socket: socket.socket
    setup: dict[str, int]
    log: Mapping
    limit_id: int
    last_setup: float = 0.0
    is_connected: bool = False


class FakeDriver(threading.Thread):
    """The fake, on a thread of its own. `faults` names the rules that it breaks."""

    def __init__(self, directory: Path, faults: set[str]) -> None:
        super().__init__(name="fake-driver", daemon=True)
        self._directory = directory
        self._faults = faults
        self._mapping = make_cnc(directory)
        layout = cnc.CncHeaderDecoder(self._mapping.buffer)
        self._ring = cnc.CncHeaderDecoder.ENCODED_LENGTH
        self._broadcast = self._ring + layout.to_driver_buffer_length
        self._metadata = self._broadcast + layout.to_clients_buffer_length
        self._values = self._metadata + layout.counters_metadata_buffer_length
        self._trailer = self._ring + RING_CAPACITY
        self._broadcast_tail = 0
        self._ring_head = 0
        self._ended = threading.Event()
        self._counter_count = 0
        self._clients: set[int] = set()
        self._receivers: dict[socket.socket, dict[int, int]] = {}
        self._pending: dict[tuple[int, int], float] = {}
        self._senders: list[Sender] = []
        for counter in SystemCounter:
            self._new_counter(CounterType.SYSTEM, counter, counter.name)

    def stop(self) -> None:
        """End the thread and close its sockets."""
        self._ended.set()
        self.join()
        for receiver in self._receivers:
            receiver.close()
        for sender in self._senders:
            sender.socket.close()
            sender.log.close()
        self._mapping.close()

    def run(self) -> None:
        """The duty cycle."""
        heartbeat = self._trailer + cnc.RingTrailerDecoder.CONSUMER_HEARTBEAT_OFFSET
        while not self._ended.is_set():
            self._mapping.put_i64(heartbeat, time.time_ns() // 1_000_000)
            work = self._poll_commands() + self._poll_receivers() + self._poll_senders()
            if not work:
                time.sleep(0.0003)

    # -- commands ---------------------------------------------------------------------------------------------------

    def _poll_commands(self) -> int:
        start = self._ring + self._ring_head % RING_CAPACITY
        length = self._mapping.i32(start)
        if length <= 0:
            return 0
        kind = self._mapping.i32(start + cnc.RingRecordDecoder.TYPE_OFFSET)
        body = self._mapping.bytes_at(start + cnc.RingRecordDecoder.ENCODED_LENGTH, length - cnc.RingRecordDecoder.ENCODED_LENGTH)
        whole = align(length, cnc.RingRecordDecoder.ALIGNMENT)
        self._mapping.put_bytes(start, bytes(whole))
        self._ring_head += whole
        self._mapping.put_i64(self._trailer + cnc.RingTrailerDecoder.HEAD_POSITION_OFFSET, self._ring_head)
        if kind != cnc.RING_PADDING_TYPE:
            self._on_command(CommandType(kind), body)
        return 1

    def _on_command(self, kind: CommandType, body: bytes) -> None:
        command = commands.CorrelatedCommandDecoder(body)
        if command.client_id not in self._clients:
            self._clients.add(command.client_id)
            self._new_counter(CounterType.CLIENT_HEARTBEAT, command.client_id, "client-heartbeat")
        if kind == CommandType.ADD_SUBSCRIPTION:
            self._on_add_subscription(commands.AddSubscriptionDecoder(body))
        elif kind == CommandType.ADD_EXCLUSIVE_PUBLICATION:
            self._on_add_publication(commands.AddPublicationDecoder(body))
        elif kind != CommandType.CLIENT_CLOSE:
            error = commands.ErrorResponseEncoder.encode(
                offending_correlation_id=command.correlation_id, error_code=ErrorCode.NOT_SUPPORTED, error_message=f"no {kind.name} here"
            )
            self._transmit(CommandType.ON_ERROR, error)

    def _on_add_subscription(self, command: commands.AddSubscriptionDecoder) -> None:
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.bind(endpoint(command.channel))
        receiver.setblocking(False)
        self._receivers[receiver] = {command.stream_id: command.correlation_id}
        answer = commands.SubscriptionReadyEncoder.encode(correlation_id=command.correlation_id)
        self._transmit(CommandType.ON_SUBSCRIPTION_READY, answer)

    def _on_add_publication(self, command: commands.AddPublicationDecoder) -> None:
        values = {key: int(value) for key, value in re.findall(r"([a-z-]+)=(-?\d+)(?=\||$)", command.channel)}
        initial = values.get("init-term-id", 7)
        term_length = values.get("term-length", TERM_LENGTH)
        setup = {
            "session_id": values.get("session-id", 99),
            "stream_id": command.stream_id,
            "initial_term_id": initial,
            "active_term_id": values.get("term-id", initial),
            "term_offset": values.get("term-offset", 0),
            "term_length": term_length,
            "mtu": values.get("mtu", MTU),
        }
        path = self._directory / f"{command.correlation_id}.logbuffer"
        metadata = logbuffer.LogMetadataEncoder.encode(
            term_length=term_length, initial_term_id=initial, mtu=setup["mtu"], tail_counters=[initial << 32, 0, 0]
        )
        path.write_bytes(bytes(logbuffer.PARTITION_COUNT * term_length) + metadata)
        end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        end.setblocking(False)
        end.connect(endpoint(command.channel))
        limit_id = self._new_counter(CounterType.PUB_LMT, command.correlation_id, "pub-lmt")
        self._senders.append(Sender(end, setup, Mapping(path), limit_id))
        answer = commands.PublicationReadyEncoder.encode(
            correlation_id=command.correlation_id,
            registration_id=command.correlation_id,
            session_id=setup["session_id"],
            stream_id=command.stream_id,
            position_limit_counter_id=limit_id,
            log_file=str(path),
        )
        self._transmit(CommandType.ON_EXCLUSIVE_PUBLICATION_READY, answer)

    def _transmit(self, kind: CommandType, body: bytes) -> None:
        """Append to the broadcast buffer; it is large enough never to wrap in a test."""
        length = cnc.BroadcastRecordDecoder.ENCODED_LENGTH + len(body)
        whole = align(length, cnc.BroadcastRecordDecoder.ALIGNMENT)
        start = self._broadcast + self._broadcast_tail % BROADCAST_CAPACITY
        trailer = self._broadcast + BROADCAST_CAPACITY
        self._mapping.put_i64(trailer + cnc.BroadcastTrailerDecoder.TAIL_INTENT_OFFSET, self._broadcast_tail + whole)
        self._mapping.put_bytes(start, struct.pack("<ii", length, kind) + body)
        self._broadcast_tail += whole
        self._mapping.put_i64(trailer + cnc.BroadcastTrailerDecoder.TAIL_OFFSET, self._broadcast_tail)

    # -- counters ---------------------------------------------------------------------------------------------------

    def _new_counter(self, kind: CounterType, registration_id: int, label: str) -> int:
        counter_id = self._counter_count
        self._counter_count += 1
        metadata = self._metadata + counter_id * cnc.CounterMetadataDecoder.ENCODED_LENGTH
        value = self._values + counter_id * cnc.CounterValueDecoder.ENCODED_LENGTH
        self._mapping.put_i64(value + cnc.CounterValueDecoder.REGISTRATION_ID_OFFSET, registration_id)
        self._mapping.put_i32(metadata + cnc.CounterMetadataDecoder.TYPE_ID_OFFSET, kind)
        self._mapping.put_i32(metadata + cnc.CounterMetadataDecoder.LABEL_LENGTH_OFFSET, len(label))
        self._mapping.put_bytes(metadata + cnc.CounterMetadataDecoder.LABEL_OFFSET, label.encode())
        self._mapping.put_i32(metadata + cnc.CounterMetadataDecoder.STATE_OFFSET, cnc.CounterState.ALLOCATED)
        return counter_id

    def _count(self, counter: SystemCounter) -> None:
        offset = self._values + counter * cnc.CounterValueDecoder.ENCODED_LENGTH
        self._mapping.put_i64(offset, self._mapping.i64(offset) + 1)

    # -- the wire ---------------------------------------------------------------------------------------------------

    def _poll_receivers(self) -> int:
        work = 0
        for receiver, streams in list(self._receivers.items()):
            with contextlib.suppress(BlockingIOError):
                payload, source = receiver.recvfrom(65_536)
                work += 1
                if self._accepts(receiver, payload, source):
                    self._on_frame(receiver, payload, source, streams)
        return work

    def _accepts(self, end: socket.socket, payload: bytes, source: tuple[str, int] | None) -> bool:
        if is_valid_frame(payload):
            return True
        for _ in range({"invalid_uncounted": 0, "invalid_counted_twice": 2}.get(next(iter(self._faults), ""), 1)):
            self._count(SystemCounter.INVALID_PACKETS)
        if "invalid_answered" in self._faults and source is not None:
            end.sendto(payload, source)
        return False

    def _on_frame(self, receiver: socket.socket, payload: bytes, source: tuple[str, int], streams: dict[int, int]) -> None:
        if FrameHeaderDecoder(payload).type not in (FrameType.DATA, FrameType.PAD):
            return
        header = DataHeaderDecoder(payload)
        if header.stream_id not in streams:
            if "count_without_interest" in self._faults:
                self._count(SystemCounter.INVALID_PACKETS)
            if "elicit_without_interest" not in self._faults:
                return
        if header.flags & DataFlags.EOS and "elicit_at_end_of_stream" not in self._faults:
            return
        key = (header.session_id, header.stream_id)
        now = time.monotonic()
        is_pending = key in self._pending and (now - self._pending[key] < PENDING_S or "pending_never_forgotten" in self._faults)
        if is_pending and "pending_never_remembered" not in self._faults:
            return
        self._pending[key] = now
        if "elicit_never" not in self._faults:
            self._elicit(receiver, header, source)

    def _elicit(self, receiver: socket.socket, header: DataHeaderDecoder, source: tuple[str, int]) -> None:
        message = StatusMessageEncoder.encode(
            flags=0 if "elicit_without_flag" in self._faults else SmFlags.SEND_SETUP,
            session_id=header.session_id,
            stream_id=header.stream_id + ("elicit_other_stream" in self._faults),
            receiver_window=128 if "elicit_with_window" in self._faults else 0,
        )
        for _ in range(1 + ("elicit_twice" in self._faults)):
            receiver.sendto(message, source)

    def _poll_senders(self) -> int:
        now = time.monotonic()
        period = SETUP_PERIOD_S / (3 if "setup_too_often" in self._faults else 1)
        for sender in self._senders:
            with contextlib.suppress(BlockingIOError, ConnectionRefusedError):
                payload = sender.socket.recv(65_536)
                if self._accepts(sender.socket, payload, None) and FrameHeaderDecoder(payload).type == FrameType.SM:
                    self._connect(sender)
            is_due = now - sender.last_setup >= period and not (sender.last_setup and "setup_once" in self._faults)
            if sender.is_connected or not is_due:
                continue
            # Whole periods, so that a late cycle does not shift the next one.
            sender.last_setup = sender.last_setup + period if sender.last_setup else now
            with contextlib.suppress(ConnectionRefusedError):
                sender.socket.send(self._setup(sender.setup))
                if "heartbeat_before_status" in self._faults:
                    session_id, stream_id = sender.setup["session_id"], sender.setup["stream_id"]
                    sender.socket.send(DataHeaderEncoder.encode(frame_length=0, session_id=session_id, stream_id=stream_id))
        return 0

    def _connect(self, sender: Sender) -> None:
        sender.is_connected = True
        metadata = sender.log.length - logbuffer.LOG_META_DATA_LENGTH
        sender.log.put_i32(metadata + logbuffer.LogMetadataDecoder.IS_CONNECTED_OFFSET, 1)
        limit = self._values + sender.limit_id * cnc.CounterValueDecoder.ENCODED_LENGTH
        self._mapping.put_i64(limit, sender.setup["term_length"] // 2)

    def _setup(self, fields: dict[str, int]) -> bytes:
        fields = dict(fields)
        fields["mtu"] += FRAME_ALIGNMENT * ("setup_wrong_mtu" in self._faults)
        fields["term_offset"] += FRAME_ALIGNMENT * ("setup_wrong_offset" in self._faults)
        return SetupEncoder.encode(ttl=int("setup_with_ttl" in self._faults), **fields)


def endpoint(channel: str) -> tuple[str, int]:
    """Return the endpoint of a channel."""
    found = re.search(r"endpoint=([\d.]+):(\d+)", channel)
    assert found is not None
    return found.group(1), int(found.group(2))


class FakePeer(Peer):
    """The fake driver as a peer of the suite."""

    name = "fake"

    def __init__(self, directory: Path, *faults: str) -> None:
        super().__init__()
        self.directory = directory
        self._faults = set(faults)
        self._driver: FakeDriver | None = None

    def start(self) -> None:
        """Start the thread."""
        self._driver = FakeDriver(self.directory, self._faults)
        self._driver.start()

    def stop(self) -> None:
        """End the thread."""
        if self._driver is not None:
            self._driver.stop()

    def is_alive(self) -> bool:
        """Say whether the thread runs."""
        return self._driver is not None and self._driver.is_alive()


@pytest.fixture
def shm_path() -> Iterator[Path]:
    """A fresh directory in shared memory where there is one."""
    parent = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="aw-conform-test-", dir=parent if parent.is_dir() else None) as name:
        yield Path(name)


@pytest.fixture
def make_fake() -> type[FakePeer]:
    """The fake driver's class, for tests to make one with faults of their choice."""
    return FakePeer


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give tests that ask for `kept_rule` every case that the fake can do, for `broken_rule` every fault of each."""
    if "kept_rule" in metafunc.fixturenames:
        metafunc.parametrize("kept_rule", FAULTS)
    if "broken_rule" in metafunc.fixturenames:
        pairs = [(case_id, fault) for case_id, faults in FAULTS.items() for fault in faults]
        metafunc.parametrize("broken_rule", pairs, ids=["-".join(pair) for pair in pairs])


@pytest.fixture
def make_small_cnc(tmp_path: Path) -> Mapping:
    """A small command-and-control file without a driver."""
    return make_cnc(tmp_path / "driver")
