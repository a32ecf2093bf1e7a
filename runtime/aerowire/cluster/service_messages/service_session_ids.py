"""Ids that stand in the place of a client's session in messages of services. Aeron: PendingServiceMessageTracker.

In the log, a message of a service has a number of that service: the sign bit is set, seven bits are the service, and the rest counts the
messages. On its way to the consensus module it has the service's id only.
"""

from __future__ import annotations

from typing import Final

from aerowire.base.units import INT64_MIN

_SERVICE_SHIFT: Final = 56
_SERVICE_MASK: Final = 0x7F


def first_service_session_id(service_id: int) -> int:
    """Return the number before that of a service's first message."""
    return INT64_MIN | service_id << _SERVICE_SHIFT


def service_id_of_log_message(cluster_session_id: int) -> int:
    """Return which service sent a message of the log, whose session id is negative."""
    return (cluster_session_id >> _SERVICE_SHIFT) & _SERVICE_MASK


def service_id_of_service_message(cluster_session_id: int) -> int:
    """Return which service sends a message to its consensus module: the low 32 bits, as a signed number."""
    return ((cluster_session_id & 0xFFFF_FFFF) ^ 0x8000_0000) - 0x8000_0000
