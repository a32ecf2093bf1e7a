"""What receivers send, hostile: status messages, NAKs, round trip measurements, errors and responses into a live sender."""

from __future__ import annotations

from collections.abc import Iterable

from aerowire.base.errors import AerowireError
from aerowire.codecs.flyweights import transport
from aerowire.codecs.flyweights.transport import FrameType
from aerowire.logbuffer.append import Appender
from aerowire.protocol.flow_control import FlowControl, MaxFlowControl, UnicastFlowControl
from aerowire.protocol.min_flow_control import MinFlowControl
from aerowire.protocol.tagged_flow_control import TaggedFlowControl
from tests.fuzz.driver_node import NodeFactory
from tests.fuzz.fields import Fields, int32s, int64s
from tests.fuzz.target import FindingError
from tests.support.agent_host import INITIAL_TERM, MS, SECOND, SESSION, STREAM, TERM

PLACE, PEER, STRANGER = ("10.0.0.1", 40001), ("10.0.0.2", 40001), ("10.0.0.3", 40001)
STEPS_MAX = 24
TAG = 5
# A cycle sends no more than this, however much is asked for: a window and what answers a NAK of each receiver.
SENT_MAX = 64 * TERM


class SenderTarget:
    """The flow control, then a sequence of steps, as the low three bits of their first byte say.

    0 and 1 a datagram (length, bytes), 2 a status message, 3 a NAK, 4 messages to send, 5 time, 6 a round trip measurement, 7 an error.
    """

    name = "sender"
    length_max = 320
    words = (
        *(bytes([0, 0]) + int32s(kind)[:2] for kind in FrameType),
        int32s(0x7FFFFFFF),
        int32s(TERM // 2),
        int32s(INITIAL_TERM),
        int64s(TAG),
        int64s(2**62),
        b"\x05\xff",
    )
    traced = ()

    def __init__(self) -> None:
        self._nodes = NodeFactory()

    def seeds(self) -> Iterable[bytes]:
        """Return for each flow control a stream that is acknowledged, asked for again, measured, refused."""
        status = b"\x02\0\0" + int32s(32768)
        for kind in range(4):
            first = bytes([kind])
            yield first + status + b"\x04\x20" + b"\x05\0" + b"\x03\0\0" + int32s(64) + b"\x05\x40"
            yield first + status + b"\x04\xff" + b"\x02\x01\0" + int32s(65536) + b"\x06\0" + int64s(SECOND) + b"\x05\xff"
            yield first + status + b"\x0a\x08\0" + int32s(4096) + b"\x07\0\x04" + b"\x05\xf0" + b"\x04\x20"
        sm = transport.StatusMessageEncoder.encode(frame_length=36, session_id=SESSION, stream_id=STREAM, consumption_term_id=INITIAL_TERM)
        yield b"\0\0" + bytes([len(sm)]) + sm + b"\x04\x20"

    def execute(self, data: bytes) -> None:
        """Run the steps, then let the publication time out."""
        fields = Fields(data)
        node, network = self._nodes.make()
        kind = fields.unsigned(1)
        port = network.open_port(PLACE, None if kind & 8 else PEER)
        # Its peer may send from anywhere: as behind a group, whose members answer.
        endpoint = node.send_endpoint(network.open_port(("10.0.0.1", 0), PEER) if kind & 16 else port, group=bool(kind & 8))
        place = endpoint.local_address if hasattr(endpoint, "local_address") else PLACE
        receivers = [network.open_port(address, place) for address in (PEER, STRANGER)]
        control = self._flow_control(kind & 3)
        publication, appender = node.publish(endpoint, exclusive=bool(kind & 4), flow_control=control)
        node.work()
        for _ in range(STEPS_MAX):
            if fields.is_empty:
                break
            step = fields.unsigned(1)
            before = network.sent
            if step & 7 == 4:
                self._offer(appender, fields.unsigned(1))
            elif step & 7 == 5:
                node.advance((1 << (fields.unsigned(1) >> 4)) * MS)
            else:
                receivers[step >> 7].send_datagrams([(self._datagram(step & 7, step >> 3, fields), None)])
            node.advance(MS)
            if network.sent - before > SENT_MAX // 32:
                raise FindingError(f"{network.sent - before} datagrams were sent for one step")
        node.end_publication(publication, endpoint)

    def renew(self) -> None:
        """Let the next execution begin with new agents."""
        self._nodes.renew()

    @staticmethod
    def _flow_control(kind: int) -> FlowControl:
        if kind == 0:
            return UnicastFlowControl(16, 128 * 1024)
        if kind == 1:
            return MaxFlowControl(4, 128 * 1024)
        if kind == 2:
            return MinFlowControl(4, 128 * 1024, receiver_timeout_ns=5 * SECOND)
        return TaggedFlowControl(4, 128 * 1024, receiver_timeout_ns=5 * SECOND, group_tag=TAG)

    @staticmethod
    def _offer(appender: Appender, how: int) -> None:
        for _ in range(1 + (how & 15)):
            try:
                appender.append(bytes(8 * how))
            except AerowireError:
                return

    @staticmethod
    def _datagram(kind: int, choice: int, fields: Fields) -> bytes:
        if kind < 2:
            return fields.take(fields.unsigned(1))
        ids = int32s(SESSION, STREAM)
        receiver = int64s(choice & 7)
        if kind == 6:
            echo = fields.take(8).ljust(8, b"\0")
            return int32s(40) + bytes([0, 0x80 if choice & 8 else 0, 6, 0]) + ids + echo + int64s(fields.signed(4)) + receiver
        if kind == 7:
            length = fields.unsigned(1)
            text = fields.take(length & 63)
            error = int32s(40 + len(text)) + bytes([0, (length >> 4) & 0x88, 0, 0])[:2] + int32s(4)[:2]
            return error + ids + receiver + int64s(TAG) + int32s(fields.unsigned(1), length) + text
        place = fields.unsigned(2) * 32
        where = int32s(INITIAL_TERM + place // TERM, place % TERM)
        if kind == 3:
            return int32s(28) + bytes([0, 0, 2, 0]) + ids + where + int32s(fields.signed(4))
        tag = int64s(TAG) if choice & 8 else b""
        return (
            int32s(36 + len(tag))
            + bytes([0, fields.unsigned(1) if choice & 16 else 0, 3, 0])
            + ids
            + where
            + int32s(fields.signed(4))
            + receiver
            + tag
        )
