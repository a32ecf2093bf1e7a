"""What a channel URI asks of a publication, checked against the driver's defaults. Aeron: PublicationParams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from aerowire.base import units
from aerowire.base.channel_uri import PROTOTYPE_CORRELATION_ID, TAG_INVALID, ChannelUri, session_tag
from aerowire.base.errors import ChannelValueError, ConfigurationError
from aerowire.codecs.flyweights import transport
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.channels.channel_values import ChannelValues
from aerowire.protocol.untethered import UntetheredTimes

if TYPE_CHECKING:
    from aerowire.driver.context import Context

# A retransmit handler has a fixed number of places.
MAX_RESEND_MAX = 256
RESPONSE_CORRELATION_ID_NONE = -1
RESPONSE_CORRELATION_ID_PROTOTYPE = -2

_POSITION_KEYS = ("init-term-id", "term-id", "term-offset")


class StreamFacts(Protocol):
    """What an existing publication tells about itself to another that names it by tag."""

    @property
    def session_id(self) -> int: ...
    @property
    def mtu_length(self) -> int: ...
    @property
    def term_length(self) -> int: ...
    @property
    def channel(self) -> str: ...


class PublicationDirectory(Protocol):
    """What params need to know of the publications that exist."""

    def publication_by_tag(self, tag: int, /, *, is_ipc: bool) -> StreamFacts | None: ...
    def next_session_id(self, stream_id: int, canonical_form: str, /) -> int: ...
    def random_term_id(self) -> int: ...


@dataclass(slots=True, kw_only=True)
class PublicationParams:
    """Everything about a publication that its URI and the driver's defaults decide."""

    stream_id: int
    session_id: int
    is_session_id_tagged: bool
    term_length: int
    mtu_length: int
    window_length: int
    initial_term_id: int
    term_id: int
    term_offset: int
    has_position: bool
    linger_timeout_ns: int
    untethered_window_limit_timeout_ns: int
    untethered_linger_timeout_ns: int
    untethered_resting_timeout_ns: int
    max_resend: int
    signal_eos: bool
    is_sparse: bool
    spies_simulate_connection: bool
    is_response: bool
    response_correlation_id: int
    entity_tag: int

    def shrink_prototype(self) -> None:
        """Make a prototype of responses, which only keeps its channel open, as small as can be."""
        if self.is_response and self.response_correlation_id == RESPONSE_CORRELATION_ID_PROTOTYPE:
            self.term_length = transport.TERM_LENGTH_MIN
            self.window_length = min(self.window_length, self.term_length >> 1)

    def check_tags(self, uri: ChannelUri, directory: PublicationDirectory) -> None:
        """Look at the tags of `uri` again, which others may have taken or given up since it was read. Raises ChannelValueError."""
        values = ChannelValues(uri, ErrorCode.INVALID_CHANNEL, ErrorCode.GENERIC_ERROR)
        _entity_tag(values, directory)
        tagged = _tagged_stream(values, directory)
        if tagged is not None:
            self.session_id = tagged.session_id

    def untethered_times(self) -> UntetheredTimes:
        """Return how long a stream waits for subscribers that it does not have to wait for."""
        return UntetheredTimes(
            window_limit_ns=self.untethered_window_limit_timeout_ns,
            linger_ns=self.untethered_linger_timeout_ns,
            resting_ns=self.untethered_resting_timeout_ns,
        )

    @classmethod
    def of(
        cls, uri: ChannelUri, context: Context, directory: PublicationDirectory, stream_id: int, canonical_form: str
    ) -> PublicationParams:
        """Read `uri`; raises ChannelValueError with the wire code that the client is told."""
        values = ChannelValues(uri, ErrorCode.INVALID_CHANNEL, ErrorCode.GENERIC_ERROR)
        _check_stream_id(values, stream_id)
        entity_tag = _entity_tag(values, directory)
        tagged = _tagged_stream(values, directory)
        is_ipc = uri.is_ipc
        term_length = _term_length(values, tagged, context.ipc_term_buffer_length if is_ipc else context.term_buffer_length)
        mtu_length = _mtu_length(values, tagged, context.ipc_mtu_length if is_ipc else context.mtu_length, term_length)
        window_default = context.ipc_publication_term_window_length if is_ipc else context.publication_term_window_length
        initial_term_id, term_id, term_offset, has_position = _position(values, directory, term_length)
        window_limit_ns = values.duration("untethered-window-limit-timeout", context.untethered_window_limit_timeout_ns)
        return cls(
            stream_id=stream_id,
            session_id=_session_id(values, tagged, directory, stream_id, canonical_form),
            is_session_id_tagged=tagged is not None,
            term_length=term_length,
            mtu_length=mtu_length,
            window_length=_window_length(values, window_default, mtu_length, term_length),
            initial_term_id=initial_term_id,
            term_id=term_id,
            term_offset=term_offset,
            has_position=has_position,
            linger_timeout_ns=values.duration("linger", context.publication_linger_timeout_ns),
            untethered_window_limit_timeout_ns=window_limit_ns,
            untethered_linger_timeout_ns=untethered_linger_ns(values, context, window_limit_ns),
            untethered_resting_timeout_ns=values.duration("untethered-resting-timeout", context.untethered_resting_timeout_ns),
            max_resend=_max_resend(values, context.max_resend),
            signal_eos=values.boolean("eos", True),
            is_sparse=values.boolean("sparse", context.term_buffer_sparse_file),
            spies_simulate_connection=values.boolean("ssc", context.spies_simulate_connection),
            is_response=uri.get("control-mode") == "response",
            response_correlation_id=_response_correlation_id(values),
            entity_tag=entity_tag,
        )


