"""Faults of group M: malformed datagrams.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable

from aerowire.codecs.flyweights.commands import AvailableImageDecoder, AvailableImageEncoder, CommandType
from aerowire.codecs.flyweights.transport import (
    ERROR_TEXT_LENGTH_MAX,
    ErrorFrameDecoder,
    FrameType,
    SmFlags,
    StatusMessageEncoder,
)
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.conformance.cases.malformed_hostile import SESSION_LIMIT
from tests.conformance.injector import Count, Fault, Match, answer, drop, edited, read, replace, type_of
from tests.conformance.misbehaviour import (
    HALF_TERM,
    NEVER,
    first_frame,
    frozen,
    invalid,
    is_batch,
    is_data,
    is_lying,
    is_nak,
    is_no_frame,
    is_pad,
    is_setup,
    is_status,
    same,
)

# What a verdict says of the malformed datagram of each case, and what that datagram is known by.
REPLIES = {
    "M01": "the first four bytes of a DATA frame",
    "M02": "the first eight bytes of a DATA frame",
    "M03": "a DATA frame of version 1",
    "M04": "a DATA frame with frame_length -1",
    "M05": "a SETUP of 40 bytes with frame_length 72",
    "M06": "a frame of type 12",
    "M07": "a frame of type -1",
    "M08": "a SETUP of 39 bytes",
    "M09": "a NAK of 27 bytes",
    "M10": "a status message of 35 bytes",
    "M11": "an ERR of 39 bytes",
    "M12": "an RTTM of 39 bytes",
    "M13": "a RSP_SETUP of 19 bytes",
    "M14": "a RES of 21 bytes",
    "M15": "a DATA datagram of 40 bytes",
    "M16": "a DATA datagram of 31 bytes",
    "M18": "65,507 bytes",
}
# The field that is wrong in the SETUP of each case, and a value that a driver may let pass for it.
SETUPS = {
    "M19": {"term_length": 65_536},
    "M20": {"term_length": 65_536},
    "M21": {"term_length": 65_536},
    "M22": {"term_offset": 0},
    "M23": {"term_offset": 0},
    "M24": {"mtu": 1408},
    "M25": {"mtu": 1408},
    "M26": {"term_offset": 0},
}


ANSWER = StatusMessageEncoder.encode(flags=SmFlags.SEND_SETUP)


# -- what a datagram is -----------------------------------------------------------------------------------------------


def is_empty(datagram: bytes) -> bool:
    return not datagram


def is_error(datagram: bytes) -> bool:
    return type_of(datagram) == FrameType.ERR


def is_afterwards(datagram: bytes) -> bool:
    return b"good data" in datagram


def is_good_status(datagram: bytes) -> bool:
    return is_status(datagram) and not is_no_frame(datagram)


def is_rare_noise(datagram: bytes) -> bool:
    return len(datagram) == 255 and is_no_frame(datagram)


def is_good_setup(fields: dict[str, int]) -> Match:
    """A SETUP with the values that will do."""
    return lambda datagram: is_setup(datagram) and all(getattr(read(datagram), name) == value for name, value in fields.items())


def is_wrong_setup(fields: dict[str, int]) -> Match:
    """A SETUP with other values."""
    is_good = is_good_setup(fields)
    return lambda datagram: is_setup(datagram) and not is_good(datagram)


# -- what it becomes --------------------------------------------------------------------------------------------------


def shortened(datagram: bytes) -> bytes:
    """The frame declares what its datagram holds."""
    return edited(datagram, frame_length=len(datagram))


def told(datagram: bytes) -> bytes:
    """An ERR that declares the text that it holds."""
    return edited(datagram, error_length=min(len(datagram) - ErrorFrameDecoder.ENCODED_LENGTH, ERROR_TEXT_LENGTH_MAX))


def connecting(data: bytes) -> bytes:
    """A status message that connects the publication whose frame came back."""
    ids = {"session_id": read(data).session_id, "stream_id": read(data).stream_id, "consumption_term_id": read(data).term_id}
    return StatusMessageEncoder.encode(receiver_window=HALF_TERM, receiver_id=1, **ids)


# -- faults that need more than one datagram --------------------------------------------------------------------------

announced: Counter[int] = Counter()


def pass_limit(type_id: int, body: bytes) -> Iterable[tuple[int, bytes]]:
    """Announce one image more than a stream may have."""
    yield type_id, body
    if type_id == CommandType.ON_AVAILABLE_IMAGE:
        subscription_id = AvailableImageDecoder(body).subscription_registration_id
        announced[subscription_id] += 1
        if announced[subscription_id] == SESSION_LIMIT:
            del announced[subscription_id]
            second = bytearray(body)
            AvailableImageEncoder(second).correlation_id = AvailableImageDecoder(body).correlation_id + 1
            yield type_id, bytes(second)


def growing(counter: SystemCounter) -> Count:
    """A counter that is 16 MiB higher each time it is read."""
    reads = itertools.count()

    def count(kind: SystemCounter | CounterType, value: int, _: int) -> int:
        return value + (next(reads) << 24) if kind is counter else value

    return count


def faults_of_frames() -> list[Fault]:
    """Faults of the cases that send one datagram that is no frame."""
    return [
        fault
        for case_id, words in REPLIES.items()
        for fault in (
            Fault(case_id, "does not count", "INVALID_PACKETS (14) at", "it is at", hears=drop(is_no_frame)),
            Fault(case_id, "counts twice", "INVALID_PACKETS (14) at", "it is at", hears=replace(is_no_frame, same, same)),
            Fault(case_id, "answers", f"no reply to {words}", "SM[", hears=answer(is_no_frame, lambda _: ANSWER)),
            Fault(
                case_id,
                "answers nonsense",
                f"no reply to {words}",
                "3 bytes that are no frame",
                hears=answer(is_no_frame, lambda _: b"huh"),
            ),
            Fault(case_id, "no longer receives", "an eliciting status message", NEVER, hears=drop(lambda d: b"well-formed" in d)),
            Fault(case_id, "no longer sends", "the publication to be connected", "it did not happen", hears=drop(is_good_status)),
        )
    ]


def faults_of_setups() -> list[Fault]:
    """Faults of the cases that send SETUPs with wrong values."""
    return [
        fault
        for case_id, fields in SETUPS.items()
        for match, mended in [(is_wrong_setup(fields), lambda datagram, fields=fields: edited(datagram, **fields))]
        for fault in (
            Fault(case_id, "takes it", "INVALID_PACKETS (14) at", "it is at", hears=replace(match, mended)),
            Fault(case_id, "counts and takes it", "no reply to a SETUP that cannot be", "SM[", hears=replace(match, same, mended)),
            Fault(case_id, "counts twice", "INVALID_PACKETS (14) at", "it is at", hears=replace(match, same, same)),
            Fault(case_id, "answers", "no reply to a SETUP that cannot be", "SM[", hears=answer(match, lambda _: ANSWER)),
            Fault(case_id, "is deaf afterwards", "an available image", "no image", hears=drop(is_good_setup(fields))),
        )
    ]


def faults_of_lengths() -> list[Fault]:
    """Faults of the cases that send data to a live image with lengths that cannot be."""
    return [
        fault
        for case_id, match, mended in (("M32", is_lying, shortened), ("M33", is_batch, first_frame))
        for fault in (
            Fault(case_id, "takes what is there", "INVALID_PACKETS (14) at", "it is at", hears=replace(match, mended)),
            Fault(case_id, "counts and takes it", "rcv-hwm after the refused packet = 0", "= 64", hears=replace(match, same, mended)),
            Fault(case_id, "ignores it", "INVALID_PACKETS (14) at", "it is at", hears=drop(match)),
            Fault(case_id, "is deaf afterwards", "1 payloads delivered", "0 came", hears=drop(is_afterwards)),
        )
    ]


FAULTS: tuple[Fault, ...] = (
    *faults_of_frames(),
    Fault("M17", "answers", "no reply to an empty datagram", "SM[", hears=answer(is_empty, lambda _: ANSWER)),
    Fault("M17", "counts twice", "INVALID_PACKETS up by 1 or by 0", "up by 2", hears=replace(is_empty, lambda _: b"no", lambda _: b"no")),
    Fault("M17", "no longer receives", "an eliciting status message", NEVER, hears=drop(lambda d: b"well-formed" in d)),
    Fault("M17", "no longer sends", "the publication to be connected", "it did not happen", hears=drop(is_good_status)),
    *faults_of_setups(),
    Fault("M27", "counts them", "INVALID_PACKETS unchanged", "it is at", hears=replace(is_nak, invalid)),
    Fault("M27", "counts data", "INVALID_PACKETS unchanged", "it is at", hears=replace(is_pad, invalid)),
    Fault("M27", "answers a NAK", "no reply to a control frame", "SM[", hears=answer(is_nak, lambda _: ANSWER)),
    Fault("M27", "answers padding", "no reply to a data frame", "SM[", hears=answer(is_pad, lambda _: ANSWER)),
    Fault("M27", "is connected by its own data", "no reply to a data frame", "DATA[", hears=replace(is_pad, connecting)),
    Fault("M27", "is deaf afterwards", "1 payloads delivered", "0 came", hears=drop(is_afterwards)),
    Fault("M27", "no longer sends", "the publication to be connected", "it did not happen", hears=drop(is_good_status)),
    Fault("M28", "makes one image more", "images of the flooded stream = 8", "= 9", announces=pass_limit),
    Fault("M28", "records nothing", "an error recorded of the flood", "it did not happen", counts=frozen(SystemCounter.ERRORS)),
    Fault("M28", "is deaf afterwards", "1 payloads delivered", "0 came", hears=drop(is_afterwards)),
    Fault("M29", "is deaf afterwards", "1 payloads delivered", "0 came", hears=drop(is_afterwards)),
    Fault("M29", "answers", "no reply to noise", "SM[", hears=answer(is_rare_noise, lambda _: ANSWER)),
    Fault("M29", "maps more", "BYTES_CURRENTLY_MAPPED at most", "it is at", counts=growing(SystemCounter.BYTES_CURRENTLY_MAPPED)),
    Fault("M29", "counts none", "invalid packets counted", "it did not happen", counts=frozen(SystemCounter.INVALID_PACKETS)),
    # Where there is room for the log, this is all that the case asks.
    Fault("M30", "is deaf", "1 payloads delivered", "0 came", hears=drop(is_afterwards)),
    Fault("M31", "takes what is there", "INVALID_PACKETS (14) at", "it is at", hears=replace(is_error, told)),
    Fault("M31", "counts and takes it", "ERROR_FRAMES_RECEIVED unchanged", "it is at", hears=replace(is_error, same, told)),
    Fault("M31", "ignores it", "INVALID_PACKETS (14) at", "it is at", hears=drop(is_error)),
    Fault("M31", "sends no more", "the stream sent up to position", "no further", says=drop(is_data)),
    *faults_of_lengths(),
)
