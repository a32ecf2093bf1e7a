"""What a channel URI asks of a subscription, checked against the driver's defaults. Aeron: SubscriptionParams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerowire.base.channel_uri import ChannelUri, session_tag
from aerowire.base.errors import ChannelValueError
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.channels.channel_values import ChannelValues
from aerowire.driver.channels.publication_params import start_position, untethered_linger_ns
from aerowire.protocol.untethered import UntetheredTimes

if TYPE_CHECKING:
    from aerowire.driver.context import Context


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

    def untethered_times(self) -> UntetheredTimes:
        """Return how long a stream waits for subscribers that it does not have to wait for."""
        return UntetheredTimes(
            window_limit_ns=self.untethered_window_limit_timeout_ns,
            linger_ns=self.untethered_linger_timeout_ns,
            resting_ns=self.untethered_resting_timeout_ns,
        )

    @classmethod
    def of(cls, uri: ChannelUri, context: Context, publisher_term_length: int = 0) -> SubscriptionParams:
        """Read `uri`; `publisher_term_length` is the stream's, 0 while it is unknown. Raises ChannelValueError."""
        values = ChannelValues(uri, ErrorCode.GENERIC_ERROR, ErrorCode.GENERIC_ERROR)
        window_limit_ns = values.duration("untethered-window-limit-timeout", context.untethered_window_limit_timeout_ns)
        default_term_length = context.ipc_term_buffer_length if uri.is_ipc else context.term_buffer_length
        window_length = values.size("rcv-wnd", 0)
        return cls(
            session_id=_session_id(values),
            join_position=start_position(values),
            is_reliable=values.boolean("reliable", context.reliable_stream),
            is_rejoin=values.boolean("rejoin", context.rejoin_stream),
            is_sparse=values.boolean("sparse", context.term_buffer_sparse_file),
            is_tether=values.boolean("tether", context.tether_subscriptions),
            is_response=uri.get("control-mode") == "response",
            group=_group(uri.get("group"), context.receiver_group_consideration),
            receiver_window_length=min(
                window_length or context.rcv_initial_window_length, (publisher_term_length or default_term_length) >> 1
            ),
            untethered_window_limit_timeout_ns=window_limit_ns,
            untethered_linger_timeout_ns=untethered_linger_ns(values, context, window_limit_ns),
            untethered_resting_timeout_ns=values.duration("untethered-resting-timeout", context.untethered_resting_timeout_ns),
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


def _session_id(values: ChannelValues) -> int | None:
    if "session-id" not in values.uri:
        return None
    if session_tag(values.uri.parameters["session-id"]) is not None:
        raise values.error("a subscription's session-id cannot be a tag", "an integer", "session-id")
    return values.integer("session-id", 0)


def _group(text: str | None, default: str) -> bool | None:
    # A channel's own text is what it says; the option may be in any case.
    value = default.lower() if text is None else text
    return None if value == "infer" else value == "true"
