"""Faults of group O: frame types of transport security.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from collections.abc import Callable

from aerowire.codecs.flyweights.transport import FrameHeaderEncoder, FrameType, SetupDecoder, StatusMessageDecoder
from tests.conformance.injector import Fault, answer, drop, replace, type_of
from tests.conformance.misbehaviour import NEVER, is_data, is_elicit, is_nak, is_setup, is_status, same

SECURE = (FrameType.ATS_DATA, FrameType.ATS_SETUP, FrameType.ATS_SM)
OPEN = {SetupDecoder.ENCODED_LENGTH: FrameType.SETUP, StatusMessageDecoder.ENCODED_LENGTH: FrameType.SM}


def is_secure(datagram: bytes) -> bool:
    return type_of(datagram) in SECURE


def marked(kind: FrameType) -> Callable[[bytes], bytes]:
    """A change of the frame type."""

    def become(datagram: bytes) -> bytes:
        changed = bytearray(datagram)
        FrameHeaderEncoder(changed).type = kind
        return bytes(changed)

    return become


def opened(datagram: bytes) -> bytes:
    """The open frame that a secured one would be."""
    return marked(OPEN.get(len(datagram), FrameType.DATA))(datagram)


FAULTS: tuple[Fault, ...] = (
    *(
        fault
        for case_id, kind in (("O01", 8), ("O02", 9), ("O03", 10))
        for fault in (
            Fault(case_id, "takes it", "INVALID_PACKETS (14) at", "it is at", hears=replace(is_secure, opened)),
            Fault(case_id, "counts it twice", "INVALID_PACKETS (14) at", "it is at", hears=replace(is_secure, same, same)),
            Fault(case_id, "answers it", f"no reply to a frame of type {kind}", "3 bytes", hears=answer(is_secure, lambda _: b"huh")),
            Fault(case_id, "is deaf", "INVALID_PACKETS (14) at", "it is at", hears=drop(is_secure)),
        )
    ),
    *(
        Fault("O04", f"says a secured {name}", "no frame of the types 8, 9 and 10", "ATS_", says=replace(match, same, marked(kind)))
        for name, match, kind in (
            ("SETUP", is_setup, FrameType.ATS_SETUP),
            ("frame of data", is_data, FrameType.ATS_DATA),
            ("status message", is_status, FrameType.ATS_SM),
        )
    ),
    Fault("O04", "says no NAK", "a NAK within 200 ms", NEVER, says=drop(is_nak)),
    Fault("O04", "says no SETUP on request", "an elicited SETUP within 200 ms", NEVER, hears=drop(is_elicit)),
)
