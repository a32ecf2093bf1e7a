"""Rules that senders keep: SETUP, data, what is sent again, heartbeats, the end of a stream."""

from __future__ import annotations

from collections.abc import Iterable

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataFlags, DataHeaderDecoder, FrameType, SetupDecoder, SetupFlags
from aerowire.conformance.rules import end_in_window, is_heartbeat, is_valid_data, is_valid_setup
from aerowire.conformance.verdicts.checks import RuleChecks
from aerowire.conformance.verdicts.packets import Frame, Packet
from aerowire.conformance.verdicts.state import LATE_MS, Asked, Path, Resent, StreamState, mark, ms_between

SETUP_MS = 100.0
HEARTBEAT_MS = 100.0
LINGER_MS = 10.0
# A timer of the sender and the clock of the capture differ by this much when nothing is wrong.
EARLY_MS = 5.0


class SenderRules:
    """Evaluates what senders say, and keeps the streams' states current with it."""

    def __init__(self, checks: RuleChecks) -> None:
        self._checks = checks

    # -- SETUP --------------------------------------------------------------------------------------------------------

    def on_setup(self, packet: Packet, state: StreamState) -> None:
        """A SETUP: its fields, and when it came."""
        setup = SetupDecoder(packet.payload)
        stream = state.stream
        said = (setup.initial_term_id, setup.term_length, setup.mtu)
        meant = (stream.initial_term_id, stream.term_length, stream.mtu)
        names = "initial_term_id, term_length, mtu"
        is_sound = self._checks.check("B02", is_valid_setup(setup), [packet.number], "values within their limits", f"{names} {said}")
        is_sound &= self._checks.check("B02", said == meant, [packet.number], f"{names} {meant}", f"{said}")
        position = stream.position(setup.active_term_id, setup.term_offset)
        is_sound &= self._checks.check("B02", position >= 0, [packet.number], "a position from 0", f"{position}")
        if packet.is_multicast:
            self._checks.check("B03", bool(setup.flags & SetupFlags.GROUP), [packet.number], "the group flag", f"0x{setup.flags:02x}")
        path = state.path(packet)
        self._check_times(packet, state, path)
        path.setups.on_due(packet, SETUP_MS)
        state.last_setup = mark(packet)
        if setup.flags & SetupFlags.SEND_RESPONSE:
            state.response_asked = mark(packet)
        if is_sound:
            state.reach(position)

    def _check_times(self, packet: Packet, state: StreamState, path: Path) -> None:
        before = path.setups.last
        if before is None:
            return
        gap = ms_between(before, packet)
        packets = [before.number, packet.number]
        self._checks.check("B08", path.setups.after(packet) >= SETUP_MS - EARLY_MS, packets, "SETUPs 100 ms apart", f"{gap:.1f} ms")
        if state.first_status is None:
            state.check_gap(self._checks, "B01", before, packet, SETUP_MS, LATE_MS, "a SETUP every 100 ms")

    # -- data ---------------------------------------------------------------------------------------------------------

    def on_data(self, packet: Packet, state: StreamState) -> None:
        """DATA or PAD: a heartbeat, or frames that are new or sent again."""
        if state.began_with_setup:
            first = state.first_status
            self._checks.check("B05", first is not None, [packet.number], "a status message before it", "none so far")
        if is_heartbeat(packet.payload):
            self._on_heartbeat(packet, state)
            return
        if not self._is_well_formed(packet, state):
            return
        path = state.path(packet)
        frames = state.stream.frames(packet.payload)
        again = [frame for frame in frames if frame.position in path.seen]
        if again:
            self._on_resent(packet, state, path, again[0].position, again[-1].end)
        elif (
            path.sent_end is not None and frames[0].position < path.sent_end and not _covers(state.asked, frames[0].position, frames[0].end)
        ):
            path.is_disordered = True  # nobody asked, and it was never here: it comes late
        path.seen.update(frame.position for frame in frames)
        if path.sent_end is None or frames[-1].end > path.sent_end:
            self._on_new(packet, state, path, frames)

    def _is_well_formed(self, packet: Packet, state: StreamState) -> bool:
        payload, stream = packet.payload, state.stream
        is_chained = is_valid_data(payload, stream.term_length)
        if not self._checks.check("C08", is_chained, [packet.number], "each frame where the one before ends", "another place"):
            return False
        offset, others = 0, set()
        while offset + DataHeaderDecoder.ENCODED_LENGTH <= len(payload):
            header = DataHeaderDecoder(payload, offset)
            others.add((header.session_id, header.stream_id, header.term_id))
            offset += max(DataHeaderDecoder.ENCODED_LENGTH, -(-header.frame_length // FRAME_ALIGNMENT) * FRAME_ALIGNMENT)
        self._checks.check("C06", len(others) == 1, [packet.number], "frames of one session, stream and term", f"{len(others)} of them")
        self._checks.check("C06", len(payload) <= stream.mtu, [packet.number], f"at most {stream.mtu} bytes", f"{len(payload)}")
        return len(others) == 1 and stream.position(header.term_id, 0) >= 0

    def _on_new(self, packet: Packet, state: StreamState, path: Path, frames: list[Frame]) -> None:
        fresh = [frame for frame in frames if path.sent_end is None or frame.position >= path.sent_end]
        self._check_limit(packet, state, fresh)
        self._check_fragments(packet, path, fresh)
        self._check_pause(packet, state, path)
        end = frames[-1].end
        if state.end_position is not None and state.end_mark is not None:
            packets = [state.end_mark.number, packet.number]
            self._checks.check(
                "L03", end <= state.end_position, packets, f"no data beyond the end at {state.end_position}", f"data to {end}"
            )
        path.sent_end = end
        state.reach(end)
        self._forget(state, path, end)

    def _forget(self, state: StreamState, path: Path, end: int) -> None:
        """Let go of what nobody may ask for any more, once a term."""
        term_length = state.stream.term_length
        oldest = end - 2 * term_length
        if end // term_length == path.forgotten:
            return
        path.forgotten = end // term_length
        path.seen = {position for position in path.seen if position >= oldest}
        while path.resent and path.resent[0].end < oldest:
            path.resent.popleft()
        while state.asked and state.asked[0].end < oldest:
            state.asked.popleft()

    def _check_limit(self, packet: Packet, state: StreamState, frames: list[Frame]) -> None:
        if state.limit is None or state.limit_mark is None or not state.is_whole(packet):
            return
        for frame in frames:
            end = end_in_window(frame.type, frame.position, frame.end)
            packets = [state.limit_mark.number, packet.number]
            self._checks.check("H01", end <= state.limit, packets, f"data up to {state.limit}", f"up to {end}")

    def _check_fragments(self, packet: Packet, path: Path, frames: list[Frame]) -> None:
        for frame in frames:
            if path.sent_end is not None and frame.position != path.sent_end:
                path.is_within_message = None  # what was lost before the capture may have ended the message
            if frame.type == FrameType.DATA:
                begins = bool(frame.flags & DataFlags.BEGIN)
                if path.is_within_message is not None:
                    wanted = "a fragment that goes on" if path.is_within_message else "the beginning of a message"
                    self._checks.check("C03", begins is not path.is_within_message, [packet.number], wanted, f"flags 0x{frame.flags:02x}")
                path.is_within_message = not frame.flags & DataFlags.END
            else:
                path.is_within_message = None  # padding takes the place of what its publisher never finished
            path.sent_end = frame.end

    def _check_pause(self, packet: Packet, state: StreamState, path: Path) -> None:
        before = path.sendings.last
        if before is not None:
            state.check_gap(self._checks, "L01", before, packet, HEARTBEAT_MS, LATE_MS, "a heartbeat within 100 ms")
        path.sendings.on_other(packet)

    def _on_resent(self, packet: Packet, state: StreamState, path: Path, start: int, end: int) -> None:
        """Bytes that were sent before: somebody asked, as often as they came, and not within the linger."""
        asked = [one for one in state.asked if one.position < end and start < one.end]
        is_covered = _covers(asked, start, end)
        path.repeats.append(("F01", is_covered, [packet.number], "a NAK for these bytes before", f"none for {start} to {end}"))
        before = [one for one in path.resent if one.position < end and start < one.end]
        if before:
            last = before[-1]
            gap = (packet.time_ns - last.time_ns) / 1e6
            packets = [last.number, packet.number]
            is_late = gap >= LINGER_MS - 1
            path.repeats.append(("F02", is_late, packets, f"{start} to {end} not again within 10 ms", f"again after {gap:.2f} ms"))
            if is_covered:
                wanted = f"a NAK for each time that {start} is sent again"
                path.repeats.append(("F01", len(before) < len(asked), packets, wanted, f"{len(asked)} for {len(before) + 1} times"))
        path.resent.append(Resent(packet.number, packet.time_ns, start, end))

    def at_end(self, state: StreamState) -> None:
        """The capture is over: where the network kept the order, what came twice was sent twice."""
        state.check_late(self._checks)
        for path in state.paths.values():
            if path.is_disordered:
                self._checks.leave("F01", f"the network to {path.destination[0]}:{path.destination[1]} changes the order of datagrams")
                continue
            for each in path.repeats:
                self._checks.check(*each)

    # -- heartbeats ---------------------------------------------------------------------------------------------------

    def _on_heartbeat(self, packet: Packet, state: StreamState) -> None:
        header = DataHeaderDecoder(packet.payload)
        position = state.stream.position(header.term_id, header.term_offset)
        path = state.path(packet)
        plain = header.flags & ~(DataFlags.EOS | DataFlags.REVOKED) & 0xFF
        self._checks.check(
            "L02", plain == DataFlags.UNFRAGMENTED, [packet.number], "flags 0xc0, with those of the end", f"0x{header.flags:02x}"
        )
        at = path.sent_end
        is_there = position >= 0 and (at is None or position >= at)
        self._checks.check("L02", is_there, [packet.number], f"a heartbeat at {at}", f"at {position}")
        before = path.sendings.last
        if before is not None:
            gap = ms_between(before, packet)
            packets = [before.number, packet.number]
            is_end = bool(header.flags & (DataFlags.EOS | DataFlags.REVOKED))
            state.check_gap(self._checks, "L01", before, packet, HEARTBEAT_MS, LATE_MS, "a heartbeat within 100 ms")
            is_early = not is_end and path.sendings.after(packet) < HEARTBEAT_MS - EARLY_MS
            self._checks.check("L01", not is_early, packets, "no heartbeat before 100 ms", f"{gap:.1f} ms")
        path.sendings.on_due(packet, HEARTBEAT_MS)
        if not is_there:
            return
        self._check_end(packet, state, header.flags, position)
        if position != path.sent_end:
            path.is_within_message = None
        path.sent_end = position
        state.reach(position)

    def _check_end(self, packet: Packet, state: StreamState, flags: int, position: int) -> None:
        is_end = bool(flags & (DataFlags.EOS | DataFlags.REVOKED))
        if state.end_mark is not None:
            packets = [state.end_mark.number, packet.number]
            self._checks.check("L03", is_end, packets, "the end-of-stream flag for good", f"flags 0x{flags:02x}")
            if is_end:
                self._checks.check("L03", position == state.end_position, packets, f"an end at {state.end_position}", f"at {position}")
        elif is_end:
            state.end_position, state.end_mark = position, mark(packet)


def _covers(asked: Iterable[Asked], start: int, end: int) -> bool:
    """Say whether NAKs together name every byte of a range."""
    at = start
    for one in sorted(asked, key=lambda each: each.position):
        if one.position <= at:
            at = max(at, one.end)
    return at >= end