def untethered_linger_ns(values: ChannelValues, context: Context, window_limit_ns: int) -> int:
    """Return how long an untethered subscriber lingers; without an answer, as long as its window limit."""
    value = values.duration("untethered-linger-timeout", context.untethered_linger_timeout_ns)
    return window_limit_ns if value == -1 else value


def check_term_length(where: str, term_length: int) -> None:
    """Raise ChannelValueError unless `term_length` is a power of two within the protocol's bounds."""
    low, high = transport.TERM_LENGTH_MIN, transport.TERM_LENGTH_MAX
    if not low <= term_length <= high or term_length & (term_length - 1):
        raise _generic("term length is impossible", where, f"a power of two from {low} to {high}", f"term-length={term_length}")


def check_mtu_length(where: str, mtu_length: int) -> None:
    """Raise ChannelValueError unless `mtu_length` fits a datagram and is aligned."""
    low, high, alignment = transport.DataHeaderEncoder.ENCODED_LENGTH + 1, transport.MAX_UDP_PAYLOAD, transport.FRAME_ALIGNMENT
    if not low <= mtu_length <= high or mtu_length % alignment:
        raise _generic("MTU is impossible", where, f"a multiple of {alignment} from {low} to {high}", f"mtu={mtu_length}")


def check_mtu_fits_sndbuf(channel: str, mtu_length: int, sndbuf_length: int, os_default_length: int) -> None:
    """Raise ChannelValueError when one datagram is longer than the socket's send buffer."""
    limit = sndbuf_length or os_default_length
    if mtu_length > limit:
        origin = "" if sndbuf_length else " (OS default)"
        raise _generic(
            "MTU is longer than SO_SNDBUF",
            channel,
            f"at most {limit}{origin}",
            f"mtu={mtu_length}",
            hint="raise so-sndbuf or aeron.socket.so_sndbuf",
        )


def max_message_length(term_length: int) -> int:
    """Return the longest message of a stream with such terms."""
    return min(term_length >> 3, transport.MAX_MESSAGE_LENGTH)


def _generic(what: str, where: str, expected: str, actual: str, *, hint: str | None = None) -> ChannelValueError:
    return ChannelValueError(what, where=where, expected=expected, actual=actual, hint=hint, error_code=ErrorCode.GENERIC_ERROR)


def _check_stream_id(values: ChannelValues, stream_id: int) -> None:
    if values.integer("stream-id", stream_id) != stream_id:
        raise values.error("stream id in the URI differs from the command's", str(stream_id), "stream-id")


def _entity_tag(values: ChannelValues, directory: PublicationDirectory) -> int:
    tag = values.uri.entity_tag
    if tag is None:
        return TAG_INVALID
    if tag == TAG_INVALID:
        raise values.error("publication tag is reserved", f"a tag other than {TAG_INVALID}", "tags")
    for is_ipc in (False, True):
        existing = directory.publication_by_tag(tag, is_ipc=is_ipc)
        if existing is not None:
            raise values.error(f"publication tag is in use by {existing.channel}", "a tag of its own", "tags")
    return tag


def _tagged_stream(values: ChannelValues, directory: PublicationDirectory) -> StreamFacts | None:
    tag = session_tag(values.uri.get("session-id") or "")
    if tag is None:
        return None
    try:
        number = units.parse_integer("session-id", tag, units.INT64_MIN, units.INT64_MAX)
    except ConfigurationError:
        raise values.error("session-id has an invalid tag", "tag:N with an integer", "session-id") from None
    existing = directory.publication_by_tag(number, is_ipc=values.uri.is_ipc)
    if existing is None:
        medium = "an IPC" if values.uri.is_ipc else "a network"
        raise values.error("session-id names a tag that no publication has", f"the tag of {medium} publication", "session-id")
    return existing


