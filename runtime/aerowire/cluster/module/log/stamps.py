"""What is filled into a message when it is appended to the log: the time of the cluster, and the position behind the message.

The native agent fills in the same; see `agents.outbound_message`.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from typing import Final

from aerowire.codecs.flyweights.cluster.header import HEADER
from aerowire.codecs.flyweights.cluster.messages.cluster_action_request import ClusterActionRequestDecoder
from aerowire.codecs.flyweights.cluster.messages.new_leadership_term_event import NewLeadershipTermEventDecoder
from aerowire.codecs.flyweights.cluster.messages.session_close_event import SessionCloseEventDecoder
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeaderDecoder
from aerowire.codecs.flyweights.cluster.messages.session_open_event import SessionOpenEventDecoder
from aerowire.codecs.flyweights.cluster.messages.timer_event import TimerEventDecoder

_INT64: Final = Struct("<q")
_TIMESTAMP_OFFSETS: Final[Mapping[int, int]] = {
    decoder.SBE_TEMPLATE_ID: HEADER.size + decoder.TIMESTAMP_ENCODING_OFFSET
    for decoder in (
        SessionMessageHeaderDecoder,
        TimerEventDecoder,
        SessionOpenEventDecoder,
        SessionCloseEventDecoder,
        ClusterActionRequestDecoder,
        NewLeadershipTermEventDecoder,
    )
}
_POSITION_OFFSETS: Final[Mapping[int, int]] = {
    decoder.SBE_TEMPLATE_ID: HEADER.size + decoder.LOG_POSITION_ENCODING_OFFSET
    for decoder in (ClusterActionRequestDecoder, NewLeadershipTermEventDecoder)
}


def stamp(message: bytearray, *, log_position: int, timestamp: int) -> None:
    """Fill in what a message of the cluster's schema has of both; one of an extension's has neither."""
    _, template_id, schema_id, _ = HEADER.unpack(memoryview(message), 0)
    if schema_id != SessionMessageHeaderDecoder.SBE_SCHEMA_ID:
        return
    if template_id in _TIMESTAMP_OFFSETS:
        _INT64.pack_into(message, _TIMESTAMP_OFFSETS[template_id], timestamp)
    if template_id in _POSITION_OFFSETS:
        _INT64.pack_into(message, _POSITION_OFFSETS[template_id], log_position)
