"""All cases in the catalogue's order, and how a user names some of them."""

from __future__ import annotations

import fnmatch
import importlib
from typing import NamedTuple

from aerowire.conformance.errors import ConformanceError
from aerowire.conformance.model import Case


class Group(NamedTuple):
    """A letter's cases: what they are about, and their module in `cases`."""

    topic: str
    module: str


GROUPS = {
    "A": Group("Setup and status messages, receiver", "setup_receiver"),
    "B": Group("Setup and status messages, sender", "setup_sender"),
    "C": Group("Data and term rebuild", "data"),
    "D": Group("Reordering", "reordering"),
    "E": Group("Loss and NAK, receiver", "loss"),
    "F": Group("Retransmission, sender", "retransmission"),
    "G": Group("Duplicates", "duplicates"),
    "H": Group("Flow control, sender", "flow_control"),
    "I": Group("Multicast", "multicast"),
    "J": Group("Multiple destinations, of senders and of receivers", "multiple_destinations"),
    "K": Group("Round trip times and congestion control", "congestion_control"),
    "L": Group("Heartbeat, end of stream, liveness", "liveness"),
    "M": Group("Malformed and hostile", "malformed"),
    "N": Group("Wrong ids, out of the window", "wrong_ids"),
    "O": Group("Frame types of transport security", "transport_security"),
    "Q": Group("Errors and rejected images", "errors_and_rejections"),
    "S": Group("Name resolution", "name_resolution"),
    "T": Group("Response channels", "response_channels"),
    "U": Group("IPv6", "ipv6_streams"),
    "V": Group("Large", "large"),
    "W": Group("Wildcard ports, channels, commands", "channels_and_commands"),
}
# Cases that a user adds are shown behind the catalogue.
TOPICS = {**{letter: group.topic for letter, group in GROUPS.items()}, "P": "Captures replayed", "X": "Scripts"}


class UnknownCaseError(ConformanceError):
    """A pattern that names no case."""


def all_cases() -> list[Case]:
    """Return every case, group by group."""
    found: list[Case] = []
    for group in GROUPS.values():
        module = importlib.import_module(f"aerowire.conformance.cases.{group.module}")
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
