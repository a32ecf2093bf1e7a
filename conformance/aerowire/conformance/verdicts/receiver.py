"""Rules that receivers keep: status messages, NAKs, rejections, round trip times, response sessions."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import (
    FRAME_ALIGNMENT,
    ErrorFrameDecoder,
    NakDecoder,
    RttmDecoder,
    RttmFlags,
    SmFlags,
    StatusMessageDecoder,
)
from aerowire.conformance.rules import is_offset, is_valid_nak, is_valid_status
from aerowire.conformance.verdicts.checks import RuleChecks
from aerowire.conformance.verdicts.packets import Packet
from aerowire.conformance.verdicts.state import LATE_MS, Asked, Capture, Receiver, StreamState, mark, ms_between

STATUS_MS = 200.0
REQUEST_MS = 1_000.0
RESPONSE_MS = 200.0


class ReceiverRules:
    """Evaluates what receivers say, and keeps the streams' states current with it."""

    def __init__(self, checks: RuleChecks) -> None:
        self._checks = checks

    # -- status messages ----------------------------------------------------------------------------------------------

    def on_status(self, packet: Packet, state: StreamState) -> None:
        """A status message: a request for a SETUP, or what a receiver has consumed."""
        message = StatusMessageDecoder(packet.payload)
        receiver = state.receiver(message.receiver_id)
        self._check_address(packet, state)
        if message.flags & SmFlags.SEND_SETUP:
            self._on_request(packet, message, receiver)
            return
        term_length = state.stream.term_length
        is_sound = is_valid_status(message, term_length)
        actual = f"offset {message.consumption_term_offset}, window {message.receiver_window}"
        self._checks.check("A07", is_sound, [packet.number], f"an offset within {term_length}, a window up to {term_length // 2}", actual)
        position = state.stream.position(message.consumption_term_id, message.consumption_term_offset)
        self._begin_image(receiver, state)
        self._check_consumption(packet, state, receiver, position)
        self._check_life(packet, message, receiver, state)
        if state.first_status is None:
            state.first_status = mark(packet)
        receiver.last_status = mark(packet)
        receiver.consumption = position
        if is_sound:
            state.consumed.setdefault(packet.source, {})[message.receiver_id] = position
            if state.limit is None or position + message.receiver_window > state.limit:
                state.limit, state.limit_mark = position + message.receiver_window, mark(packet)

    def on_general_request(self, packet: Packet, capture: Capture) -> None:
        """A status message for no stream that the capture introduces: a receiver asks who sends to it."""
        message = StatusMessageDecoder(packet.payload)
        if message.flags & SmFlags.SEND_SETUP:
            key = (message.receiver_id, message.session_id, message.stream_id)
            self._on_request(packet, message, capture.asking.setdefault(key, Receiver()))

    def _on_request(self, packet: Packet, message: StatusMessageDecoder, receiver: Receiver) -> None:
        values = (message.consumption_term_id, message.consumption_term_offset, message.receiver_window)
        is_plain = int(message.flags) == SmFlags.SEND_SETUP and not any(values)
        self._checks.check("A01", is_plain, [packet.number], "flags 0x80, values (0, 0, 0)", f"0x{int(message.flags):02x}, {values}")
        before = receiver.last_request
        if before is not None:
            gap = ms_between(before, packet)
            # What made the first go out late does not delay the second.
            is_apart = gap >= REQUEST_MS - LATE_MS
            self._checks.check("A02", is_apart, [before.number, packet.number], "no second request within a second", f"{gap:.1f} ms")
        receiver.last_request = mark(packet)
        receiver.last_status = receiver.last_error = receiver.end_announced = receiver.consumption = None  # a new image begins

    def _begin_image(self, receiver: Receiver, state: StreamState) -> None:
        """Forget what went before the last SETUP: only a SETUP brings a receiver that left its image back, and nobody says that it left."""
        last, setup = receiver.last_status or receiver.last_error, state.last_setup
        if last is not None and setup is not None and setup.number > last.number:
            receiver.last_status = receiver.last_error = receiver.end_announced = receiver.consumption = None

    def _check_consumption(self, packet: Packet, state: StreamState, receiver: Receiver, position: int) -> None:
        if state.highest is not None and state.is_whole(packet):
            self._checks.check("B17", position <= state.highest, [packet.number], f"consumption up to {state.highest}", f"{position}")
        if receiver.consumption is not None and receiver.last_status is not None:
            packets = [receiver.last_status.number, packet.number]
            self._checks.check("B17", position >= receiver.consumption, packets, f"consumption from {receiver.consumption}", f"{position}")

    def _check_life(self, packet: Packet, message: StatusMessageDecoder, receiver: Receiver, state: StreamState) -> None:
        before = receiver.last_status
        if before is not None:
            state.check_gap(self._checks, "A10", before, packet, STATUS_MS, LATE_MS, "a status message every 200 ms")
        is_end = bool(message.flags & SmFlags.EOS)
        if receiver.end_announced is not None:
            packets = [receiver.end_announced.number, packet.number]
            self._checks.check("L08", is_end, packets, "flag 0x40 for good", f"flags 0x{int(message.flags):02x}")
        elif is_end:
            receiver.end_announced = mark(packet)
        if receiver.last_error is not None:
            packets = [receiver.last_error.number, packet.number]
            self._checks.check("Q01", False, packets, "no status message after the rejection", "one")

    def _check_address(self, packet: Packet, state: StreamState) -> None:
        """Where a receiver's messages go: to where the sender sends from, or to the control address of a group."""
        wanted = state.stream.senders | state.stream.controls
        names = ", ".join(f"{host}:{port}" for host, port in sorted(wanted))
        actual = f"{packet.destination[0]}:{packet.destination[1]}"
        is_unknown = packet.is_multicast and packet.destination[1] in state.stream.unnamed
        self._checks.check("E12", is_unknown or packet.destination in wanted, [packet.number], f"to {names}", actual)

    # -- NAKs ---------------------------------------------------------------------------------------------------------

    def on_nak(self, packet: Packet, state: StreamState) -> None:
        """A NAK: bytes that were sent, that something behind has shown to be missing, and that are not consumed."""
        nak = NakDecoder(packet.payload)
        stream = state.stream
        self._check_address(packet, state)
        is_sound = is_valid_nak(nak, stream.term_length) and is_offset(nak.length, stream.term_length + 1) and nak.length > 0
        actual = f"offset {nak.term_offset}, length {nak.length}"
        wanted = f"whole multiples of {FRAME_ALIGNMENT} within a term of {stream.term_length}"
        if not self._checks.check("E01", is_sound, [packet.number], wanted, actual):
            return
        position = stream.position(nak.term_id, nak.term_offset)
        end = position + nak.length
        highest = state.highest if state.highest is not None and state.is_whole(packet) else end
        self._checks.check("E01", position >= 0 and end <= highest, [packet.number], f"bytes sent, up to {highest}", f"{position} to {end}")
        consumed = state.consumed.get(packet.source)
        if consumed:
            least = min(consumed.values())
            self._checks.check("E03", position >= least, [packet.number], f"bytes not consumed, from {least}", f"{position} to {end}")
        state.is_lossy = True
        state.asked.append(Asked(packet.number, position, end))

    # -- the rest -----------------------------------------------------------------------------------------------------

    def on_error(self, packet: Packet, state: StreamState) -> None:
        """An ERR: it takes the status message's place, in its time."""
        error = ErrorFrameDecoder(packet.payload)
        receiver = state.receiver(error.receiver_id)
        self._begin_image(receiver, state)
        before = receiver.last_error
        if before is not None:
            state.check_gap(self._checks, "Q01", before, packet, STATUS_MS, LATE_MS, "an ERR every 200 ms")
        receiver.last_error = mark(packet)

    def on_rttm(self, packet: Packet, capture: Capture, state: StreamState) -> None:
        """An RTTM: a request, or the reply to one."""
        rttm = RttmDecoder(packet.payload)
        key = (rttm.session_id, rttm.stream_id, rttm.echo_timestamp_ns)
        if rttm.flags & RttmFlags.REPLY:
            capture.requests[key] = mark(packet)
            return
        is_asked = key in capture.requests
        if is_asked or state.is_whole(packet):
            self._checks.check("K01", is_asked, [packet.number], "the timestamp of a request", f"{rttm.echo_timestamp_ns}")
        self._checks.check("K01", rttm.reception_delta_ns >= 0, [packet.number], "a delta from 0", f"{rttm.reception_delta_ns}")

    def on_response_setup(self, packet: Packet, state: StreamState) -> None:
        """An RSP_SETUP: somebody asked, and not more often than status messages go out."""
        asked = state.response_asked
        if asked is not None or state.is_whole(packet):
            self._checks.check("T01", asked is not None, [packet.number], "a SETUP with flag 0x80 before", "none")
        before = state.last_response
        if before is not None:
            gap = ms_between(before, packet)
            packets = [before.number, packet.number]
            self._checks.check("T01", gap >= RESPONSE_MS / 2, packets, "no second RSP_SETUP within 100 ms", f"{gap:.1f} ms")
        state.last_response = mark(packet)
