"""What proves that a flow speaks Aeron: frames that only its streams would send after each other, or a frame that nothing else looks like.

A single frame of data proves nothing, because it has few bits that must be so: of requests with a length before them some always look like
one.  A flow is proven by one of
    a SETUP, or a name resolution, which have many such bits;
    data that goes on in the stream and term of the frame before it on the same link, in one datagram or in two: where that ended or not far
    behind (what is between was lost), or at the beginning of the next term where that one was at its end;
    frames of one stream that are of different kinds (data, and a receiver's status or NAK for the same or a neighbouring term);
    three heartbeats in a row at one place, or three status messages of one receiver that do not go back: idle streams, one direction;
    any frame of a stream that a SETUP in another flow told of: receivers of a multicast group answer to an address of their own.
Streams of session 0 prove nothing, because other protocols are full of zeros.

What disproves it: datagrams that break the rules of frames, where they are not few beside the good ones (see BREACH_SHARE), so that a
datagram that was damaged on its way is left out alone, and a flow of chance hits is left out whole.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from aerowire.codecs.flyweights import transport as codecs
from aerowire.codecs.flyweights.transport import FrameType
from aerowire.pcap.arrays.blocks import Gather, Integers, Mask
from aerowire.pcap.frames.frames import LAYOUTS, Judged
from aerowire.pcap.frames.terms import StreamKey

STEP_MAX = 1 << 24  # bytes of a stream that may be lost between two of its frames
BREACH_SHARE = 8  # good datagrams that outweigh one that breaks a rule
FLOW, PAIR, LINK, KIND, TERM, START, END, RECEIVER = range(8)  # rows of an array of frames; a pair is a session and a stream
ROWS = 8
CARRIED_MAX = 1 << 17  # frames of flows that nothing has proven yet, which the next ones are compared with
HISTORY_MAX = 1 << 18
CERTAIN = (FrameType.SETUP, FrameType.RES)
# Kinds that say something of a stream: their fields of a term and of an offset in it.
PLACES = {
    FrameType.PAD: ("term_id", "term_offset"),
    FrameType.DATA: ("term_id", "term_offset"),
    FrameType.NAK: ("term_id", "term_offset"),
    FrameType.SM: ("consumption_term_id", "consumption_term_offset"),
}
STREAM_KINDS = (*PLACES, FrameType.ERR, FrameType.SETUP, FrameType.RTTM, FrameType.RSP_SETUP)


@dataclass(slots=True)
class History:
    """The frames of flows that a part of a capture did not prove, in order, to be looked at together with other parts'."""

    rows: Integers
    is_whole: bool


class Evidence:
    """Collects proofs over the blocks of a capture. Invariant: what is carried is of flows that are not proven, and in order."""

    def __init__(self, *, keeps_history: bool = False) -> None:
        self._proven: Mask = np.zeros(64, dtype=bool)
        self._carried: Integers = np.empty((ROWS, 0), dtype=np.int64)
        self._history: list[Integers] | None = [] if keeps_history else None
        self._history_length = 0

    def note(self, gather: Gather, found: Judged, links: Integers, flow_of: Integers) -> None:
        """Take the frames of a block.  links: of each datagram; flow_of: of each link."""
        self._grow(int(flow_of.max(initial=0)) + 1)
        flows = flow_of[links]
        open_ = ~(self._proven[flows] | found.broken)
        rows = np.flatnonzero(open_[found.datagrams])
        if rows.size:
            self.note_rows(_frames(gather, found, rows, links, flows))

    def note_rows(self, fresh: Integers) -> None:
        """Take frames, in the order of the capture."""
        self._grow(int(fresh[FLOW].max(initial=0)) + 1)
        certain = np.isin(fresh[KIND], CERTAIN)
        rows = np.concatenate([self._carried, fresh], axis=1)
        rows = rows[:, np.lexsort((rows[PAIR], rows[FLOW]))]  # which leaves frames of one stream in their order
        proofs = _proofs(rows)
        self._proven[fresh[FLOW][certain]] = True
        self._proven[rows[FLOW][proofs]] = True
        self._carried = _last(rows[:, ~self._proven[rows[FLOW]]])
        if self._history is not None:
            self._history.append(fresh[:, ~self._proven[fresh[FLOW]]])
            self._history_length += self._history[-1].shape[1]
            if self._history_length > HISTORY_MAX:
                self._history = None

    def history(self) -> History:
        """Return the frames of flows that are not proven."""
        if self._history is None:
            return History(np.empty((ROWS, 0), dtype=np.int64), is_whole=False)
        rows = np.concatenate([np.empty((ROWS, 0), dtype=np.int64), *self._history], axis=1)
        return History(rows[:, ~self._proven[rows[FLOW]]], is_whole=True)

    def prove(self, flows: Integers) -> None:
        """Take flows that are known to be proven."""
        self._grow(int(flows.max(initial=0)) + 1)
        self._proven[flows] = True

    def proven(self, flow_count: int, streams: Collection[StreamKey] = ()) -> Mask:
        """Return which flows are proven, those included that say something of one of some streams: those that SETUPs told of."""
        self._grow(flow_count)
        out = self._proven[:flow_count].copy()
        if streams and self._carried.shape[1]:
            pairs = [session_id << 32 | stream_id & 0xFFFF_FFFF for session_id, stream_id in streams]
            shared = np.isin(self._carried[PAIR], np.array(pairs, dtype=np.int64)) & (self._carried[PAIR] >> 32 != 0)
            out[self._carried[FLOW][shared]] = True
        return out

    def _grow(self, count: int) -> None:
        if count > self._proven.size:
            grown = np.zeros(max(count, 2 * self._proven.size), dtype=bool)
            grown[: self._proven.size] = self._proven
            self._proven = grown


