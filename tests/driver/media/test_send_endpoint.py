"""A channel of several destinations over a network in memory: who gets what, and whose error is whose."""

from __future__ import annotations

import pytest

from aerowire.codecs.flyweights.transport import (
    DataFlags,
    DataHeaderDecoder,
    ErrorFlags,
    ErrorFrameEncoder,
    FrameHeaderDecoder,
    FrameType,
    NakEncoder,
    RttmEncoder,
    SetupDecoder,
    SetupFlags,
    SmFlags,
    StatusMessageEncoder,
)
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.queues.events import EventType
from aerowire.logbuffer.append import Appender
from aerowire.protocol.destinations import Destinations
from aerowire.simulation.network import SimulatedPort
from aerowire.simulation.world import SimulatedWorld
from tests.support.agent_host import AgentHost

MS, SECOND = 1_000_000, 1_000_000_000
SESSION, STREAM, INITIAL_TERM = 77, 1001, 2**31 - 2
CONTROL = ("10.0.0.1", 40000)
PLACES = [("10.0.0.2", 40002), ("10.0.0.3", 40003)]


class Channel:
    """A publication with destinations, and sockets that play its receivers."""

    def __init__(self, world: SimulatedWorld, *, dynamic: bool) -> None:
        self.world = world
        self.node = world.add(AgentHost(world.clock))
        self.receivers = [world.network.open_port(place) for place in PLACES]
        self.count_id = self.node.counter("mdc-num-dest")
        self.endpoint = self.node.send_endpoint(
            world.network.open_port(CONTROL),
            group=True,
            destinations=Destinations(dynamic=dynamic),
            counters=self.node.counters,
            destination_count_id=self.count_id,
            named=not dynamic,
        )
        self.publication, self.appender = self.node.publish(self.endpoint)
        world.run(2 * MS)

    @property
    def destination_count(self) -> int:
        return self.node.counters.value(self.count_id)

    def add(self, registration_id: int, place: tuple[str, int]) -> None:
        self.node.add_destination(self.endpoint, registration_id, place)
        self.world.run(2 * MS)

    def say(self, receiver: int, frame: bytes) -> None:
        self.receivers[receiver].send_datagrams([(frame, CONTROL)])
        self.world.run(2 * MS)

    def status(self, receiver: int, *, receiver_id: int | None = None, flags: int = 0, window: int = 16384) -> None:
        frame = StatusMessageEncoder.encode(
            flags=flags,
            session_id=SESSION,
            stream_id=STREAM,
            consumption_term_id=INITIAL_TERM,
            receiver_window=window,
            receiver_id=receiver + 1 if receiver_id is None else receiver_id,
        )
        self.say(receiver, frame)

    def frames(self, receiver: int, kind: FrameType) -> list[bytes]:
        got = [payload for payload, _, _ in self.receivers[receiver].receive_datagrams(64)]
        return [payload for payload in got if FrameHeaderDecoder(payload).type == kind and FrameHeaderDecoder(payload).frame_length]


def test_a_dynamic_channel_sends_nothing_before_a_status_message(world: SimulatedWorld) -> None:
    channel = Channel(world, dynamic=True)
    world.run(300 * MS)
    assert world.network.sent == 0
    channel.status(0, flags=SmFlags.SEND_SETUP)
    assert channel.destination_count == 1
    world.run(110 * MS)
    (setup, *_) = channel.frames(0, FrameType.SETUP)
    assert SetupDecoder(setup).flags == SetupFlags.GROUP


def test_every_destination_gets_data_and_what_is_sent_again(world: SimulatedWorld) -> None:
    channel = Channel(world, dynamic=True)
    channel.status(0)
    channel.status(1)
    assert channel.destination_count == 2
    channel.appender.append(b"hello")
    world.run(2 * MS)
    assert [len(channel.frames(receiver, FrameType.DATA)) for receiver in (0, 1)] == [1, 1]
    channel.say(0, NakEncoder.encode(session_id=SESSION, stream_id=STREAM, term_id=INITIAL_TERM, term_offset=0, length=64))
    assert [len(channel.frames(receiver, FrameType.DATA)) for receiver in (0, 1)] == [1, 1]
    assert channel.node.get(SystemCounter.RETRANSMITS_SENT) == 1


def test_bytes_sent_count_a_message_once(world: SimulatedWorld) -> None:
    channel = Channel(world, dynamic=True)
    channel.status(0)
    channel.status(1)
    before = channel.node.get(SystemCounter.BYTES_SENT)
    channel.appender.append(b"x" * 32)
    world.run(2 * MS)
    assert channel.node.get(SystemCounter.BYTES_SENT) - before == 64


