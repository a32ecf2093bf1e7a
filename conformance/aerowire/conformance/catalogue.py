"""All cases in the catalogue's order, and how a user names some of them."""

from __future__ import annotations

import fnmatch
import importlib

from aerowire.conformance.errors import ConformanceError
from aerowire.conformance.model import Case

GROUPS = {
    "A": "Setup and status messages, receiver",
    "B": "Setup and status messages, sender",
    "C": "Data and term rebuild",
    "D": "Reordering",
    "E": "Loss and NAK, receiver",
    "F": "Retransmission, sender",
    "G": "Duplicates",
    "H": "Flow control, sender",
    "I": "Multicast",
    "J": "Multiple destinations, of senders and of receivers",
    "K": "Round trip times and congestion control",
    "L": "Heartbeat, end of stream, liveness",
    "M": "Malformed and hostile",
    "N": "Wrong ids, out of the window",
    "O": "Frame types of transport security",
    "Q": "Errors and rejected images",
    "S": "Name resolution",
    "T": "Response channels",
    "U": "IPv6",
    "V": "Large",
    "W": "Wildcard ports, channels, commands",
}
# The module of each group in `cases`.
MODULES = {
    "A": "setup_receiver",
    "B": "setup_sender",
    "C": "data",
    "D": "reordering",
    "E": "loss",
    "F": "retransmission",
    "G": "duplicates",
    "H": "flow_control",
    "I": "multicast",
    "J": "multiple_destinations",
    "K": "congestion_control",
    "L": "liveness",
    "M": "malformed",
    "N": "wrong_ids",
    "O": "transport_security",
    "Q": "errors_and_rejections",
    "S": "name_resolution",
    "T": "response_channels",
    "U": "ipv6_streams",
    "V": "large",
    "W": "channels_and_commands",
}
# What a user adds is shown behind the catalogue.
SHOWN_GROUPS = {**GROUPS, "P": "Captures replayed", "X": "Scripts"}


class UnknownCaseError(ConformanceError):
    """A pattern that names no case."""


def all_cases() -> list[Case]:
    """Return every case, group by group."""
    found: list[Case] = []
    for name in MODULES.values():
        module = importlib.import_module(f"aerowire.conformance.cases.{name}")
        found.extend(module.CASES)
    return found


def select(patterns: str | None) -> list[Case]:
    """Return the cases named by comma-separated ids and shell patterns (`A01,E*`) in the catalogue's order; all for None.

    Raises UnknownCaseError for a pattern that matches nothing.
    """
    cases = all_cases()
    if patterns is None:
        return cases
    wanted: set[str] = set()
    for pattern in (part.strip().upper() for part in patterns.split(",")):
        matched = [case.id for case in cases if fnmatch.fnmatchcase(case.id, pattern)]
        if not pattern or not matched:
            raise UnknownCaseError(f"no case is named {pattern!r}; see `conformance list`")
        wanted.update(matched)
    return [case for case in cases if case.id in wanted]
