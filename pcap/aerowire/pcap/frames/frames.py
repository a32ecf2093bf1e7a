"""From datagrams to Aeron frames: the two layers of accept rules, and the walk through datagrams that hold several frames.

The rules are those that a driver applies (Aeron: UdpChannelTransport, then SetupFlyweight, StatusMessageFlyweight, NakFlyweight,
ErrorFlyweight, PublicationImage), for a term length that is not known: the longest there is.  All layouts come from the generated codecs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from aerowire.codecs.dtypes import transport as layouts
from aerowire.codecs.flyweights import transport as codecs
from aerowire.codecs.flyweights.transport import FrameType
from aerowire.pcap.arrays.blocks import Gather, Integers, Mask
from aerowire.pcap.packets.datagrams import Datagrams

try:
    from aerowire.pcap.frames.plain_frames import find_plain_frames
except ImportError:  # an installation that comes as a plain zip
    from aerowire.pcap.frames.plain_frames_fallback import find_plain_frames

ALIGNMENT = codecs.FRAME_ALIGNMENT
DATA_LENGTH = layouts.DATA_HEADER.itemsize
# Frame type -> the fixed part of its layout.
LAYOUTS: dict[FrameType, np.dtype[np.void]] = {
    FrameType.PAD: layouts.DATA_HEADER,
    FrameType.DATA: layouts.DATA_HEADER,
    FrameType.NAK: layouts.NAK,
    FrameType.SM: layouts.STATUS_MESSAGE,
    FrameType.ERR: layouts.ERROR_FRAME,
    FrameType.SETUP: layouts.SETUP,
    FrameType.RTTM: layouts.RTTM,
    FrameType.RES: layouts.FRAME_HEADER,
    FrameType.RSP_SETUP: layouts.RESPONSE_SETUP,
}
INDEX_BITS = 16  # of a frame's index in its datagram, which has less than that of bytes
TYPES_MAX = max(LAYOUTS) + 1
# Frame type -> least datagram length; 0 for types that no driver accepts.
LENGTH_MIN = np.zeros(TYPES_MAX, dtype=np.int64)
for _type, _layout in LAYOUTS.items():
    LENGTH_MIN[_type] = codecs.RESOLUTION_FRAME_LENGTH_MIN if _type is FrameType.RES else _layout.itemsize


# What the native search for frames is told of them.
_PLACES = {name: place for name, (_, place, *_) in (layouts.DATA_HEADER.fields or {}).items()}
PLAIN_RULES = (
    *(_PLACES[name] for name in ("frame_length", "version", "type", "term_offset")),
    *(layouts.FRAME_HEADER.itemsize, DATA_LENGTH, ALIGNMENT, codecs.TERM_LENGTH_MAX),
    *(codecs.FRAME_VERSION, int(FrameType.DATA), int(FrameType.PAD)),
    *(codecs.TERM_LENGTH_MIN, codecs.SETUP_MTU_MIN, codecs.MAX_UDP_PAYLOAD),
)
_RULES: dict[FrameType, tuple[int, tuple[str, ...]]] = {  # frame type -> number of its rule, and the fields that it is about
    FrameType.SETUP: (1, ("term_offset", "term_length", "mtu")),
    FrameType.SM: (2, ("consumption_term_offset", "receiver_window")),
    FrameType.NAK: (3, ("term_offset", "length")),
    FrameType.RTTM: (0, ()),
    FrameType.RSP_SETUP: (0, ()),
}
CONTROL_RULES = np.zeros((TYPES_MAX, 5), dtype=np.int64)
for _type, (_rule, _names) in _RULES.items():
    _at = {name: place for name, (_, place, *_) in (LAYOUTS[_type].fields or {}).items()}
    _offsets = [*(_at[name] for name in _names), *[layouts.FRAME_HEADER.itemsize] * (3 - len(_names))]
    CONTROL_RULES[_type] = LENGTH_MIN[_type], _rule, *_offsets


class Verdict(IntEnum):
    """What the rules say of a datagram."""

    GOOD = 0
    TOO_SHORT = 1
    BAD_VERSION = 2
    BAD_TYPE = 3
    BAD_LENGTH = 4
    BAD_FIELD = 5
    BAD_WALK = 6
    UNJUDGED = 7  # too little of it was captured


REASONS = {
    Verdict.TOO_SHORT: "not a frame: too short",
    Verdict.BAD_VERSION: "not a frame: version",
    Verdict.BAD_TYPE: "not a frame: type",
    Verdict.BAD_LENGTH: "not a frame: length",
    Verdict.BAD_FIELD: "not a frame: field out of range",
    Verdict.BAD_WALK: "not a frame: data frames do not follow each other",
    Verdict.UNJUDGED: "truncated packet",
}


@dataclass(slots=True)
class Judged:
    """The frames of some good datagrams, in the order of the capture, and the verdict on each of all."""

    datagrams: Integers  # index of the datagram
    offsets: Integers  # of the frame header in the buffer
    indexes: Integers  # of the frame in its datagram
    types: Integers
    verdicts: npt.NDArray[np.int8]
    broken: Mask  # datagrams that no sender of Aeron frames would send


@dataclass(slots=True)
class Frames(Judged):
    """Those of a block."""

    truncated: Mask  # good datagrams of which not all was captured


def decode(gather: Gather, datagrams: Datagrams) -> Frames:
    """Apply both layers of rules to every datagram and return the frames of the good ones."""
    owners, offsets, indexes, types, is_plain = find_plain_frames(
        gather.buffer, datagrams.starts, datagrams.lengths, datagrams.captured_ends, PLAIN_RULES, CONTROL_RULES
    )
    left = np.flatnonzero(~is_plain)
    verdicts = np.zeros(datagrams.count, dtype=np.int8)
    broken = np.zeros(datagrams.count, dtype=bool)
    if left.size:
        other = _decode(gather, datagrams.take(~is_plain) if left.size < datagrams.count else datagrams)
        verdicts[left], broken[left] = other.verdicts, other.broken
        # A datagram's frames are all of one of the two, and in order there.
        where = owners.searchsorted(left[other.datagrams])
        owners, offsets = np.insert(owners, where, left[other.datagrams]), np.insert(offsets, where, other.offsets)
        indexes, types = np.insert(indexes, where, other.indexes), np.insert(types, where, other.types)
    truncated = (verdicts == Verdict.GOOD) & (datagrams.captured_ends - datagrams.starts < datagrams.lengths)
    return Frames(owners, offsets, indexes, types, verdicts, broken, truncated)


def _decode(gather: Gather, datagrams: Datagrams) -> Judged:
    """Do the same for datagrams of which nothing is known yet."""
    verdicts = np.zeros(datagrams.count, dtype=np.int8)
    captured = datagrams.captured_ends - datagrams.starts
    header_length = layouts.FRAME_HEADER.itemsize
    verdicts[captured < header_length] = Verdict.UNJUDGED
    verdicts[datagrams.lengths < header_length] = Verdict.TOO_SHORT
    rows = np.flatnonzero(verdicts == Verdict.GOOD)
    headers = gather.structs(layouts.FRAME_HEADER, datagrams.starts[rows])
    types = headers["type"].astype(np.int64)
    frame_lengths = headers["frame_length"].astype(np.int64)
    lengths = datagrams.lengths[rows]
    known = (types >= 0) & (types < TYPES_MAX)
    least = np.where(known, LENGTH_MIN[np.where(known, types, 0)], 0)
    is_data = (types == FrameType.DATA) | (types == FrameType.PAD)
    judged = verdicts[rows]
    # Later lines overrule earlier ones: the first rule that a driver looks at names the reason.
    judged[np.where(is_data, (lengths & (ALIGNMENT - 1)) != 0, frame_lengths > lengths) | (lengths < least) | (frame_lengths < 0)] = (
        Verdict.BAD_LENGTH
    )
    judged[least == 0] = Verdict.BAD_TYPE
    judged[headers["version"] != codecs.FRAME_VERSION] = Verdict.BAD_VERSION
    judged[(judged == Verdict.GOOD) & (captured[rows] < least) & (types != FrameType.RES)] = Verdict.UNJUDGED
    odd = (judged == Verdict.GOOD) & ~is_data & (frame_lengths != lengths)  # one control frame is one datagram
    control = np.flatnonzero((judged == Verdict.GOOD) & ~is_data)
    for kind in np.unique(types[control]).tolist():
        chosen = control[types[control] == kind]
        judged[chosen] = _control_rules(FrameType(kind), gather, datagrams, rows[chosen])
    verdicts[rows] = judged
    data = np.flatnonzero((judged == Verdict.GOOD) & is_data)
    walked = _walk(gather, datagrams, rows[data], verdicts)
    control = control[judged[control] == Verdict.GOOD]
    broken = (verdicts != Verdict.GOOD) & (verdicts != Verdict.UNJUDGED)
    broken[rows[odd]] = True
    broken[walked.odd] = True
    owners = np.concatenate([walked.datagrams, rows[control]])
    offsets = np.concatenate([walked.offsets, datagrams.starts[rows[control]]])
    indexes = np.concatenate([walked.indexes, np.zeros(control.size, dtype=np.int64)])
    kinds = np.concatenate([walked.types, types[control]])
    keep = verdicts[owners] == Verdict.GOOD
    order = np.flatnonzero(keep)
    order = order[np.argsort(owners[order] << INDEX_BITS | indexes[order], kind="stable")]
    return Judged(owners[order], offsets[order], indexes[order], kinds[order], verdicts, broken)


def _control_rules(kind: FrameType, gather: Gather, datagrams: Datagrams, rows: Integers) -> npt.NDArray[np.int8]:
    """Return the verdict of the second layer on datagrams that hold one control frame of one kind."""
    out = np.zeros(rows.size, dtype=np.int8)
    if kind is FrameType.RES:
        for index, row in enumerate(rows.tolist()):
            start, end = int(datagrams.starts[row]), int(datagrams.captured_ends[row])
            if end - start < int(datagrams.lengths[row]):
                out[index] = Verdict.UNJUDGED
            elif not is_resolution(gather.buffer[start:end].data):
                out[index] = Verdict.BAD_FIELD
        return out
    frame = gather.structs(LAYOUTS[kind], datagrams.starts[rows])
    term_max = codecs.TERM_LENGTH_MAX
    if kind is FrameType.SETUP:
        term, mtu = frame["term_length"].astype(np.int64), frame["mtu"].astype(np.int64)
        good = (term >= codecs.TERM_LENGTH_MIN) & (term <= term_max) & ((term & (term - 1)) == 0) & _in_term(frame["term_offset"], term)
        good &= (mtu >= codecs.SETUP_MTU_MIN) & (mtu <= codecs.MAX_UDP_PAYLOAD) & ((mtu & (ALIGNMENT - 1)) == 0)
    elif kind is FrameType.SM:
        window = frame["receiver_window"]
        good = _in_term(frame["consumption_term_offset"], term_max) & (window >= 0) & (window <= term_max // 2)
    elif kind is FrameType.NAK:
        length = frame["length"].astype(np.int64)
        good = _in_term(frame["term_offset"], term_max) & (length >= 0) & (frame["term_offset"] + length <= term_max)
    elif kind is FrameType.ERR:
        length = frame["error_length"].astype(np.int64)
        good = (length >= 0) & (length <= codecs.ERROR_TEXT_LENGTH_MAX) & (LAYOUTS[kind].itemsize + length <= frame["frame_length"])
    else:
        good = np.ones(rows.size, dtype=bool)
    out[~good] = Verdict.BAD_FIELD
    return out


def _in_term(offset: npt.NDArray[np.int32], term_length: Integers | int) -> Mask:
    good: Mask = (offset >= 0) & (offset < term_length) & ((offset & (ALIGNMENT - 1)) == 0)
    return good


def is_resolution(datagram: memoryview) -> bool:
    """Whether a RES datagram's entries are whole, named and of known kinds, to its very end."""
    try:
        frame = codecs.ResolutionDecoder(datagram)
        entries = list(frame.entries)
        return bool(entries) and all(0 < len(entry.name) <= codecs.RESOLUTION_NAME_LENGTH_MAX for entry in entries)
    except (ValueError, IndexError, UnicodeDecodeError):
        return False


