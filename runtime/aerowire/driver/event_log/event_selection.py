"""The events of the driver, and the words by which its options name them. Aeron: DriverLog, and aeron_driver_agent.c for masks."""

from __future__ import annotations

from typing import Final

from aerowire.base.event_selection import EventVocabulary
from aerowire.codecs.flyweights.events import DriverEventCode
from aerowire.codecs.tables.options import OPTIONS

FRAMES = frozenset({DriverEventCode.FRAME_IN, DriverEventCode.FRAME_OUT})
_IN = frozenset(code for code in DriverEventCode if code.name.startswith("CMD_IN_"))
_OUT = frozenset(code for code in DriverEventCode if code.name.startswith("CMD_OUT_"))

# Older names, and names of the C driver's own.
_OTHER_NAMES = {
    "SEND_NAK_MESSAGE": frozenset({DriverEventCode.NAK_SENT}),
    "GENERIC_MESSAGE": frozenset({DriverEventCode.TEXT_DATA}),
    # Events of the C driver's extensions, of which there are none here.
    "ADD_DYNAMIC_DISSECTOR": frozenset[DriverEventCode](),
    "DYNAMIC_DISSECTOR_EVENT": frozenset[DriverEventCode](),
}

# Masks are the C driver's older form.
_MASK_ALL = 0xFFFF
_MASKS = (
    # That driver counts a publication's revocation among the commands.
    (0x1, _IN | {DriverEventCode.PUBLICATION_REVOKE}),
    (0x2, _OUT),
    (0x4, frozenset({DriverEventCode.FRAME_IN})),
    (0x8 | 0x10, frozenset({DriverEventCode.FRAME_OUT})),
    (0x80, frozenset({DriverEventCode.UNTETHERED_SUBSCRIPTION_STATE_CHANGE})),
)

DRIVER_EVENTS: Final = EventVocabulary(
    "driver",
    DriverEventCode,
    enabled=OPTIONS["event_log"],
    disabled=OPTIONS["event_log_disable"],
    sets={"admin": frozenset(DriverEventCode) - FRAMES},
    other_names=_OTHER_NAMES,
    masks=_MASKS,
    mask_all=_MASK_ALL,
    # No driver notes these, the official ones included.
    never_noted={
        DriverEventCode.TEXT_DATA: "for extensions of a driver's, of which there are none",
        DriverEventCode.NAME_RESOLUTION_HOST_NAME: "a driver does not look for its own name",
    },
)
