"""Datagrams into a live receiver: images are made, repaired, timed out, and polled in every way."""

from __future__ import annotations

from collections.abc import Iterable

from aerowire.codecs.flyweights import transport
from aerowire.codecs.flyweights.transport import FrameType
from tests.fuzz.driver_node import FuzzNode, NodeFactory
from tests.fuzz.fields import Fields, int32s
from tests.fuzz.polls import EveryPoll
from tests.support.agent_host import MS, ImageReader

PLACE, SENDERS = ("10.0.0.2", 40001), (("10.0.0.9", 5000), ("10.0.0.9", 5001))
SESSIONS, STREAM, INITIAL_TERM, TERM = (77, 78), 1001, 5, 64 * 1024
STEPS_MAX = 24
IMAGES_MAX = 3
POLLS_PER_STEP = 4
POLL_CHOICES = 4


class ReceiverTarget:
    """A sequence of steps: datagrams as they are, set-ups and data with fields of their own, time, polls.

    A step's first byte chooses it by its low three bits: 0 and 1 a datagram (length, bytes), 2 a set-up, 3 and 4 data, 5 time,
    6 polls, 7 a heartbeat. The other bits are the step's own.
    """

    name = "receiver"
    length_max = 400
    words = (
        *(bytes([0, 0xC0]) + int32s(kind)[:2] for kind in FrameType),
        int32s(0x7FFFFFFF),
        int32s(0x40000000),
        int32s(TERM),
        int32s(INITIAL_TERM + 1),
        b"\x05\xff",
        b"\x06\x00",
    )
    traced = ()

    def __init__(self) -> None:
        self._nodes = NodeFactory()
        self._every_poll: EveryPoll | None = None

    def seeds(self) -> Iterable[bytes]:
        """Return streams in order, with gaps, overlapping, with frames in payload, and one of each frame as it is on the wire."""
        setup, poll = b"\x02\0\0\0", b"\x06\0"
        yield setup + b"\x03\0\0\x20" + b"\x03\x02\0\x20" + poll
        yield setup + b"\x03\0\0\x20" + b"\x03\x04\0\x20" + b"\x05\x40" + poll
        yield setup + b"\x0b\x20\0\xff" + b"\x0b\x10\0\xff" + b"\x0b\0\0\xff" + poll
        yield setup + b"\x03\0\0\x20" + b"\x0f\x02\0\xe0" + b"\x05\xff" + b"\x05\xff"
        yield setup + b"\x13\0\0\x40" + int32s(96, 64) + b"\x13\x03\0\x40" + int32s(32, 64) + poll
        for frame in (
            transport.SetupEncoder.encode(
                frame_length=40, session_id=77, stream_id=STREAM, initial_term_id=5, active_term_id=5, term_length=TERM, mtu=1408
            ),
            transport.DataHeaderEncoder.encode(frame_length=64, flags=0xC0, type=1, session_id=77, stream_id=STREAM, term_id=5),
            transport.RttmEncoder.encode(frame_length=40, flags=0x80, session_id=77, stream_id=STREAM),
        ):
            yield setup + b"\0" + bytes([len(frame)]) + frame

    def execute(self, data: bytes) -> None:
        """Run the steps, poll, then let the sessions time out."""
        fields = Fields(data)
        node, network = self._nodes.make()
        endpoint = node.receive_at(network.open_port(PLACE))
        senders = [network.open_port(source, PLACE) for source in SENDERS]
        node.work()
        for _ in range(STEPS_MAX):
            if fields.is_empty:
                break
            step = fields.unsigned(1)
            kind = step & 7
            if kind == 5:
                node.advance(((1 << (fields.unsigned(1) >> 4)) * MS) or MS)
            elif kind == 6:
                for subscriber in node.subscribers[:IMAGES_MAX]:
                    self._poll(node, subscriber, (step >> 5) % POLL_CHOICES)
            else:
                datagram = self._datagram(kind, step >> 3, fields)
                senders[step >> 7].send_datagrams([(datagram, None)])
                node.advance(MS)
        for subscriber in node.subscribers[:IMAGES_MAX]:
            self._poll(node, subscriber, len(data) % POLL_CHOICES)
        node.end_images(endpoint)

    def renew(self) -> None:
        """Let the next execution begin with new agents."""
        self._nodes.renew()

    def _datagram(self, kind: int, choice: int, fields: Fields) -> bytes:
        session = SESSIONS[choice >> 3 & 1]
        if kind < 2:
            return fields.take(fields.unsigned(1))
        if kind == 2:
            term, offset = fields.unsigned(1), fields.unsigned(2)
            return transport.SetupEncoder.encode(
                frame_length=40,
                flags=choice & 1 and 0x80,
                term_offset=offset // 32 * 32 % TERM,
                session_id=session,
                stream_id=STREAM,
                initial_term_id=INITIAL_TERM,
                active_term_id=INITIAL_TERM + term,
                term_length=TERM << (choice >> 1 & 1),
                mtu=1408 if not choice & 4 else 8192,
            )
        offset, flags = fields.unsigned(2) * 32, 0xC0
        length = payload_length = fields.unsigned(1)
        if kind == 7:  # a heartbeat, perhaps with the end of the stream
            return self._header(session, 0, fields.unsigned(1) if choice & 1 else length, 1, offset)
        frame_type = 1
        if choice & 1:
            length = payload_length = length * 5
        if choice & 2:
            length = fields.signed(4) - 32
        if choice & 4:
            flags, frame_type = fields.unsigned(1), fields.unsigned(2)
        inner = b""
        if choice & 2:  # the payload looks like a frame too
            inner = self._header(session, fields.signed(4), 0xC0, 1, 0) * 2
        header = self._header(session, 32 + length, flags, frame_type, offset)
        return (header + inner).ljust(32 + -(-payload_length // 32) * 32, b"\x40")

    @staticmethod
    def _header(session: int, length: int, flags: int, kind: int, offset: int) -> bytes:
        place = int32s(offset % TERM, session, STREAM, INITIAL_TERM + offset // TERM)
        return int32s(length) + bytes([0, flags]) + kind.to_bytes(2, "little") + place + bytes(8)

    def _poll(self, node: FuzzNode, subscriber: ImageReader, skipped: int) -> None:
        image = subscriber.image
        position = subscriber.position
        place = image.log, node.counters, subscriber.position_id
        if self._every_poll is None:
            self._every_poll = EveryPoll(*place, session_id=image.session_id, stream_id=image.stream_id)
        else:
            self._every_poll.attach(*place, session_id=image.session_id, stream_id=image.stream_id)
        self._every_poll.run(position, skipped * POLLS_PER_STEP, POLLS_PER_STEP)
