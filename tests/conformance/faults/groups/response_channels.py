"""Faults of group T: response channels.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from collections.abc import Iterable

from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.flyweights.transport import FrameType, ResponseSetupEncoder
from tests.conformance.faults.channels import with_param
from tests.conformance.faults.news import accept_everything
from tests.conformance.injector import Fault, Hook, Link, Passage, answer, drop, edit, every_other, read, repeat, type_of
from tests.conformance.misbehaviour import NEVER, is_data, is_elicit, is_plain, is_setup, more


def is_response_setup(datagram: bytes) -> bool:
    return type_of(datagram) == FrameType.RSP_SETUP


def answer_at_once(datagram: bytes) -> bytes:
    """A RSP_SETUP for a SETUP, in a session of nobody."""
    setup = read(datagram)
    return ResponseSetupEncoder.encode(
        frame_length=20, type=FrameType.RSP_SETUP, session_id=setup.session_id, stream_id=setup.stream_id, response_session_id=7
    )


def hear_the_first_only() -> Hook:
    """Be deaf to requests for a SETUP from another socket than the first."""
    heard: list[Link] = []

    def hook(link: Link, datagram: bytes) -> Iterable[Passage]:
        if not is_elicit(datagram):
            return [(0.0, datagram)]
        if not heard or heard[0].fileno() < 0:
            heard[:] = [link]
        return [(0.0, datagram)] if link is heard[0] else []

    return hook


def add_each_anew(type_id: int, body: bytes) -> Iterable[tuple[int, bytes]]:
    """Give a shared publication a registration of its own each time."""
    changed = bytearray(body)
    if type_id == CommandType.ON_PUBLICATION_READY:
        ready = commands.PublicationReadyEncoder(changed)
        ready.registration_id = ready.correlation_id
    yield type_id, bytes(changed)


FAULTS: tuple[Fault, ...] = (
    Fault("T01", "tells nothing", "a RSP_SETUP with the session of the answers", NEVER, says=drop(is_response_setup)),
    Fault("T01", "tells it before", "no RSP_SETUP before a publication answers", "RSP_SETUP[", hears=answer(is_setup, answer_at_once)),
    Fault("T01", "tells it half as often", "intervals of RSP_SETUP", "ms", says=every_other(is_response_setup)),
    Fault("T01", "tells it once", "RSP_SETUP every", "none", says=drop(is_response_setup, after=1)),
    Fault(
        "T01",
        "tells another session",
        "a RSP_SETUP with the session",
        "RSP_SETUP[",
        says=edit(is_response_setup, response_session_id=more(1)),
    ),
    Fault("T01", "names other requests", "session and stream = ", "= (", says=edit(is_response_setup, stream_id=more(1))),
    Fault("T01", "sets a flag", "version and flags = (0, 0)", "= (0, 128)", says=edit(is_response_setup, flags=0x80)),
    Fault("T02", "tells it all the same", "no RSP_SETUP once the receiver", "RSP_SETUP[", says=repeat(is_response_setup, 400, 500, 600)),
    Fault("T02", "hears no receiver", "the publication to be connected", "it did not happen", hears=drop(is_plain)),
    Fault("T02", "falls silent", "a status message for the requests", NEVER, says=drop(is_plain, after=2)),
    Fault("T03", "does not ask", "a request for the SETUP of the answers", NEVER, hears=drop(is_response_setup)),
    Fault("T03", "wants no answers", "a SETUP with flag 0x80", "SETUP[", says=edit(is_setup, flags=0)),
    Fault("T03", "asks for another stream", "stream of the request = ", "= ", says=edit(is_elicit, stream_id=more(1))),
    Fault("T03", "delivers nothing", "1 payloads delivered", "0 came", hears=drop(is_data)),
    Fault("T04", "takes it", "answers to an unknown image refused", "accepted", announces=accept_everything()),
    Fault("T05", "takes it", "answers to an image without flag 0x80 refused", "accepted", announces=accept_everything()),
    Fault("T06", "takes it", "answers without a correlation id refused", "accepted", announces=accept_everything()),
    Fault(
        "T06",
        "takes requests whose answers nobody takes",
        "requests whose answers nobody takes refused",
        "accepted",
        asks=with_param("|response-correlation-id=4611686018427387904", ""),
    ),
    Fault("T07", "tells nobody", "a RSP_SETUP with the session of the answers", NEVER, says=drop(is_response_setup)),
    Fault("T07", "adds each anew", "registration of a second publication for the first = ", "= ", announces=add_each_anew),
    Fault("T07", "keeps the answers", "the answer at its receiver", NEVER, says=drop(is_data)),
    Fault("T08", "stays", "the SETUP where the receiver is now", NEVER, hears=hear_the_first_only()),
    Fault("T08", "keeps the answers", "the answer at its receiver", NEVER, says=drop(is_data)),
    Fault("T09", "knows no prototype", "to be accepted", "error", asks=with_param("=prototype", "=4611686018427387904")),
    Fault("T09", "has short terms for all", "term length of the answers = ", "= 65536", asks=with_param("=131072", "=65536")),
    Fault("T09", "answers for it", "no RSP_SETUP for a prototype", "RSP_SETUP[", hears=answer(is_setup, answer_at_once)),
    Fault("T09", "tells nobody", "a RSP_SETUP with the session of the answers", NEVER, says=drop(is_response_setup)),
)
