"""Faults of group W: ports, channels, commands.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.cnc import CONSUMER_HEARTBEAT_CLOSED, CncHeaderEncoder
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.conformance.cases.channels_and_ports import BAD_PARAMS
from aerowire.conformance.peers.base import Peer, ProcessPeer
from tests.conformance.faults.channels import with_param
from tests.conformance.faults.flow import withhold
from tests.conformance.faults.news import accept_everything, refuse_otherwise
from tests.conformance.injector import Announce, Fault, Head, drop
from tests.conformance.misbehaviour import is_setup

# A parameter of a second publication -> how a driver that does not see it reads the channel.
OTHER_PARAMS = {
    "mtu": ("mtu=2816", "mtu=1408"),
    "term_length": ("term-length=131072", "term-length=65536"),
    "init_term_id": ("init-term-id=8|term-id=8", "init-term-id=7|term-id=7"),
}
# Shorter than a command of its kind.
CUT = 12
# What is wrong with a channel -> how a driver that does not see it reads the channel.
MISREAD = {
    "another medium": ("aeron:tcp", "aeron:udp"),
    "a port that is none": (":65536", ":40111"),
    "dynamic without control": ("control-mode=dynamic|", ""),
    "control alone": ("udp?control=127.0.0.1", "udp?control-mode=dynamic|control=127.0.0.1"),
}


def pad_all(_: int, body: bytes) -> bytes:
    """Read zeros where a command was cut short."""
    return body + bytes(64) if len(body) == CUT else body


def cut_terminations(type_id: int, body: bytes) -> bytes:
    """Do not understand who wants the driver to end."""
    return body[:CUT] if type_id == CommandType.TERMINATE_DRIVER else body


def of_sessions(**changes: Any) -> Announce:
    """Give out other session ids than are free."""

    def announce(type_id: int, body: bytes) -> Iterable[tuple[int, bytes]]:
        changed = bytearray(body)
        if type_id == CommandType.ON_NEXT_AVAILABLE_SESSION_ID:
            for name, value in changes.items():
                setattr(commands.NextAvailableSessionIdEncoder(changed), name, value)
        yield type_id, bytes(changed)

    return announce


def name_a_taken_one(type_id: int, body: bytes) -> Iterable[tuple[int, bytes]]:
    """Let every publication have a reserved session id."""
    changed = bytearray(body)
    if type_id == CommandType.ON_EXCLUSIVE_PUBLICATION_READY:
        commands.PublicationReadyEncoder(changed).session_id = 5
    yield type_id, bytes(changed)


def make_another() -> Announce:
    """Make a static counter each time that somebody asks."""
    made: list[int] = []

    def announce(type_id: int, body: bytes) -> Iterable[tuple[int, bytes]]:
        changed = bytearray(body)
        if type_id == CommandType.ON_STATIC_COUNTER:
            commands.StaticCounterEncoder(changed).counter_id += len(made)
            made.append(1)
        yield type_id, bytes(changed)

    return announce


def with_header(**changes: Any) -> Head:
    """Read another header."""

    def head(header: bytes) -> bytes:
        changed = bytearray(header)
        for name, change in changes.items():
            setattr(CncHeaderEncoder(changed), name, change(getattr(CncHeaderEncoder(changed), name)))
        return bytes(changed)

    return head


def start_all_the_same(peer: ProcessPeer, properties: Mapping[str, str]) -> Peer:
    """Start a second driver as if nobody had the directory."""
    twin = peer.variant(properties)
    twin.start()
    twin.await_ready()
    return twin


FAULTS: tuple[Fault, ...] = (
    Fault("W01", "listens elsewhere", "an image of the stream to the port", "no image", hears=drop(is_setup)),
    Fault("W01", "binds another host", "host of the bound address = 127.0.0.1", "127.0.0.2", asks=with_param("127.0.0.1:0", "127.0.0.2:0")),
    Fault("W01", "takes one port for all", "another port for another endpoint", "40112 for both", asks=with_param(":0", ":40112")),
    Fault("W02", "takes any port", "ports = [", "[40113", asks=with_param(":0|tags=1", ":40113|tags=1")),
    Fault("W02", "goes beyond the range", "a port where none is free refused", "accepted", announces=accept_everything()),
    Fault("W02", "gives another one again", "port that is free again = ", "= 40116", asks=with_param(":0|tags=5", ":40116|tags=5")),
    Fault("W02", "has no range for senders", "port of a sender = ", "= 40117", asks=with_param(":0|control-mode", ":40117|control-mode")),
    Fault("W03", "takes it", "a publication to port 0 refused", "accepted", announces=accept_everything()),
    Fault("W03", "chooses one", "a publication to port 0 refused", "accepted", asks=with_param("127.0.0.1:0", "127.0.0.1:40114")),
    Fault("W03", "refuses it as unknown", "error code 1 or 11", "error code 9", announces=refuse_otherwise(9)),
    Fault("W04", "takes all", "a publication with another scheme refused", "accepted", announces=accept_everything()),
    *(
        Fault("W04", f"takes {name}", f"a publication with {name} refused", "accepted", asks=with_param(*read))
        for name, read in MISREAD.items()
    ),
    Fault("W04", "refuses them as unknown", "error code 1 or 11", "error code 9", announces=refuse_otherwise(9)),
    Fault("W05", "takes all", "a publication with mtu=1400 refused", "accepted", announces=accept_everything()),
    *(
        Fault("W05", f"takes {params}", f"a publication with {params} refused", "accepted", asks=with_param(f"|{params}", ""))
        for params in BAD_PARAMS
    ),
    Fault("W06", "takes it", "a host that nobody knows refused", "accepted", announces=accept_everything()),
    Fault("W06", "refuses it otherwise", "error code 9 or 1", "error code 11", announces=refuse_otherwise()),
    Fault("W06", "knows nobody", "to be accepted", "error 9", asks=with_param("localhost", f"{'y' * 64}.invalid")),
    Fault("W07", "takes it", "REMOVE_PUBLICATION of nothing refused", "accepted", announces=accept_everything()),
    Fault("W07", "refuses it otherwise", "error code 3 for REMOVE_PUBLICATION of nothing", "error code 11", announces=refuse_otherwise()),
    Fault("W08", "reads on", "code 7 for a short ADD_PUBLICATION", "code ", asks=pad_all),
    Fault(
        "W08",
        "says nothing",
        "an error for a short ADD_PUBLICATION",
        "0 more",
        counts=lambda kind, value, first: first if kind is SystemCounter.ERRORS else value,
    ),
    Fault("W08", "gives another code", "code 7 for a short ADD_PUBLICATION", "code 11", announces=refuse_otherwise()),
    Fault("W09", "gives reserved ones", "a session id outside 0 to 2147483647", "1234", announces=of_sessions(session_id=1234)),
    Fault("W09", "gives one twice", "a session id that is free", "-77", announces=of_sessions(session_id=-77)),
    Fault("W09", "takes reserved ones", "a publication with a free session id", "it has 5", announces=name_a_taken_one),
    Fault("W10", "makes another", "id of the counter = ", "id of the counter = ", announces=make_another()),
    Fault("W10", "takes it for the owner's", "with an owner refused", "accepted", announces=accept_everything()),
    Fault("W11", "ends", "a driver that goes on", "it ended", beats=lambda _: CONSUMER_HEARTBEAT_CLOSED),
    Fault("W11", "does not end", "a last sign of life of -1", "it lives", asks=cut_terminations),
    Fault("W12", "has another version", "major and minor version = 2", "= 3", heads=with_header(version=lambda v: v + 256)),
    Fault(
        "W12",
        "has an odd ring",
        "a to-driver buffer of a power of two",
        "without the trailer",
        heads=with_header(to_driver_buffer_length=lambda v: v + 8),
    ),
    Fault(
        "W12",
        "has an odd broadcast buffer",
        "a to-clients buffer of a power of two",
        "without the trailer",
        heads=with_header(to_clients_buffer_length=lambda v: v - 8),
    ),
    Fault(
        "W12",
        "has too few records",
        "length of counter records = ",
        "= ",
        heads=with_header(counters_metadata_buffer_length=lambda v: v // 2),
    ),
    Fault("W12", "is too short", "length of the file = ", "= ", heads=with_header(error_log_buffer_length=lambda v: v * 2)),
    Fault(
        "W12", "gives another timeout", "client liveness timeout = ", "= ", heads=with_header(client_liveness_timeout_ns=lambda v: v // 2)
    ),
    Fault("W12", "names another process", "process of the driver = ", "= ", heads=with_header(pid=lambda v: v + 1)),
    Fault("W12", "starts tomorrow", "a start before", "", heads=with_header(start_timestamp_ms=lambda v: v + 86_400_000)),
    Fault("W12", "has no pages", "a page size of a power of two", "4095", heads=with_header(file_page_size=lambda v: v - 1)),
    Fault("W12", "gives no sign of life", "a sign of life each second", "", beats=lambda beat: beat - 5000),
    Fault("W13", "starts all the same", "the second driver to end", "it runs", rival=start_all_the_same),
    Fault("W14", "sees nothing", "an image of a spy on endpoint", "no image", announces=withhold(CommandType.ON_AVAILABLE_IMAGE)),
    Fault(
        "W14",
        "knows no tags",
        "an image of a spy on tags",
        "no image",
        asks=with_param("aeron-spy:aeron:udp?tags=", "aeron-spy:aeron:udp?endpoint=127.0.0.1:40115|tags=9"),
    ),
    Fault("W14", "does not simulate", "a connection by spies", "there is none", asks=with_param("|ssc=true", "")),
    Fault(
        "W14", "simulates unasked", "connected by a spy without ssc = False", "= True", asks=with_param("aeron:udp?", "aeron:udp?ssc=true|")
    ),
    Fault("W14", "sees other sessions", "images of a spy on something else = 0", "= 1", asks=with_param("|session-id=", "|alias=")),
    Fault("W15", "takes it", "a second publication with another mtu refused", "accepted", announces=accept_everything()),
    *(
        Fault("W15", f"takes another {name}", f"a second publication with another {name} refused", "accepted", asks=with_param(*read))
        for name, read in OTHER_PARAMS.items()
    ),
)
