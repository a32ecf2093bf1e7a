"""Faults of group T.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import FrameType
from tests.conformance.faults.channels import with_param
from tests.conformance.faults.news import accept_everything
from tests.conformance.injector import Fault, drop, edit, every_other, repeat, type_of
from tests.conformance.misbehaviour import NEVER


def is_response_setup(datagram: bytes) -> bool:
    return type_of(datagram) == FrameType.RSP_SETUP


NAMED = "a RSP_SETUP of the response session"
ASKED = "a request for the session's SETUP"

FAULTS: tuple[Fault, ...] = (
    Fault("T01", "names nothing", NAMED, NEVER, says=drop(is_response_setup)),
    Fault("T01", "names another session", NAMED, "RSP_SETUP[", says=edit(is_response_setup, response_session_id=lambda s: s ^ 1)),
    Fault("T01", "names it once", "a RSP_SETUP every", "0 intervals", says=drop(is_response_setup, after=1)),
    Fault("T01", "names it half as often", "a RSP_SETUP every", "intervals", says=every_other(is_response_setup)),
    Fault("T02", "goes on", "no RSP_SETUP of a connected response", "RSP_SETUP[", says=repeat(is_response_setup, 600.0)),
    Fault("T02", "never began", NAMED, NEVER, says=drop(is_response_setup)),
    Fault("T03", "ignores it", ASKED, NEVER, hears=drop(is_response_setup)),
    Fault("T03", "binds another", ASKED, "SM[", hears=edit(is_response_setup, response_session_id=7)),
    Fault("T04", "takes it", "a response to an image that nobody knows refused", "accepted", announces=accept_everything()),
    Fault("T04", "refuses all", "to be accepted", "error", asks=with_param("response-correlation-id=", "response-correlation-id=77")),
    Fault("T05", "takes it", "a response that nobody asked for refused", "accepted", announces=accept_everything()),
    Fault("T05", "refuses all", "to be accepted", "error", asks=with_param("response-correlation-id=", "response-correlation-id=77")),
    Fault("T06", "takes it", "a response to nothing refused", "accepted", announces=accept_everything()),
    Fault("T06", "refuses all", "to be accepted", "error", asks=with_param("response-correlation-id=", "response-correlation-id=77")),
)