def test_a_silent_destination_is_sent_to_for_five_seconds(world: SimulatedWorld) -> None:
    channel = Channel(world, dynamic=True)
    channel.status(0)
    for _ in range(26):
        channel.status(1)
        world.run(198 * MS)
    assert channel.destination_count == 1
    channel.frames(0, FrameType.DATA)
    channel.appender.append(b"late")
    world.run(2 * MS)
    assert [len(channel.frames(receiver, FrameType.DATA)) for receiver in (0, 1)] == [0, 1]


def test_a_rejected_status_message_makes_no_destination(world: SimulatedWorld) -> None:
    channel = Channel(world, dynamic=True)
    far = StatusMessageEncoder.encode(session_id=SESSION, stream_id=STREAM, consumption_term_id=-(2**31) + 3, receiver_id=1)
    channel.say(0, far)
    assert (channel.destination_count, channel.node.get(SystemCounter.STATUS_MESSAGES_REJECTED)) == (0, 1)


def test_a_manual_channel_sends_where_it_was_told_and_adds_nobody(world: SimulatedWorld) -> None:
    channel = Channel(world, dynamic=False)
    channel.status(0, flags=SmFlags.SEND_SETUP)
    assert channel.destination_count == 0
    channel.add(501, PLACES[1])
    world.run(110 * MS)
    assert (len(channel.frames(0, FrameType.SETUP)), len(channel.frames(1, FrameType.SETUP)) > 0) == (0, True)
    channel.node.remove_destination(channel.endpoint, 501)
    world.run(2 * MS)
    assert channel.destination_count == 0
    channel.frames(1, FrameType.SETUP)
    world.run(300 * MS)
    assert channel.frames(1, FrameType.SETUP) == []


def test_destinations_come_and_go_while_a_stream_runs(world: SimulatedWorld) -> None:
    channel = Channel(world, dynamic=False)
    channel.add(501, PLACES[0])
    channel.status(0)
    channel.appender.append(b"one")
    world.run(2 * MS)
    channel.add(502, PLACES[1])
    channel.appender.append(b"two")
    world.run(2 * MS)
    channel.node.remove_destination(channel.endpoint, 501)
    world.run(2 * MS)
    channel.appender.append(b"three")
    world.run(2 * MS)
    texts = [[bytes(frame[32 : DataHeaderDecoder(frame).frame_length]) for frame in channel.frames(i, FrameType.DATA)] for i in (0, 1)]
    assert texts == [[b"one", b"two"], [b"two", b"three"]]


def test_an_error_frame_names_the_destination_it_came_from(world: SimulatedWorld) -> None:
    channel = Channel(world, dynamic=False)
    channel.add(501, PLACES[0])
    channel.add(502, PLACES[1])
    channel.status(1)
    assert channel.publication.is_connected
    error = ErrorFrameEncoder.encode(session_id=SESSION, stream_id=STREAM, receiver_id=2, group_tag=-1, error_code=13, error_text="no")
    for _ in range(3):
        channel.say(1, error)
    told = channel.node.events_of(EventType.PUBLICATION_ERROR)
    assert [(e.destination_registration_id, e.receiver_id, e.error_code, e.message, e.source_address) for e in told] == [
        (502, 2, 13, "no", PLACES[1])
    ]
    assert channel.node.get(SystemCounter.ERROR_FRAMES_RECEIVED) == 3
    world.run(20 * MS)
    assert not channel.publication.is_connected
    channel.status(1)
    assert channel.publication.is_connected
    channel.say(1, error)
    assert sum(event.type is EventType.PUBLICATION_ERROR for event in channel.node.seen) == 2


@pytest.mark.parametrize(("flags", "told"), [(0, -1), (ErrorFlags.HAS_GROUP_TAG, 77), (0xFF & ~ErrorFlags.HAS_GROUP_TAG, -1)])
def test_the_group_tag_of_an_error_frame_is_there_when_the_flag_says_so(world: SimulatedWorld, flags: int, told: int) -> None:
    channel = Channel(world, dynamic=True)
    channel.status(0)
    frame = ErrorFrameEncoder.encode(
        flags=flags, session_id=SESSION, stream_id=STREAM, receiver_id=1, group_tag=77, error_code=13, error_text="no"
    )
    channel.say(0, frame)
    assert [event.group_tag for event in channel.node.events_of(EventType.PUBLICATION_ERROR)] == [told]


