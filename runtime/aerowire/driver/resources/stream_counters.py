"""The driver's counters: allocated with the labels and keys by which operators and clients know them.

Formats come from spec/; this module fills them in. Aeron: status.StreamCounter, ChannelEndpointStatus, LocalSocketAddressStatus.
"""

from __future__ import annotations

from collections.abc import Mapping

from aerowire.codecs.flyweights import cnc
from aerowire.codecs.tables.counters import COUNTER_LABEL_SUFFIXES, CounterType, SystemCounter, format_label, system_counter_label
from aerowire.ipc.counters import CountersManager


def _ascii(text: str, length_max: int) -> str:
    return text.encode("ascii", "replace")[:length_max].decode("ascii")


class StreamCounters:
    """Allocates the counters of streams, channels and clients. Conductor thread only."""

    __slots__ = ("_counters",)

    def __init__(self, counters: CountersManager) -> None:
        self._counters = counters

    @property
    def manager(self) -> CountersManager:
        return self._counters

    def stream(
        self,
        counter_type: CounterType,
        *,
        client_id: int,
        registration_id: int,
        session_id: int,
        stream_id: int,
        channel: str,
        reference_id: int = cnc.COUNTER_DEFAULT_REFERENCE_ID,
        mode: str | None = None,
        indicator: str | None = None,
    ) -> int:
        """Allocate a counter of one stream and return its id.

        `mode` and `indicator` are for labels that name them: concurrent or exclusive, and what a congestion control tells.
        """
        label = format_label(
            counter_type,
            registration_id=registration_id,
            session_id=session_id,
            stream_id=stream_id,
            channel=channel,
            mode=mode,
            indicator=indicator,
        )
        key = cnc.StreamCounterKeyEncoder.encode(
            registration_id=registration_id,
            session_id=session_id,
            stream_id=stream_id,
            channel=_ascii(channel, cnc.STREAM_KEY_CHANNEL_LENGTH_MAX),
        )
        return self._counters.allocate(
            _ascii(label, cnc.COUNTER_LABEL_LENGTH_MAX),
            counter_type,
            key,
            registration_id=registration_id,
            owner_id=client_id,
            reference_id=reference_id,
        )

    def channel_status(self, counter_type: CounterType, registration_id: int, channel: str) -> int:
        """Allocate the status counter of a channel's endpoint, initialising; its label waits for the bound address."""
        key = cnc.ChannelStatusKeyEncoder.encode(channel=_ascii(channel, cnc.CHANNEL_STATUS_CHANNEL_LENGTH_MAX))
        label = _ascii(format_label(counter_type, channel=channel), cnc.COUNTER_LABEL_LENGTH_MAX)
        return self._counters.allocate(label, counter_type, key, registration_id=registration_id)

    def destination_count(self, registration_id: int, channel: str) -> int:
        """Allocate the counter that tells how many destinations a channel has. Aeron: MdcDestinations."""
        return self.channel_status(CounterType.MDC_NUM_DEST, registration_id, channel)

    def local_sockaddr(self, registration_id: int, channel_status_id: int, direction: str, address: str) -> int:
        """Allocate the counter that tells the address an endpoint is bound to."""
        key = cnc.LocalSockaddrKeyEncoder.encode(channel_status_id=channel_status_id, local_sockaddr=address)
        label = format_label(CounterType.LOCAL_SOCKADDR, direction=direction, channel_status_id=channel_status_id, address=address)
        counter_id = self._counters.allocate(label, CounterType.LOCAL_SOCKADDR, key, registration_id=registration_id)
        self._counters.set_value(counter_id, cnc.CHANNEL_STATUS_ACTIVE)
        return counter_id

    def client_heartbeat(self, client_id: int, now_ms: int) -> int:
        """Allocate a client's heartbeat, beating now."""
        counter_id = self._counters.allocate(
            format_label(CounterType.CLIENT_HEARTBEAT, client_id=client_id),
            CounterType.CLIENT_HEARTBEAT,
            cnc.ClientHeartbeatKeyEncoder.encode(client_id=client_id),
            registration_id=client_id,
            owner_id=client_id,
        )
        self._counters.set_value(counter_id, now_ms)
        return counter_id

    def append_bound_address(self, channel_status_id: int, address: str) -> None:
        """Complete a channel status label with the bound address, and call the channel active."""
        self._counters.append_label(channel_status_id, address)
        self._counters.set_value(channel_status_id, cnc.CHANNEL_STATUS_ACTIVE)

    def append_join_position(self, position_id: int, position: int) -> None:
        """Complete a subscriber position's label with where the subscriber joined, if there is room. Aeron: StreamCounter."""
        if len(self._counters.label(position_id)) < cnc.COUNTER_LABEL_LENGTH_MAX - _JOIN_POSITION_ROOM:
            self._counters.append_label(position_id, COUNTER_LABEL_SUFFIXES[CounterType.SUB_POS].format(join_position=position))


# Room that the official driver keeps for " @" and a position.
_JOIN_POSITION_ROOM = 20


# What official drivers do not count, by counter id: behind the system counters, with types that no official counter has.
OWN_COUNTERS = {
    len(SystemCounter) + at: kind
    for at, kind in enumerate(
        (
            CounterType.IMAGES_REFUSED,
            CounterType.SETUP_REQUESTS_REFUSED,
            CounterType.RECEIVERS_REFUSED,
            CounterType.RETRANSMIT_BYTES_REFUSED,
            CounterType.STREAM_ENDS_DISBELIEVED,
            CounterType.ERROR_FRAMES_IGNORED,
        )
    )
}


def allocate_system_counters(counters: CountersManager, *, thresholds: Mapping[SystemCounter, str], **fields: object) -> None:
    """Allocate the counters that every driver has, in an empty buffer, so that a counter's id is its number.

    `fields` complete the labels; `thresholds` maps the counters that count long cycles to their limit as text.
    """
    for which in SystemCounter:
        own = {**fields, "threshold": thresholds[which]} if which in thresholds else fields
        counter_id = counters.allocate(
            system_counter_label(which, **own),
            CounterType.SYSTEM,
            cnc.SystemCounterKeyEncoder.encode(system_counter_id=which),
            registration_id=which,
            owner_id=cnc.COUNTER_DRIVER_OWNER_ID,
        )
        assert counter_id == which, f"system counter {which.name} got id {counter_id}"
    for number, kind in OWN_COUNTERS.items():
        counter_id = counters.allocate(format_label(kind), kind, registration_id=number, owner_id=cnc.COUNTER_DRIVER_OWNER_ID)
        assert counter_id == number, f"counter {kind.name} got id {counter_id}"
