"""Makes a publication: its log, counters, endpoint and native object, from what its channel asks for. Aeron: DriverConductor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from aerowire.base.channel_uri import MEDIA_IPC, ChannelUri
from aerowire.codecs.flyweights import cnc, commands, logbuffer
from aerowire.codecs.tables.counters import CounterType
from aerowire.driver.channels.flow_control_factory import make_flow_control
from aerowire.driver.channels.flow_control_params import FlowControlParams
from aerowire.driver.channels.publication_params import RESPONSE_CORRELATION_ID_NONE, PublicationParams
from aerowire.driver.channels.udp_channel import UdpChannel
from aerowire.driver.resources.logs import Log, LogSpec
from aerowire.driver.streams.ipc_publication import IpcPublication
from aerowire.driver.streams.network_publication import NetworkPublication
from aerowire.logbuffer.descriptor import position_of

if TYPE_CHECKING:
    from aerowire.driver.conductor.driver_core import DriverCore
    from aerowire.driver.resources.endpoints import Endpoints, SendChannel

NativePublication: TypeAlias = IpcPublication | NetworkPublication

_NETWORK_COUNTERS = (
    CounterType.PUB_POS,
    CounterType.PUB_LMT,
    CounterType.SND_POS,
    CounterType.SND_LMT,
    CounterType.SND_BPE,
    CounterType.SND_NAKS_RECEIVED,
)
_IPC_COUNTERS = (CounterType.PUB_POS, CounterType.PUB_LMT)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicationRequest:
    """What a client asks for, of IPC when `udp` is None."""

    uri: ChannelUri
    udp: UdpChannel | None
    params: PublicationParams
    registration_id: int
    client_id: int
    is_exclusive: bool

    @property
    def canonical_form(self) -> str:
        """What streams on one channel have in common."""
        return MEDIA_IPC if self.udp is None else self.udp.canonical_form

    @property
    def session_key(self) -> tuple[int, int, str]:
        """What no two streams have in common."""
        return self.params.session_id, self.params.stream_id, self.canonical_form


@dataclass(slots=True, eq=False)
class Publication:
    """A stream that this driver's clients publish.

    Invariant: `reference_count` is the number of registrations that refer to it; at 0 the conductor agent has been told to close it;
    `session_key` is taken for it while `has_session`.
    """

    registration_id: int
    channel: str
    params: PublicationParams
    is_exclusive: bool
    native: NativePublication
    log: Log
    counter_ids: dict[CounterType, int]
    session_key: tuple[int, int, str]
    endpoint: SendChannel | None
    reference_count: int = 0
    is_ending: bool = False
    has_session: bool = False
    left_for_good: set[int] = field(default_factory=set)

    @property
    def is_ipc(self) -> bool:
        return self.endpoint is None

    @property
    def source_id(self) -> int:
        return self.registration_id

    @property
    def source_identity(self) -> str:
        return commands.IPC_SOURCE_IDENTITY

    @property
    def log_path(self) -> str:
        return self.log.path

    @property
    def session_id(self) -> int:
        return self.params.session_id

    @property
    def stream_id(self) -> int:
        return self.params.stream_id

    @property
    def term_length(self) -> int:
        return self.params.term_length

    @property
    def mtu_length(self) -> int:
        return self.params.mtu_length

    @property
    def channel_status_counter_id(self) -> int:
        return cnc.CHANNEL_STATUS_NO_ID_ALLOCATED if self.endpoint is None else self.endpoint.status_counter_id


class PublicationFactory:
    """Makes publications; who refers to them, and when they end, is not its business."""

    def __init__(self, core: DriverCore, endpoints: Endpoints) -> None:
        self._core = core
        self._endpoints = endpoints

    def make(self, request: PublicationRequest) -> Publication:
        """Make a publication; what was made of it goes again when a part of it cannot be made."""
        core, params, udp, registration_id = self._core, request.params, request.udp, request.registration_id
        channel, is_exclusive = request.uri.original, request.is_exclusive
        flow = None if udp is None else FlowControlParams.of(udp, core.context)
        log = self._create_log(params, registration_id, udp, is_exclusive=is_exclusive)
        counter_ids: dict[CounterType, int] = {}
        endpoint: SendChannel | None = None
        try:
            endpoint = None if udp is None else self._endpoints.open_sender(udp, params, registration_id)
            for counter_type in _counters_of(flow):
                counter_ids[counter_type] = core.counters.stream(
                    counter_type,
                    client_id=cnc.COUNTER_DRIVER_OWNER_ID if counter_type is CounterType.FC_RECEIVERS else request.client_id,
                    registration_id=registration_id,
                    session_id=params.session_id,
                    stream_id=params.stream_id,
                    channel=channel,
                    mode="exclusive" if is_exclusive else "concurrent",
                )
            native = self._make_native(channel, params, registration_id, log, counter_ids, endpoint, flow, is_exclusive=is_exclusive)
        except Exception:
            for counter_id in counter_ids.values():
                core.counters.manager.free(counter_id)
            core.logs.free_now(log)
            if endpoint is not None:
                self._endpoints.close_sender_if_unused(endpoint)
            raise
        return Publication(registration_id, channel, params, is_exclusive, native, log, counter_ids, request.session_key, endpoint)

    def _create_log(self, params: PublicationParams, registration_id: int, udp: UdpChannel | None, *, is_exclusive: bool) -> Log:
        context = self._core.context
        log_type = logbuffer.LogType.EXCLUSIVE_PUBLICATION if is_exclusive else logbuffer.LogType.CONCURRENT_PUBLICATION
        metadata = {
            "type": log_type,
            "publication_window_length": params.window_length,
            "socket_rcvbuf_length": 0 if udp is None else udp.socket_rcvbuf_length_or(context.socket_so_rcvbuf),
            "socket_sndbuf_length": 0 if udp is None else udp.socket_sndbuf_length_or(context.socket_so_sndbuf),
            "max_resend": params.max_resend,
            "entity_tag": params.entity_tag,
            "response_correlation_id": params.response_correlation_id,
            "linger_timeout_ns": params.linger_timeout_ns,
            "untethered_window_limit_timeout_ns": params.untethered_window_limit_timeout_ns,
            "untethered_resting_timeout_ns": params.untethered_resting_timeout_ns,
            "untethered_linger_timeout_ns": params.untethered_linger_timeout_ns,
            "group": udp is not None and udp.has_group_semantics,
            "is_response": params.is_response,
            "signal_eos": params.signal_eos,
            "spies_simulate_connection": params.spies_simulate_connection,
        }
        spec = LogSpec(
            session_id=params.session_id,
            stream_id=params.stream_id,
            initial_term_id=params.initial_term_id,
            term_id=params.term_id,
            term_offset=params.term_offset,
            term_length=params.term_length,
            mtu_length=params.mtu_length,
            is_sparse=params.is_sparse,
            metadata=metadata,
        )
        return self._core.logs.create_publication(registration_id, spec)

    def _make_native(
        self,
        channel: str,
        params: PublicationParams,
        registration_id: int,
        log: Log,
        counter_ids: dict[CounterType, int],
        endpoint: SendChannel | None,
        flow: FlowControlParams | None,
        *,
        is_exclusive: bool,
    ) -> NativePublication:
        core, context = self._core, self._core.context
        now_ns = core.ports.clock.now_ns()
        stream_events = core.conductor_events.of_stream(
            params.session_id, params.stream_id, channel if endpoint is None else endpoint.channel.original
        )
        if endpoint is None or flow is None:
            return IpcPublication(
                log.buffers,
                core.counters.manager,
                core.system,
                registration_id=registration_id,
                session_id=params.session_id,
                stream_id=params.stream_id,
                initial_term_id=params.initial_term_id,
                publisher_position_id=counter_ids[CounterType.PUB_POS],
                publisher_limit_id=counter_ids[CounterType.PUB_LMT],
                mtu=params.mtu_length,
                publication_window=params.window_length,
                exclusive=is_exclusive,
                unblock_timeout_ns=context.publication_unblock_timeout_ns,
                cool_down_ns=context.image_liveness_timeout_ns,
                untethered=params.untethered_times(),
                stream_events=stream_events,
                now_ns=now_ns,
            )
        return NetworkPublication(
            log.buffers,
            endpoint.native,
            core.counters.manager,
            core.system,
            registration_id=registration_id,
            session_id=params.session_id,
            stream_id=params.stream_id,
            initial_term_id=params.initial_term_id,
            starting_position=position_of(params.term_id, params.term_offset, params.term_length, params.initial_term_id),
            publisher_position_id=counter_ids[CounterType.PUB_POS],
            publisher_limit_id=counter_ids[CounterType.PUB_LMT],
            sender_position_id=counter_ids[CounterType.SND_POS],
            sender_limit_id=counter_ids[CounterType.SND_LMT],
            sender_bpe_id=counter_ids[CounterType.SND_BPE],
            naks_received_id=counter_ids[CounterType.SND_NAKS_RECEIVED],
            mtu=params.mtu_length,
            publication_window=params.window_length,
            exclusive=is_exclusive,
            signal_eos=params.signal_eos,
            response=params.is_response,
            asks_for_response=not params.is_response and params.response_correlation_id != RESPONSE_CORRELATION_ID_NONE,
            flow_control=make_flow_control(flow, core.counters.manager, counter_ids.get(CounterType.FC_RECEIVERS), stream_events),
            max_resend=params.max_resend,
            messages_per_send=context.network_publication_max_messages_per_send,
            retransmit_delay_ns=context.retransmit_unicast_delay_ns,
            retransmit_linger_ns=context.retransmit_unicast_linger_ns,
            retransmit_byte_rate=context.retransmit_byte_rate,
            connection_timeout_ns=context.publication_connection_timeout_ns,
            linger_ns=params.linger_timeout_ns,
            unblock_timeout_ns=context.publication_unblock_timeout_ns,
            spies_simulate_connection=params.spies_simulate_connection,
            untethered=params.untethered_times(),
            stream_events=stream_events,
            now_ns=now_ns,
        )


def _counters_of(flow: FlowControlParams | None) -> tuple[CounterType, ...]:
    if flow is None:
        return _IPC_COUNTERS
    return (*_NETWORK_COUNTERS, CounterType.FC_RECEIVERS) if flow.strategy.counts_receivers else _NETWORK_COUNTERS
