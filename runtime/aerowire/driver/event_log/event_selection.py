"""Which events the driver's event log notes: the language of its option. Aeron: EventConfiguration.parseEventCodes, DriverLog."""

from __future__ import annotations

import difflib
import re

from aerowire.base.errors import ConfigurationError
from aerowire.codecs.flyweights.events import DriverEventCode

FRAMES = frozenset({DriverEventCode.FRAME_IN, DriverEventCode.FRAME_OUT})
ALL = frozenset(DriverEventCode)
_SETS = {"all": ALL, "admin": ALL - FRAMES, "none": frozenset[DriverEventCode]()}
_IN = frozenset(code for code in ALL if code.name.startswith("CMD_IN_"))
_OUT = frozenset(code for code in ALL if code.name.startswith("CMD_OUT_"))

# Names of old, and the C driver's own.
_OTHER_NAMES = {
    "SEND_NAK_MESSAGE": frozenset({DriverEventCode.NAK_SENT}),
    "GENERIC_MESSAGE": frozenset({DriverEventCode.TEXT_DATA}),
    # Events of the C driver's extensions, of which there are none here.
    "ADD_DYNAMIC_DISSECTOR": frozenset[DriverEventCode](),
    "DYNAMIC_DISSECTOR_EVENT": frozenset[DriverEventCode](),
}

# Masks are the C driver's older form: what each bit asks for, and from where on a mask asks for everything. Aeron: aeron_driver_agent.c.
_MASK = re.compile(r"0x[0-9a-fA-F]+")
_MASK_ALL = 0xFFFF
_MASK_BITS = (
    # That driver counts a publication's revocation among the commands.
    (0x1, _IN | {DriverEventCode.PUBLICATION_REVOKE}),
    (0x2, _OUT),
    (0x4, frozenset({DriverEventCode.FRAME_IN})),
    (0x8 | 0x10, frozenset({DriverEventCode.FRAME_OUT})),
    (0x80, frozenset({DriverEventCode.UNTETHERED_SUBSCRIPTION_STATE_CHANGE})),
)

# Events that are known by name and number, and that no driver notes, the official ones included.
NEVER_NOTED = {
    DriverEventCode.TEXT_DATA: "for extensions of a driver's, of which there are none",
    DriverEventCode.NAME_RESOLUTION_HOST_NAME: "a driver does not look for its own name",
}


def parse_codes(text: str, where: str) -> frozenset[DriverEventCode]:
    """Return the events that `text` names: names, numbers, masks, all, admin, none, with commas between. Raises ConfigurationError."""
    codes: set[DriverEventCode] = set()
    for word in filter(None, (word.strip() for word in text.split(","))):
        codes |= _codes_of(word, where)
    return frozenset(codes)


def selected_codes(enabled: str, disabled: str, *, enabled_name: str, disabled_name: str) -> frozenset[DriverEventCode]:
    """Return what is enabled and not disabled, by the texts and names of the two options."""
    return parse_codes(enabled, enabled_name) - parse_codes(disabled, disabled_name)


def _codes_of(word: str, where: str) -> frozenset[DriverEventCode]:
    if word.lower() in _SETS:
        return _SETS[word.lower()]
    if word in _OTHER_NAMES:
        return _OTHER_NAMES[word]
    if _MASK.fullmatch(word):
        mask = int(word, 16)
        return ALL if mask >= _MASK_ALL else frozenset().union(*(codes for bits, codes in _MASK_BITS if mask & bits))
    try:
        return frozenset({DriverEventCode(int(word)) if word.isdecimal() else DriverEventCode[word]})
    except (KeyError, ValueError):
        close = difflib.get_close_matches(word.upper(), [*DriverEventCode.__members__, *map(str.upper, _SETS)], n=1)
        raise ConfigurationError(
            "no event has this name or number",
            where=where,
            expected="events with commas between, all, admin, or none",
            actual=repr(word),
            hint=f"did you mean {close[0]}?" if close else "`aerowire events --codes` lists them",
        ) from None
