"""A session of a client, or of a backup or standby that has one request. Aeron: ClusterSession.

    INIT -> CONNECTING -> CONNECTED -> (CHALLENGED) -> AUTHENTICATED -> OPEN -> CLOSING -> CLOSED
      +-> INVALID             |              |
                              +-> REJECTED <-+

What decides about the changes is in the modules that hold sessions.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

from aerowire.base.units import NULL_VALUE
from aerowire.codecs.flyweights.archive_files import NULL_POSITION
from aerowire.codecs.flyweights.cluster.enums import CloseReason, EventCode
from aerowire.codecs.flyweights.cnc import COUNTER_LABEL_LENGTH_MAX
from aerowire.codecs.tables.counters import CounterType, format_label

if TYPE_CHECKING:
    from aerowire.cluster.sessions.effects import EgressMessage
    from aerowire.cluster.sessions.inputs import StandbySnapshotEntry

# The key of a session that has no response publication.
NO_RESPONSE: Final = -1
_INFO_LENGTH_MAX: Final = COUNTER_LABEL_LENGTH_MAX - len(format_label(CounterType.CLUSTER_SESSION, client_info="", cluster_id=-(1 << 31)))


class SessionState(enum.Enum):
    """How far a session has come."""

    INIT = "INIT"
    CONNECTING = "CONNECTING"
    CONNECTED = "CONNECTED"
    CHALLENGED = "CHALLENGED"
    AUTHENTICATED = "AUTHENTICATED"
    REJECTED = "REJECTED"
    OPEN = "OPEN"
    CLOSING = "CLOSING"
    INVALID = "INVALID"
    CLOSED = "CLOSED"


class SessionAction(enum.Enum):
    """What a session is for: to be a client's, or to answer one request."""

    CLIENT = "CLIENT"
    BACKUP = "BACKUP"
    HEARTBEAT = "HEARTBEAT"
    STANDBY_SNAPSHOT = "STANDBY_SNAPSHOT"


class ClusterSession:
    """One session. Changed by the table or list that holds it; `state` by `SessionCore.change_state` alone.

    Invariant: a message or an append is under way at most once: `sending` and `is_appending` are set until its result came.
    """

    __slots__ = (
        "action",
        "close_reason",
        "closed_log_position",
        "correlation_id",
        "encoded_principal",
        "event_code",
        "has_new_leader_event_pending",
        "has_open_event_pending",
        "image_id",
        "info",
        "is_appending",
        "is_connected",
        "key",
        "log_position",
        "opened_log_position",
        "response_channel",
        "response_detail",
        "response_stream_id",
        "sending",
        "session_id",
        "standby_snapshots",
        "state",
        "time_of_last_activity_ns",
    )

    def __init__(
        self,
        session_id: int,
        response_stream_id: int,
        response_channel: str,
        info: str,
        *,
        correlation_id: int,
        time_of_last_activity_ns: int,
        action: SessionAction = SessionAction.CLIENT,
    ) -> None:
        """`info` is for the label of the session's counter, of which it may be a part only."""
        self.session_id = session_id
        self.response_stream_id = response_stream_id
        self.response_channel = response_channel
        self.info = info[:_INFO_LENGTH_MAX]
        self.correlation_id = correlation_id
        self.time_of_last_activity_ns = time_of_last_activity_ns
        self.action = action
        self.state = SessionState.INIT
        self.opened_log_position = NULL_POSITION
        self.closed_log_position = NULL_POSITION
        self.close_reason = CloseReason.NULL_VALUE
        self.encoded_principal = b""
        self.image_id = NULL_VALUE
        self.has_open_event_pending = True
        self.has_new_leader_event_pending = False
        self.event_code = EventCode.NULL_VALUE
        self.response_detail = ""
        # The response publication: its key, whether a subscriber is there, and the message that is being sent.
        self.key = NO_RESPONSE
        self.is_connected = False
        self.sending: EgressMessage | None = None
        self.is_appending = False
        # What a request of a backup or standby says.
        self.log_position = NULL_POSITION
        self.standby_snapshots: tuple[StandbySnapshotEntry, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether the client may send."""
        return self.state is SessionState.OPEN