def test_an_error_frame_of_an_unknown_receiver_is_only_counted(world: SimulatedWorld) -> None:
    channel = Channel(world, dynamic=True)
    channel.status(0)
    channel.say(
        0, ErrorFrameEncoder.encode(session_id=SESSION, stream_id=STREAM, receiver_id=9, group_tag=-1, error_code=13, error_text="")
    )
    assert channel.node.get(SystemCounter.ERROR_FRAMES_RECEIVED) == 1
    assert channel.publication.is_connected
    assert not channel.node.events_of(EventType.PUBLICATION_ERROR)


def test_the_end_of_one_of_two_receivers_leaves_the_other_connected(world: SimulatedWorld) -> None:
    channel = Channel(world, dynamic=True)
    channel.status(0)
    channel.status(1)
    channel.status(0, flags=SmFlags.EOS)
    world.run(20 * MS)
    assert channel.publication.is_connected
    channel.status(1, flags=SmFlags.EOS)
    world.run(20 * MS)
    assert not channel.publication.is_connected


def test_a_round_trip_is_answered_to_every_destination_with_the_receiver_that_asked(world: SimulatedWorld) -> None:
    channel = Channel(world, dynamic=True)
    channel.status(0)
    channel.status(1)
    channel.say(1, RttmEncoder.encode(flags=0x80, session_id=SESSION, stream_id=STREAM, echo_timestamp_ns=123, receiver_id=2))
    for receiver in (0, 1):
        assert channel.frames(receiver, FrameType.RTTM) == [
            RttmEncoder.encode(session_id=SESSION, stream_id=STREAM, echo_timestamp_ns=123, reception_delta_ns=0, receiver_id=2)
        ]


def test_a_silent_name_is_told_once_in_five_seconds(world: SimulatedWorld) -> None:
    channel = Channel(world, dynamic=False)
    channel.add(501, PLACES[0])
    channel.add(502, PLACES[1])
    for _ in range(30):
        channel.status(1)
        world.run(198 * MS)
    told = [event.destination_registration_id for event in channel.node.events_of(EventType.SEND_NAME_SILENT)]
    assert told == [501]
    channel.node.update_destination(channel.endpoint, 501, ("10.0.0.3", 40003))
    world.run(110 * MS)
    channel.frames(0, FrameType.DATA)
    channel.appender.append(b"moved")
    world.run(2 * MS)
    assert channel.frames(0, FrameType.DATA) == []


def stamped(world: SimulatedWorld, offset: int) -> tuple[Appender, SimulatedPort]:
    node = world.add(AgentHost(world.clock))
    receiver = world.network.open_port(PLACES[0])
    port = world.network.open_port(CONTROL, PLACES[0])
    endpoint = node.send_endpoint(port, stamp_clock=world.clock, stamp_offset=offset)
    _, appender = node.publish(endpoint)
    world.run(2 * MS)
    frame = StatusMessageEncoder.encode(session_id=SESSION, stream_id=STREAM, consumption_term_id=INITIAL_TERM, receiver_window=16384)
    receiver.send_datagrams([(frame, CONTROL)])
    world.run(2 * MS)
    receiver.receive_datagrams(64)
    return appender, receiver


def test_messages_leave_with_the_time_at_the_offset(world: SimulatedWorld) -> None:
    appender, receiver = stamped(world, 8)
    appender.append(b"a" * 16)
    appender.append(b"b" * 15)
    world.run(2 * MS)
    ((datagram, _, _),) = receiver.receive_datagrams(64)
    second = datagram[64:]
    assert datagram[32:40] == b"a" * 8
    assert 0 <= world.clock.now_epoch_ns() - int.from_bytes(datagram[40:48], "little") <= 2 * MS
    # Only a datagram's first frame is stamped, as in the official driver.
    assert second[32:47] == b"b" * 15


def test_the_time_goes_nowhere_where_it_does_not_fit(world: SimulatedWorld) -> None:
    appender, receiver = stamped(world, 25)
    appender.append(b"b" * 32)
    world.run(2 * MS)
    ((datagram, _, _),) = receiver.receive_datagrams(64)
    assert datagram[32:] == b"b" * 32


def test_the_time_goes_into_the_reserved_value_of_a_messages_first_fragment(world: SimulatedWorld) -> None:
    appender, receiver = stamped(world, -8)
    appender.append(b"")
    appender.append(b"c" * 3000)
    world.run(4 * MS)
    frames = [datagram for datagram, _, _ in receiver.receive_datagrams(64)]
    stamps = [(DataHeaderDecoder(frame).flags, DataHeaderDecoder(frame).reserved_value != 0) for frame in frames]
    begins = DataFlags.BEGIN
    assert [bool(flags & begins) for flags, _ in stamps] == [is_stamped for _, is_stamped in stamps]
    assert sum(is_stamped for _, is_stamped in stamps) == 2