@dataclass(slots=True)
class _Walked:
    datagrams: Integers
    offsets: Integers
    indexes: Integers
    types: Integers
    odd: Integers  # datagrams that a receiver accepts and no sender sends


def _walk(gather: Gather, datagrams: Datagrams, rows: Integers, verdicts: npt.NDArray[np.int8]) -> _Walked:
    """Step through datagrams of DATA and PAD frames, one frame of each datagram per turn; write the verdict of those that break a rule."""
    position = datagrams.starts[rows]
    ends, captured_ends = position + datagrams.lengths[rows], datagrams.captured_ends[rows]
    found: list[tuple[Integers, Integers, Integers, Integers]] = []
    odd: list[Integers] = []
    expected = np.full(rows.size, -1, dtype=np.int64)
    index = 0
    while rows.size:
        header = gather.structs(layouts.DATA_HEADER, position)
        length, offset = header["frame_length"].astype(np.int64), header["term_offset"].astype(np.int64)
        kind = header["type"].astype(np.int64)
        aligned = (length + (ALIGNMENT - 1)) & -ALIGNMENT
        remaining = ends - position
        good = (length > 0) & ((kind == FrameType.DATA) | (kind == FrameType.PAD)) & (offset + aligned <= codecs.TERM_LENGTH_MAX)
        if index == 0:
            in_term = (offset >= 0) & (offset < codecs.TERM_LENGTH_MAX) & ((offset & (ALIGNMENT - 1)) == 0)
            heartbeat = (length == 0) & (remaining == DATA_LENGTH) & in_term
            good = (good & in_term) | heartbeat
            aligned = np.where(heartbeat, DATA_LENGTH, aligned)
            odd.append(rows[heartbeat & (kind != FrameType.DATA)])
        else:
            good &= offset == expected
        rest = remaining - aligned
        good &= (rest >= 0) | (kind == FrameType.PAD)
        verdicts[rows[~good]] = Verdict.BAD_WALK
        odd.append(rows[good & (rest < 0) & (remaining != DATA_LENGTH)])  # a PAD frame's body is never sent
        found.append((rows[good], position[good], np.full(int(good.sum()), index, dtype=np.int64), kind[good]))
        on = good & (rest > 0)
        # What was not captured cannot be walked: the frames before it stand.
        on &= position + aligned + DATA_LENGTH <= captured_ends
        rows, position, ends, captured_ends, expected = (
            rows[on],
            (position + aligned)[on],
            ends[on],
            captured_ends[on],
            (offset + aligned)[on],
        )
        index += 1
    if not found:
        nothing = np.empty(0, dtype=np.int64)
        return _Walked(nothing, nothing, nothing, nothing, nothing)
    owners, offsets, indexes, kinds = (np.concatenate([turn[column] for turn in found]) for column in range(4))
    return _Walked(owners, offsets, indexes, kinds, np.concatenate(odd))
