"""What a channel URI asks of a subscription, checked against the driver's defaults. Aeron: SubscriptionParams."""

from __future__ import annotations

from dataclasses import dataclass

from aerowire.base import units
from aerowire.base.channel_uri import ChannelUri, session_tag
from aerowire.base.errors import ChannelValueError
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.context import Context
from aerowire.driver.publication_params import position_texts, untethered_linger_ns


@dataclass(slots=True, kw_only=True)
class SubscriptionParams:
    """Everything about a subscription that its URI and the driver's defaults decide; `group` is None to infer it."""

    session_id: int | None
    join_position: tuple[int, int, int] | None
    is_reliable: bool
    is_rejoin: bool
    is_sparse: bool
    is_tether: bool
    is_response: bool
    group: bool | None
    receiver_window_length: int
    untethered_window_limit_timeout_ns: int
    untethered_linger_timeout_ns: int
    untethered_resting_timeout_ns: int

    @classmethod
    def of(cls, uri: ChannelUri, context: Context, publisher_term_length: int = 0) -> SubscriptionParams:
        """Read `uri`; `publisher_term_length` is the stream's, 0 while it is unknown. Raises ChannelValueError."""
        window_limit_ns = _duration(uri, "untethered-window-limit-timeout", context.untethered_window_limit_timeout_ns)
        default_term_length = context.ipc_term_buffer_length if uri.is_ipc else context.term_buffer_length
        window_text = uri.get("rcv-wnd")
        window_length = units.parse_size("rcv-wnd", window_text) if window_text is not None else 0
        return cls(
            session_id=_session_id(uri),
            join_position=position_texts(uri),
            is_reliable=_boolean(uri, "reliable", context.reliable_stream),
            is_rejoin=_boolean(uri, "rejoin", context.rejoin_stream),
            is_sparse=_boolean(uri, "sparse", context.term_buffer_sparse_file),
            is_tether=_boolean(uri, "tether", context.tether_subscriptions),
            is_response=uri.get("control-mode") == "response",
            group=_group(uri.get("group") or context.receiver_group_consideration),
            receiver_window_length=min(
                window_length or context.rcv_initial_window_length, (publisher_term_length or default_term_length) >> 1
            ),
            untethered_window_limit_timeout_ns=window_limit_ns,
            untethered_linger_timeout_ns=untethered_linger_ns(uri, context, window_limit_ns),
            untethered_resting_timeout_ns=_duration(uri, "untethered-resting-timeout", context.untethered_resting_timeout_ns),
        )


def check_window_fits_rcvbuf(channel: str, window_length: int, rcvbuf_length: int, os_default_length: int) -> None:
    """Raise ChannelValueError when one window is longer than the socket's receive buffer."""
    limit = rcvbuf_length or os_default_length
    if window_length > limit:
        origin = "" if rcvbuf_length else " (OS default)"
        raise ChannelValueError(
            "initial window is longer than SO_RCVBUF",
            where=channel,
            expected=f"at most {limit}{origin}",
            actual=f"rcv-wnd={window_length}",
            hint="raise so-rcvbuf or lower rcv-wnd",
            error_code=ErrorCode.GENERIC_ERROR,
        )


def _session_id(uri: ChannelUri) -> int | None:
    text = uri.get("session-id")
    if text is None:
        return None
    if session_tag(text) is not None:
        raise ChannelValueError(
            "a subscription's session-id cannot be a tag",
            where=uri,
            expected="an integer",
            actual=f"session-id={text}",
            error_code=ErrorCode.GENERIC_ERROR,
        )
    return int(text)


def _boolean(uri: ChannelUri, key: str, default: bool) -> bool:
    text = uri.get(key)
    return default if text is None else text == "true"


def _duration(uri: ChannelUri, key: str, default: int) -> int:
    text = uri.get(key)
    return default if text is None else units.parse_duration_ns(key, text)


def _group(text: str) -> bool | None:
    lowered = text.lower()
    return None if lowered == "infer" else lowered == "true"