def _frames(gather: Gather, found: Judged, rows: Integers, links: Integers, flows: Integers) -> Integers:
    """Return some frames of a block as rows, in its order."""
    owners, kinds, offsets = found.datagrams[rows], found.types[rows], found.offsets[rows]
    out = np.zeros((ROWS, rows.size), dtype=np.int64)
    out[FLOW], out[LINK], out[KIND] = flows[owners], links[owners], kinds
    for kind in np.flatnonzero(np.bincount(kinds)).tolist():
        if kind not in STREAM_KINDS:
            continue
        mine = np.flatnonzero(kinds == kind)
        records = gather.structs(LAYOUTS[FrameType(kind)], offsets[mine])
        out[PAIR, mine] = records["session_id"].astype(np.int64) << 32 | records["stream_id"].astype(np.int64) & 0xFFFF_FFFF
        if kind in PLACES:
            term, offset = PLACES[FrameType(kind)]
            out[TERM, mine], out[START, mine] = records[term], records[offset]
        if kind in (FrameType.DATA, FrameType.PAD):
            lengths = records["frame_length"].astype(np.int64)
            out[END, mine] = out[START, mine] + ((lengths + (codecs.FRAME_ALIGNMENT - 1)) & -codecs.FRAME_ALIGNMENT)
        if kind == FrameType.SM:
            out[RECEIVER, mine] = records["receiver_id"]
    return out


def _proofs(rows: Integers) -> Integers:
    """Return the indexes of frames that, with the one or two before them in their stream, are a proof.  rows: sorted by flow and pair."""
    before, after = rows[:, :-1], rows[:, 1:]
    same = (before[FLOW] == after[FLOW]) & (before[PAIR] == after[PAIR]) & (after[PAIR] >> 32 != 0)
    term_step = (after[TERM] - before[TERM]).astype(np.int32)
    one_link = before[LINK] == after[LINK]
    was_data, is_data = _is_data(before), _is_data(after)
    step = after[START] - before[END]
    moves = (after[END] > before[END]) | (before[END] > before[START])  # two heartbeats at one place do not go on
    on = (term_step == 0) & (step >= 0) & (step <= STEP_MAX) & moves
    full = before[END] >= codecs.TERM_LENGTH_MIN
    on |= (term_step == 1) & (after[START] == 0) & full & (before[END] & (before[END] - 1) == 0)
    on &= one_link & was_data & is_data & ((before[KIND] == FrameType.DATA) | (after[KIND] == FrameType.DATA))
    placed = np.isin(before[KIND], tuple(PLACES)) & np.isin(after[KIND], tuple(PLACES))
    mixed = np.where(was_data, FrameType.DATA, before[KIND]) != np.where(is_data, FrameType.DATA, after[KIND])
    mixed &= ~placed | (np.abs(term_step) <= 1)
    mixed &= ~(was_data ^ is_data) | ~one_link  # what a receiver says goes the other way
    still = one_link & (before[KIND] == after[KIND]) & _is_heartbeat(before) & _is_heartbeat(after)
    still &= (term_step == 0) & (before[START] == after[START])
    status = one_link & (before[KIND] == FrameType.SM) & (after[KIND] == FrameType.SM) & (before[RECEIVER] == after[RECEIVER])
    status &= ((term_step == 0) & (before[START] <= after[START])) | ((term_step == 1) & (before[START] > after[START]))
    half = same & (still | status)
    whole = same & (on | mixed)
    whole[1:] |= half[1:] & half[:-1]
    return np.flatnonzero(whole) + 1


def _is_data(rows: Integers) -> Mask:
    found: Mask = (rows[KIND] == FrameType.DATA) | (rows[KIND] == FrameType.PAD)
    return found


def _is_heartbeat(rows: Integers) -> Mask:
    found: Mask = (rows[KIND] == FrameType.DATA) & (rows[START] == rows[END])
    return found


def _last(rows: Integers) -> Integers:
    """Return the last two frames of each stream, which are all that the next ones are compared with."""
    count = rows.shape[1]
    keep = np.ones(count, dtype=bool)
    if count > 2:
        keep[:-2] = (rows[FLOW, :-2] != rows[FLOW, 2:]) | (rows[PAIR, :-2] != rows[PAIR, 2:])
    return rows[:, keep][:, -CARRIED_MAX:]
