"""Faults of group Q.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.flyweights.transport import StatusMessageEncoder
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from tests.conformance.faults.groups.liveness import keep
from tests.conformance.faults.news import accept_everything, of_errors
from tests.conformance.injector import Fault, drop, edit, every_other, once, read, replace
from tests.conformance.misbehaviour import NEVER, frozen, is_error, is_plain, more, same, shifted


def status_of(error: bytes) -> bytes:
    """A status message of the image that an ERR rejects."""
    frame = read(error)
    return StatusMessageEncoder.encode(session_id=frame.session_id, stream_id=frame.stream_id, receiver_id=frame.receiver_id)


FAULTS: tuple[Fault, ...] = (
    Fault("Q01", "says nothing", "an ERR within", NEVER, says=drop(is_error)),
    Fault("Q01", "says so once", "ERRs every", "0 intervals", says=drop(is_error, after=1)),
    Fault("Q01", "halves the rate", "ERRs", "ms", says=every_other(is_error)),
    Fault("Q01", "names another code", "code = 13", "code = 11", says=edit(is_error, error_code=11)),
    Fault("Q01", "names another receiver", "session, stream and receiver = ", "= ", says=edit(is_error, receiver_id=more(1))),
    Fault("Q01", "cuts the reason", "text = ", "text = b'not w'", says=edit(is_error, error_length=5)),
    Fault("Q01", "goes on as before", "no status message of a rejected image", "SM[", says=replace(is_error, same, status_of)),
    Fault("Q02", "leaves the tag out", "flags with gtag=77 = 8", "= 0", says=edit(is_error, flags=0)),
    Fault("Q02", "names another tag", "group tag = 77", "= 7", says=edit(is_error, group_tag=7)),
    Fault("Q02", "always sets the flag", "flags with no gtag = 0", "= 8", says=edit(is_error, flags=8)),
    Fault("Q03", "keeps it", "the rejected image unavailable", "it is still there", announces=keep(CommandType.ON_UNAVAILABLE_IMAGE)),
    Fault("Q03", "takes the data", "RCV_HWM = ", "RCV_HWM = ", counts=shifted(CounterType.RCV_HWM, 64)),
    Fault("Q03", "says nothing", "an ERR within", NEVER, says=drop(is_error)),
    Fault("Q04", "tells nothing", "ON_PUBLICATION_ERROR within 200 ms", "it did not happen", hears=drop(is_error)),
    Fault("Q04", "tells it twice", "errors told of = 1", "= 2", announces=of_errors(count=2)),
    Fault("Q04", "names another port", "port = ", "port = 7", announces=of_errors(source_port=7)),
    Fault("Q04", "names another address", "address = ", "address = ", announces=of_errors(source_address=bytes(16))),
    Fault("Q05", "takes it for its receiver's", "errors told of = 0", "= 1", hears=edit(is_error, receiver_id=more(-1))),
    Fault("Q05", "does not count", "ERROR_FRAMES_RECEIVED (38) at", "it is at", counts=frozen(SystemCounter.ERROR_FRAMES_RECEIVED)),
    Fault("Q06", "stays disconnected", "the publication to be connected within 200 ms", "it did", hears=once(is_error, drop(is_plain))),
    Fault("Q06", "stays connected", "the publication not connected", "it is", hears=drop(is_error)),
    Fault("Q07", "names none", "destination = ", "= -1", announces=of_errors(destination_registration_id=-1)),
    Fault("Q07", "tells nothing", "ON_PUBLICATION_ERROR within 200 ms", "it did not happen", hears=drop(is_error)),
    Fault("Q08", "takes it", "a reason of 1024 bytes refused", "it was taken", announces=accept_everything()),
    Fault("Q08", "says nothing", "an ERR within", NEVER, says=drop(is_error)),
    Fault("Q08", "cuts the reason", "bytes of the reason = 1023", "= 100", says=edit(is_error, error_length=100)),
    Fault("Q09", "ignores it", "ON_PUBLICATION_ERROR within 200 ms", "it did not happen", hears=drop(is_error)),
    Fault("Q09", "cuts it", "the text is whole = True", "= False", announces=of_errors(error_message_length=100)),
)