def _session_id(
    values: ChannelValues, tagged: StreamFacts | None, directory: PublicationDirectory, stream_id: int, canonical_form: str
) -> int:
    if tagged is not None:
        return tagged.session_id
    return values.integer("session-id", 0) if "session-id" in values.uri else directory.next_session_id(stream_id, canonical_form)


def _term_length(values: ChannelValues, tagged: StreamFacts | None, default: int) -> int:
    base = tagged.term_length if tagged is not None else default
    if "term-length" not in values.uri:
        return base
    term_length = values.size("term-length", base)
    check_term_length(str(values.uri), term_length)
    if tagged is not None and term_length != base:
        raise values.error("term length differs from the tagged session's", str(base), "term-length", "session-id")
    return term_length


def _mtu_length(values: ChannelValues, tagged: StreamFacts | None, default: int, term_length: int) -> int:
    base = tagged.mtu_length if tagged is not None else default
    mtu_length = values.size("mtu", base)
    if "mtu" in values.uri:
        check_mtu_length(str(values.uri), mtu_length)
        if tagged is not None and mtu_length != base:
            raise values.error("MTU differs from the tagged session's", str(base), "mtu", "session-id")
    longest = max_message_length(term_length)
    if mtu_length > longest:
        raise ChannelValueError(
            "MTU is longer than the longest message",
            where=values.uri,
            expected=f"at most {longest} with terms of {term_length}",
            actual=f"mtu={mtu_length}",
            error_code=ErrorCode.INVALID_CHANNEL,
        )
    return mtu_length


def _window_length(values: ChannelValues, default: int, mtu_length: int, term_length: int) -> int:
    half = term_length >> 1
    if "pub-wnd" not in values.uri:
        return min(default, half) if default else half
    window_length = values.size("pub-wnd", 0)
    if window_length < mtu_length:
        raise values.error("publication window is smaller than one MTU", f"at least {mtu_length}", "pub-wnd")
    if window_length > half:
        raise values.error("publication window is larger than half a term", f"at most {half}", "pub-wnd")
    return window_length


def _position(values: ChannelValues, directory: PublicationDirectory, term_length: int) -> tuple[int, int, int, bool]:
    position = start_position(values)
    if position is None:
        initial_term_id = directory.random_term_id()
        return initial_term_id, initial_term_id, 0, False
    initial_term_id, term_id, term_offset = position
    if term_offset > term_length:
        raise values.error("term offset is beyond the term", f"at most {term_length}", "term-offset")
    return initial_term_id, term_id, term_offset, True


def start_position(values: ChannelValues) -> tuple[int, int, int] | None:
    """Return (initial term id, term id, term offset) of a URI that holds a position, None when it holds none.

    Raises ChannelValueError when they are incomplete or impossible.
    """
    present = [key for key in _POSITION_KEYS if key in values.uri]
    if not present:
        return None
    if len(present) < len(_POSITION_KEYS):
        raise values.error("a start position is given in part", "all of " + ", ".join(_POSITION_KEYS), *present)
    initial_term_id, term_id, term_offset = (values.integer(key, 0) for key in _POSITION_KEYS)
    if not 0 <= term_offset <= transport.TERM_LENGTH_MAX or term_offset % transport.FRAME_ALIGNMENT:
        raise values.error("term offset is impossible", f"0 or more and a multiple of {transport.FRAME_ALIGNMENT}", "term-offset")
    # Term ids wrap at 32 bits, and so does their difference.
    if (term_id - initial_term_id) & 0x8000_0000:
        raise values.error("term id is before the initial term id", "a difference below 2^31", "init-term-id", "term-id")
    return initial_term_id, term_id, term_offset


def _max_resend(values: ChannelValues, default: int) -> int:
    value = values.integer("max-resend", default)
    if not 1 <= value <= MAX_RESEND_MAX:
        raise values.error("max-resend is out of range", f"1 to {MAX_RESEND_MAX}", "max-resend")
    return value


def _response_correlation_id(values: ChannelValues) -> int:
    if values.uri.get("response-correlation-id") == PROTOTYPE_CORRELATION_ID:
        return RESPONSE_CORRELATION_ID_PROTOTYPE
    return values.integer("response-correlation-id", RESPONSE_CORRELATION_ID_NONE, RESPONSE_CORRELATION_ID_NONE, units.INT64_MAX)
