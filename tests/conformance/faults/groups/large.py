"""Faults of group V: large things.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from tests.conformance.faults.channels import with_param
from tests.conformance.faults.news import accept_everything
from tests.conformance.injector import Fault, drop, edit, read, replace
from tests.conformance.misbehaviour import NEVER, flipped, is_data, is_plain, is_setup

# Beyond what passes without jumbo frames.
LARGE = 9000


def is_large(datagram: bytes) -> bool:
    return len(datagram) > LARGE and is_data(datagram)


def is_in_the_middle(datagram: bytes) -> bool:
    """A large frame that is not the first of its term."""
    return is_large(datagram) and read(datagram).term_offset > 0


FAULTS: tuple[Fault, ...] = (
    Fault("V01", "takes nothing so large", "1 payloads delivered", "0 came", hears=drop(is_large)),
    Fault("V01", "sends nothing so large", "the stream sent up to position", "it was sent up to", says=drop(is_large)),
    Fault("V01", "delivers other bytes", "1 payloads delivered", "the first 0 of them", hears=replace(is_large, flipped)),
    Fault("V01", "cuts it short", "lengths of the datagrams = [65504]", "= [65472]", says=replace(is_large, lambda d: d[:-32])),
    Fault("V02", "takes one fragment", "fragments delivered within", "1 of", hears=drop(is_in_the_middle)),
    Fault("V02", "sends one fragment", "the message sent within", "65504 of", says=drop(is_in_the_middle)),
    Fault("V02", "delivers other bytes", "message delivered as it was sent = True", "= False", hears=replace(is_in_the_middle, flipped)),
    Fault("V02", "sends other bytes", "message sent as it was written = True", "= False", says=replace(is_in_the_middle, flipped)),
    Fault("V02", "opens no window", "fragments delivered within", "0 of 0", says=edit(is_plain, receiver_window=0)),
    Fault("V03", "takes it", "an MTU beyond the send buffer refused", "accepted", announces=accept_everything()),
    Fault("V03", "takes none", "to be accepted", "error", asks=with_param("so-sndbuf=32768", "so-sndbuf=4096")),
    Fault("V04", "says another length", "term length of the SETUP = 1073741824", "= 65536", says=edit(is_setup, term_length=65536)),
    Fault("V04", "has shorter terms", "term length of the SETUP = 1073741824", "= 65536", asks=with_param("=1g", "=64k")),
    Fault("V04", "makes no image", "an available image", "no image", hears=drop(is_setup)),
    Fault("V05", "loses it", "1 payloads delivered", "0 came", fragments=lambda pieces: pieces[:-1]),
    Fault(
        "V05", "takes it in order only", "1 payloads delivered", "0 came", fragments=lambda pieces: pieces if pieces[0][6] & 0x20 else []
    ),
    Fault("V05", "falls silent", "the first status message", NEVER, says=drop(is_plain)),
)
