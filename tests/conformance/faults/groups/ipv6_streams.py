"""Faults of group U: IPv6.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from aerowire.conformance.cases.ipv6_streams import carries_groups
from tests.conformance.faults.images import another_source
from tests.conformance.faults.news import accept_everything, of_errors
from tests.conformance.injector import Fault, delay, drop, edit
from tests.conformance.misbehaviour import NEVER, is_elicit, is_error, is_plain, is_setup, more

FAULTS: tuple[Fault, ...] = (
    Fault("U01", "never asks", "an eliciting status message within 5 ms", NEVER, says=drop(is_elicit)),
    Fault("U01", "asks late", "an eliciting status message within 5 ms", "it came after", says=delay(is_elicit, 30)),
    Fault("U01", "makes no image", "an available image within 200 ms", "no image", hears=drop(is_setup)),
    Fault("U01", "sends no status", "the first status message within 200 ms", NEVER, says=drop(is_plain)),
    Fault("U01", "names another source", "source of the image = ", "::2", announces=another_source),
    Fault("U01", "delivers nothing", "1 payloads delivered", "0 came", hears=drop(lambda d: b"over IPv6" in d)),
    Fault("U02", "takes an even group", "a subscription of an even group refused", "it was accepted", announces=accept_everything()),
    Fault("U03", "takes any interface", "a subscription on an unknown interface refused", "it was accepted", announces=accept_everything()),
    Fault("U03", "makes no image", "an image within 200 ms", "it did not happen", hears=drop(is_setup)),
    Fault("U04", "tells nothing", "ON_PUBLICATION_ERROR within 200 ms", "it did not happen", hears=drop(is_error)),
    Fault("U04", "names the other type", "address type = 2", "= 1", announces=of_errors(address_type=1)),
    Fault("U04", "names another port", "port = ", "port = 7", announces=of_errors(source_port=7)),
    Fault("U04", "names another address", "address = ", "address = ", announces=of_errors(source_address=bytes(16))),
    Fault("U04", "names another receiver", "session, stream and receiver = ", ", 7)", announces=of_errors(receiver_id=7)),
    Fault("U04", "names another code", "code = 13", "code = 11", announces=of_errors(error_code=11)),
    Fault("U04", "tells it twice", "news of one frame = 1", "= 2", announces=of_errors(count=2)),
    Fault("U05", "takes mixed families", "control=127.0.0.1", "it was accepted", announces=accept_everything()),
    Fault("U05", "takes nobody", "an available image within 200 ms", "no image", hears=drop(is_setup)),
)

if carries_groups():
    FAULTS += (
        Fault("U02", "never asks", "a status message on the control group", NEVER, says=drop(is_elicit)),
        Fault("U02", "never answers", "a status message on the control group", "SM[", says=drop(is_plain)),
        Fault("U02", "asks another session", "on the control group", "SM[", says=edit(is_elicit, session_id=more(1))),
        Fault("U02", "asks without the flag", "on the control group", "SM[", says=edit(is_elicit, flags=0)),
    )
