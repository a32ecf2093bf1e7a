"""What the driver's options may be: each by itself, and against each other. Aeron: MediaDriver.Context.conclude, Configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from aerowire.base import units
from aerowire.base.errors import ConfigurationError
from aerowire.codecs.flyweights import cnc, transport
from aerowire.codecs.flyweights.base import align
from aerowire.codecs.tables.options import OPTIONS
from aerowire.driver.channels.congestion import SUPPLIERS as CONGESTION_CONTROL_SUPPLIERS
from aerowire.driver.channels.flow_control_params import MULTICAST_SUPPLIERS, STRATEGIES, UNICAST_SUPPLIERS
from aerowire.driver.channels.publication_params import MAX_RESEND_MAX
from aerowire.driver.channels.udp_channel import TTL_MAX
from aerowire.driver.channels.wildcard_ports import WildcardPorts
from aerowire.driver.media.loss_arguments import interceptor_arguments
from aerowire.driver.names.csv_names import CSV_TABLES, csv_rows
from aerowire.driver.names.driver_names import BOOTSTRAP_NEIGHBORS_MAX, bootstrap_neighbors

if TYPE_CHECKING:
    from aerowire.base.options import ResolvedOptions
    from aerowire.driver.context import Context

# The C driver's names for the resolver that talks to other drivers; the Java driver has it as soon as it has an interface.
_DRIVER_RESOLVERS = ("driver", "aeron_driver_name_resolver_supplier")

# Official suppliers that this driver's own behaviour stands for; another class name cannot be obeyed and is refused.
_KNOWN_CLASSES: Mapping[str, tuple[str, ...]] = {
    "unicast_flow_control_supplier": UNICAST_SUPPLIERS,
    "unicast_flow_control_strategy": tuple(STRATEGIES),
    "multicast_flow_control_supplier": MULTICAST_SUPPLIERS,
    "multicast_flow_control_strategy": tuple(STRATEGIES),
    "congestion_control_supplier": tuple(CONGESTION_CONTROL_SUPPLIERS),
    # The debug endpoints are those that obey aeron.debug.*.loss.*, which every endpoint here does.
    "send_channel_endpoint_supplier": (
        "io.aeron.driver.DefaultSendChannelEndpointSupplier",
        "io.aeron.driver.ext.DebugSendChannelEndpointSupplier",
    ),
    "receive_channel_endpoint_supplier": (
        "io.aeron.driver.DefaultReceiveChannelEndpointSupplier",
        "io.aeron.driver.ext.DebugReceiveChannelEndpointSupplier",
    ),
    "name_resolver_supplier": ("default", "aeron_default_name_resolver_supplier", *_DRIVER_RESOLVERS, *CSV_TABLES),
}

_TAG_OCTETS = re.compile(rf"[0-9a-fA-F]{{{2 * transport.GROUP_TAG_LENGTH}}}")

ALLOW_TERMINATION = (
    "io.aeron.driver.DefaultAllowTerminationValidator",
    "allow",
    "aeron_driver_termination_validator_default_allow",
)
_DENY_TERMINATION = (
    "io.aeron.driver.DefaultDenyTerminationValidator",
    "deny",
    "aeron_driver_termination_validator_default_deny",
)

_COUNTERS_LENGTH_MIN = 1024 * 1024
_COUNTERS_LENGTH_MAX = 500 * 1024 * 1024
# Room for a good number of the longest events: one may fill an eighth of a broadcast buffer.
_EVENT_LOG_LENGTH_MIN = 64 * 1024

# Datagrams of one system call, as the official driver bounds them: batches have their headers in fixed arrays.
_BATCH_MAX = 16


# Stands for "as long as the window limit", which a channel may set for itself. Aeron: Aeron.NULL_VALUE.
UNTETHERED_LINGER_UNSET = -1

# Name -> lowest and highest value. Timeouts and lengths that are not here may be anything from 0 on.
_RANGES: Mapping[str, tuple[int, int]] = {
    "counters_buffer_length": (_COUNTERS_LENGTH_MIN, _COUNTERS_LENGTH_MAX),
    "event_buffer_length": (_EVENT_LOG_LENGTH_MIN, transport.TERM_LENGTH_MAX),
    "file_page_size": (transport.PAGE_SIZE_MIN, transport.PAGE_SIZE_MAX),
    "term_buffer_length": (transport.TERM_LENGTH_MIN, transport.TERM_LENGTH_MAX),
    "ipc_term_buffer_length": (transport.TERM_LENGTH_MIN, transport.TERM_LENGTH_MAX),
    "publication_term_window_length": (0, transport.TERM_LENGTH_MAX),
    "ipc_publication_term_window_length": (0, transport.TERM_LENGTH_MAX),
    "mtu_length": (transport.MTU_MIN, transport.MAX_UDP_PAYLOAD),
    "ipc_mtu_length": (transport.MTU_MIN, transport.MAX_UDP_PAYLOAD),
    "rcv_initial_window_length": (1, units.INT32_MAX),
    "socket_so_rcvbuf": (0, units.INT32_MAX),
    "socket_so_sndbuf": (0, units.INT32_MAX),
    "socket_multicast_ttl": (0, TTL_MAX),
    "publication_reserved_session_id_low": (units.INT32_MIN, units.INT32_MAX),
    "publication_reserved_session_id_high": (units.INT32_MIN, units.INT32_MAX),
    "driver_stream_session_limit": (1, units.INT32_MAX),
    "receiver_image_limit": (1, 65_536),
    "receiver_image_rate": (0, 1_000_000),
    "retransmit_byte_rate": (0, units.INT64_MAX),
    "unicast_flow_control_rrwm": (1, units.INT32_MAX),
    "multicast_flow_control_rrwm": (1, units.INT32_MAX),
    "flow_control_group_min_size": (0, units.INT32_MAX),
    "nak_multicast_group_size": (1, units.INT32_MAX),
    "nak_unicast_retry_delay_ratio": (1, units.INT32_MAX),
    "driver_resource_free_limit": (1, units.INT32_MAX),
    "send_to_status_poll_ratio": (1, units.INT32_MAX),
    "max_resend": (1, MAX_RESEND_MAX),
    "sender_io_vector_capacity": (1, _BATCH_MAX),
    "receiver_io_vector_capacity": (1, _BATCH_MAX),
    "network_publication_max_messages_per_send": (1, _BATCH_MAX),
    "timer_interval_ns": (1, units.INT64_MAX),
    "untethered_linger_timeout_ns": (UNTETHERED_LINGER_UNSET, units.INT64_MAX),
    **{f"{role}_cpu_affinity": (-1, units.INT32_MAX) for role in ("sender", "receiver", "conductor", "driver_native_resource_agent")},
}
# Options that may not be less than what they are without being set.
_AT_LEAST_DEFAULT = (
    "conductor_buffer_length",
    "clients_buffer_length",
    "error_buffer_length",
    "loss_report_buffer_length",
    "nak_unicast_delay_ns",
)


def check_options(context: Context, values: ResolvedOptions, *, has_own_validator: bool) -> None:
    """Raise ConfigurationError for the first option that this driver cannot obey."""
    _Checks(context, values).run(has_own_validator)


class _Checks:
    def __init__(self, context: Context, values: ResolvedOptions) -> None:
        self._context = context
        self._values = values

    def run(self, has_own_validator: bool) -> None:
        self._check_ranges()
        self._check_ring_capacity("conductor_buffer_length", cnc.RingTrailerDecoder.ENCODED_LENGTH)
        self._check_ring_capacity("clients_buffer_length", cnc.BroadcastTrailerDecoder.ENCODED_LENGTH)
        for name in ("event_buffer_length", "file_page_size", "term_buffer_length", "ipc_term_buffer_length"):
            self._check_power_of_two(name)
        for name in ("mtu_length", "ipc_mtu_length"):
            self._check_multiple(name, transport.FRAME_ALIGNMENT)
        self._check_cnc_length()
        self._check_timeouts()
        self._check_nak_retry()
        self._check_session_ids()
        self._check_sockets()
        self._check_induced_loss()
        self._check_classes()
        self._check_feedback()
        self._check_resolver()
        if not has_own_validator:
            self._check_one_of("driver_termination_validator", ALLOW_TERMINATION + _DENY_TERMINATION, "a termination validator")
        for name in ("sender_wildcard_port_range", "receiver_wildcard_port_range"):
            WildcardPorts.parse(_property(name), str(self._values[name]))

    def _check_ranges(self) -> None:
        for name, value in self._values.items():
            kind = OPTIONS[name].kind
            if name in _AT_LEAST_DEFAULT:
                low, high = int(OPTIONS[name].default or 0), units.INT64_MAX if kind == "duration_ns" else units.INT32_MAX
            elif name in _RANGES:
                low, high = _RANGES[name]
            elif kind in {"size", "duration_ns"}:
                low, high = 0, units.INT64_MAX
            else:
                continue
            if isinstance(value, int | float) and not low <= value <= high:
                raise _out_of_range(name, f"{low} to {high}", value)

    def _check_ring_capacity(self, name: str, trailer_length: int) -> None:
        capacity = self._number(name) - trailer_length
        if capacity & (capacity - 1):
            raise ConfigurationError(
                f"{_property(name)} has no usable capacity",
                where=_property(name),
                expected=f"a power of two plus {trailer_length} bytes of trailer",
                actual=self._values[name],
            )

    def _check_power_of_two(self, name: str) -> None:
        value = self._number(name)
        if value & (value - 1):
            raise ConfigurationError(
                f"{_property(name)} is not a power of two", where=_property(name), expected="a power of two", actual=value
            )

    def _check_multiple(self, name: str, of: int) -> None:
        value = self._number(name)
        if value % of:
            raise ConfigurationError(
                f"{_property(name)} is not aligned", where=_property(name), expected=f"a multiple of {of}", actual=value
            )

    def _check_cnc_length(self) -> None:
        # Official clients map the file in one piece, whose length has 31 bits.
        per_counter = cnc.CounterValueDecoder.ENCODED_LENGTH + cnc.CounterMetadataDecoder.ENCODED_LENGTH
        length = cnc.CncHeaderDecoder.ENCODED_LENGTH + sum(
            self._number(name) for name in ("conductor_buffer_length", "clients_buffer_length", "error_buffer_length")
        )
        length += self._number("counters_buffer_length") // cnc.CounterValueDecoder.ENCODED_LENGTH * per_counter
        if align(length, self._number("file_page_size")) > units.INT32_MAX:
            raise ConfigurationError(
                "the CnC file is longer, with these buffers, than official clients can map",
                where=_property("counters_buffer_length"),
                expected=f"at most {units.INT32_MAX} bytes",
                actual=length,
            )

    def _check_nak_retry(self) -> None:
        delay_ns, ratio = self._number("nak_unicast_delay_ns"), self._number("nak_unicast_retry_delay_ratio")
        if delay_ns * ratio > units.INT64_MAX:
            raise ConfigurationError(
                "the delay before a NAK is repeated is too long",
                where=_property("nak_unicast_retry_delay_ratio"),
                expected=f"at most {units.INT64_MAX // delay_ns} with a delay of {units.format_duration(delay_ns)}",
                actual=ratio,
            )

    def _check_timeouts(self) -> None:
        self._check_more_than("publication_unblock_timeout_ns", "client_liveness_timeout_ns")
        self._check_more_than("client_liveness_timeout_ns", "timer_interval_ns")
        for name in ("untethered_window_limit_timeout_ns", "untethered_resting_timeout_ns"):
            self._check_more_than(name, "timer_interval_ns")
        if "untethered_linger_timeout_ns" in self._values.given and self._number("untethered_linger_timeout_ns") != UNTETHERED_LINGER_UNSET:
            self._check_more_than("untethered_linger_timeout_ns", "timer_interval_ns")

    def _check_more_than(self, name: str, other: str) -> None:
        value, floor = self._number(name), self._number(other)
        if value <= floor:
            raise ConfigurationError(
                f"{_property(name)} is too short",
                where=_property(name),
                expected=f"more than {_property(other)}={units.format_duration(floor)}",
                actual=units.format_duration(value),
            )

    def _check_session_ids(self) -> None:
        low, high = (self._number(f"publication_reserved_session_id_{end}") for end in ("low", "high"))
        if low > high or high - low > units.INT32_MAX:
            raise ConfigurationError(
                "the range of reserved session ids is impossible",
                where=_property("publication_reserved_session_id_low"),
                expected="low <= high and fewer than 2^31 ids",
                actual=f"{low} to {high}",
            )

    def _check_sockets(self) -> None:
        context = self._context
        mtu, window = self._number("mtu_length"), self._number("rcv_initial_window_length")
        sndbuf = context.socket_so_sndbuf or context.os_default_socket_sndbuf_length
        rcvbuf = context.socket_so_rcvbuf or context.os_default_socket_rcvbuf_length
        for what, name, value, limit, hint in (
            ("the MTU is longer than SO_SNDBUF", "mtu_length", mtu, sndbuf, f"raise {_property('socket_so_sndbuf')}"),
            (
                "the initial window is longer than SO_RCVBUF",
                "rcv_initial_window_length",
                window,
                rcvbuf,
                f"raise {_property('socket_so_rcvbuf')}",
            ),
            ("the MTU is longer than the initial window", "mtu_length", mtu, window, f"raise {_property('rcv_initial_window_length')}"),
        ):
            if value > limit:
                raise ConfigurationError(what, where=_property(name), expected=f"at most {limit}", actual=value, hint=hint)

    def _check_induced_loss(self) -> None:
        for name, value in self._values.items():
            if name.startswith("debug_") and name.endswith("_rate") and isinstance(value, int | float) and not 0.0 <= value <= 1.0:
                raise _out_of_range(name, "a probability from 0 to 1", value)
        interceptor_arguments(self._values)

    def _check_feedback(self) -> None:
        for name in ("flow_control_sm_application_specific_feedback", "preferred_multicast_flow_control_asf"):
            value = str(self._values[name])
            if value and _TAG_OCTETS.fullmatch(value) is None:
                raise ConfigurationError(
                    f"{_property(name)} is not a group tag",
                    where=_property(name),
                    expected=f"{transport.GROUP_TAG_LENGTH} bytes in hexadecimal",
                    actual=value,
                )

    def _check_classes(self) -> None:
        for name, known in _KNOWN_CLASSES.items():
            if self._values[name]:
                self._check_one_of(name, known, "a supplier")

    def _check_resolver(self) -> None:
        values = self._values
        name, interface = str(values["driver_resolver_name"]), values["driver_resolver_interface"]
        if (interface or values["name_resolver_supplier"] in _DRIVER_RESOLVERS) and not (name and interface):
            raise ConfigurationError(
                "a driver that resolves names needs a name and an interface",
                where=_property("driver_resolver_interface" if name else "driver_resolver_name"),
                expected="both",
                actual=f"name={name or 'none'} interface={interface or 'none'}",
            )
        if len(name) > transport.RESOLUTION_NAME_LENGTH_MAX or not name.isascii():
            raise ConfigurationError(
                "the driver's name does not fit a frame",
                where=_property("driver_resolver_name"),
                expected=f"at most {transport.RESOLUTION_NAME_LENGTH_MAX} ASCII characters",
                actual=name,
            )
        csv_rows(values)
        count = len(bootstrap_neighbors(str(values["driver_resolver_bootstrap_neighbor"])))
        if count > BOOTSTRAP_NEIGHBORS_MAX:
            raise ConfigurationError(
                "there are too many bootstrap neighbours",
                where=_property("driver_resolver_bootstrap_neighbor"),
                expected=f"at most {BOOTSTRAP_NEIGHBORS_MAX}",
                actual=count,
            )

    def _check_one_of(self, name: str, known: tuple[str, ...], what: str) -> None:
        if self._values[name] not in known:
            raise ConfigurationError(
                f"{what} is not one of this driver's", where=_property(name), expected=" | ".join(known), actual=self._values[name]
            )

    def _number(self, name: str) -> int:
        value = self._values[name]
        assert isinstance(value, int)
        return value


def _out_of_range(name: str, expected: str, actual: object) -> ConfigurationError:
    return ConfigurationError(f"{_property(name)} is out of range", where=_property(name), expected=expected, actual=actual)


def _property(option: str) -> str:
    return OPTIONS[option].property
