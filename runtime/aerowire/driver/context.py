"""The driver's configuration: every option of the generated table, resolved and checked. Aeron: MediaDriver.Context, Configuration."""

from __future__ import annotations

import enum
import os
import socket
from collections.abc import Callable, Mapping

from aerowire.base import units
from aerowire.base.directory import default_aeron_dir
from aerowire.base.errors import ConfigurationError
from aerowire.base.options import resolve_options
from aerowire.codecs.flyweights import cnc, transport
from aerowire.codecs.tables.options import OPTIONS
from aerowire.driver.wildcard_ports import WildcardPorts

TerminationValidator = Callable[[str, bytes], bool]

_SCOPES = ("driver", "aerowire")

# Official suppliers that this driver's own behaviour stands for; another class name cannot be obeyed and is refused.
_KNOWN_CLASSES: Mapping[str, tuple[str, ...]] = {
    "unicast_flow_control_supplier": ("io.aeron.driver.DefaultUnicastFlowControlSupplier", "aeron_unicast_flow_control_strategy_supplier"),
    "unicast_flow_control_strategy": ("io.aeron.driver.UnicastFlowControl",),
    "multicast_flow_control_supplier": (
        "io.aeron.driver.DefaultMulticastFlowControlSupplier",
        "aeron_max_multicast_flow_control_strategy_supplier",
    ),
    "multicast_flow_control_strategy": ("io.aeron.driver.MaxMulticastFlowControl",),
    "congestion_control_supplier": (
        "io.aeron.driver.DefaultCongestionControlSupplier",
        "aeron_static_window_congestion_control_strategy_supplier",
        "aeron_congestion_control_default_strategy_supplier",
    ),
    "send_channel_endpoint_supplier": ("io.aeron.driver.DefaultSendChannelEndpointSupplier",),
    "receive_channel_endpoint_supplier": ("io.aeron.driver.DefaultReceiveChannelEndpointSupplier",),
    "name_resolver_supplier": ("default",),
}

_ALLOW = ("io.aeron.driver.DefaultAllowTerminationValidator", "allow")
_DENY = ("io.aeron.driver.DefaultDenyTerminationValidator", "deny")

_COUNTERS_LENGTH_MIN = 1024 * 1024
_COUNTERS_LENGTH_MAX = 500 * 1024 * 1024


class ThreadingMode(enum.Enum):
    """How the agents are spread over threads."""

    DEDICATED = "DEDICATED"
    SHARED_NETWORK = "SHARED_NETWORK"
    SHARED = "SHARED"
    INVOKER = "INVOKER"


class Context:
    """A driver's options by name, and what follows from them.

    Every option of scope driver in the generated table is an attribute; those that Python reads are declared here.
    Values come from keyword arguments, then `properties`, then the environment, then the defaults.
    """

    dir_warn_if_exists: bool
    dir_delete_on_start: bool
    dir_delete_on_shutdown: bool
    file_page_size: int
    perform_storage_checks: bool
    low_file_store_warning_threshold: int
    term_buffer_sparse_file: bool
    conductor_buffer_length: int
    clients_buffer_length: int
    counters_buffer_length: int
    error_buffer_length: int
    loss_report_buffer_length: int
    print_configuration: bool
    term_buffer_length: int
    ipc_term_buffer_length: int
    publication_term_window_length: int
    ipc_publication_term_window_length: int
    mtu_length: int
    ipc_mtu_length: int
    rcv_initial_window_length: int
    socket_so_rcvbuf: int
    socket_so_sndbuf: int
    socket_multicast_ttl: int
    publication_reserved_session_id_low: int
    publication_reserved_session_id_high: int
    sender_wildcard_port_range: str
    receiver_wildcard_port_range: str
    driver_stream_session_limit: int
    tether_subscriptions: bool
    reliable_stream: bool
    rejoin_stream: bool
    receiver_group_consideration: str
    spies_simulate_connection: bool
    timer_interval_ns: int
    client_liveness_timeout_ns: int
    image_liveness_timeout_ns: int
    publication_unblock_timeout_ns: int
    publication_connection_timeout_ns: int
    publication_linger_timeout_ns: int
    untethered_window_limit_timeout_ns: int
    untethered_linger_timeout_ns: int
    untethered_resting_timeout_ns: int
    rcv_status_message_timeout_ns: int
    counters_free_to_reuse_timeout_ns: int
    driver_timeout_ns: int
    nak_unicast_delay_ns: int
    nak_unicast_retry_delay_ratio: int
    retransmit_unicast_delay_ns: int
    retransmit_unicast_linger_ns: int
    max_resend: int
    unicast_flow_control_rrwm: int
    multicast_flow_control_rrwm: int
    receiver_group_tag: int | None
    send_to_status_poll_ratio: int
    driver_resource_free_limit: int
    network_publication_max_messages_per_send: int
    driver_conductor_cycle_threshold_ns: int
    driver_sender_cycle_threshold_ns: int
    driver_receiver_cycle_threshold_ns: int
    driver_termination_validator: str
    name_resolver_threshold_ns: int
    driver_resolver_name: str
    driver_resolver_interface: str

    def __init__(
        self,
        *,
        aeron_dir: str | os.PathLike[str] | None = None,
        properties: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        termination_validator: TerminationValidator | None = None,
        capture: str | os.PathLike[str] | None = None,
        **options: object,
    ) -> None:
        """`aeron_dir` is short for the option `dir`; `capture` names a file for every datagram; lengths in bytes or text ("64k")."""
        if aeron_dir is not None:
            options["dir"] = os.fspath(aeron_dir)
        self._values = resolve_options(_SCOPES, options, properties or {}, environ)
        self.__dict__.update(self._values)
        if "untethered_linger_timeout_ns" not in self._values.given:
            # Unset means "as long as the window limit", which a channel may set for itself.
            self.untethered_linger_timeout_ns = -1
        self.aeron_dir: str = str(self._values["dir"] or default_aeron_dir())
        self.threading_mode = ThreadingMode(self._values["threading_mode"])
        self.capture = None if capture is None else os.fspath(capture)
        self.os_default_socket_sndbuf_length, self.os_max_socket_sndbuf_length = _probe_socket_length(socket.SO_SNDBUF)
        self.os_default_socket_rcvbuf_length, self.os_max_socket_rcvbuf_length = _probe_socket_length(socket.SO_RCVBUF)
        self._validator = termination_validator
        self._validate()

    @property
    def options(self) -> Mapping[str, object]:
        """Every option by name, as resolved."""
        return dict(self._values)

    def option(self, name: str) -> object:
        """Return an option by its name in the table."""
        return self._values[name]

    def number(self, name: str) -> float:
        """Return a numeric option by its name in the table."""
        value = self._values[name]
        assert isinstance(value, int | float)
        return value

    def idle_strategy(self, role: str) -> tuple[str, tuple[str, ...]]:
        """Return the name and arguments of the idle strategy of sender, receiver, conductor, shared or sharednetwork."""
        arguments = str(self._values[f"{role}_idle_strategy_init_args"] or "")
        return str(self._values[f"{role}_idle_strategy"]), tuple(arguments.replace(",", " ").split())

    def cpu_affinity(self, role: str) -> int | None:
        """Return the processor that an agent is bound to, or None."""
        cpu = self._values.get(f"{role}_cpu_affinity", -1)
        return cpu if isinstance(cpu, int) and cpu >= 0 else None

    def allows_termination(self, token: bytes) -> bool:
        """Return whether a client with `token` may end the driver."""
        if self._validator is not None:
            return self._validator(self.aeron_dir, token)
        return self.driver_termination_validator in _ALLOW

    def to_properties(self) -> dict[str, str]:
        """Return the options that differ from their defaults as properties, for another process."""
        result: dict[str, str] = {}
        for name, value in self._values.items():
            option = OPTIONS[name]
            if value is not None and value != option.default and option.default_of is None:
                result[option.property] = str(value).lower() if isinstance(value, bool) else _property_text(name, value)
        if self.untethered_linger_timeout_ns != -1:
            result[_name("untethered_linger_timeout_ns")] = f"{self.untethered_linger_timeout_ns}ns"
        result[_name("dir")] = self.aeron_dir
        return result

    def _validate(self) -> None:
        self._check_range("conductor_buffer_length", OPTIONS["conductor_buffer_length"].default, units.INT32_MAX)
        self._check_ring_capacity("conductor_buffer_length", cnc.RingTrailerDecoder.ENCODED_LENGTH)
        self._check_range("clients_buffer_length", OPTIONS["clients_buffer_length"].default, units.INT32_MAX)
        self._check_ring_capacity("clients_buffer_length", cnc.BroadcastTrailerDecoder.ENCODED_LENGTH)
        self._check_range("counters_buffer_length", _COUNTERS_LENGTH_MIN, _COUNTERS_LENGTH_MAX)
        self._check_range("error_buffer_length", OPTIONS["error_buffer_length"].default, units.INT32_MAX)
        self._check_range("loss_report_buffer_length", OPTIONS["loss_report_buffer_length"].default, units.INT32_MAX)
        self._check_range("file_page_size", transport.PAGE_SIZE_MIN, transport.PAGE_SIZE_MAX)
        self._check_power_of_two("file_page_size")
        for name in ("term_buffer_length", "ipc_term_buffer_length"):
            self._check_range(name, transport.TERM_LENGTH_MIN, transport.TERM_LENGTH_MAX)
            self._check_power_of_two(name)
        for name in ("publication_term_window_length", "ipc_publication_term_window_length"):
            self._check_range(name, 0, transport.TERM_LENGTH_MAX)
        for name in ("mtu_length", "ipc_mtu_length"):
            self._check_range(name, transport.MTU_MIN, transport.MAX_UDP_PAYLOAD)
            self._check_multiple(name, transport.FRAME_ALIGNMENT)
        for name in (
            "unicast_flow_control_rrwm",
            "multicast_flow_control_rrwm",
            "nak_unicast_retry_delay_ratio",
            "driver_resource_free_limit",
        ):
            self._check_range(name, 1, units.INT32_MAX)
        self._check_range("max_resend", 1, _MAX_RESEND_MAX)
        self._check_range("nak_unicast_delay_ns", OPTIONS["nak_unicast_delay_ns"].default, units.INT64_MAX)
        self._check_timeouts()
        self._check_session_ids()
        self._check_sockets()
        self._check_classes()
        WildcardPorts.parse(_name("sender_wildcard_port_range"), self.sender_wildcard_port_range)
        WildcardPorts.parse(_name("receiver_wildcard_port_range"), self.receiver_wildcard_port_range)

    def _check_timeouts(self) -> None:
        self._check_range("timer_interval_ns", 1, units.INT64_MAX)
        self._check_more_than("publication_unblock_timeout_ns", "client_liveness_timeout_ns")
        self._check_more_than("client_liveness_timeout_ns", "timer_interval_ns")
        for name in ("untethered_window_limit_timeout_ns", "untethered_resting_timeout_ns"):
            self._check_more_than(name, "timer_interval_ns")
        if self.untethered_linger_timeout_ns != -1:
            self._check_more_than("untethered_linger_timeout_ns", "timer_interval_ns")

    def _check_session_ids(self) -> None:
        low, high = self.publication_reserved_session_id_low, self.publication_reserved_session_id_high
        self._check_range("publication_reserved_session_id_low", units.INT32_MIN, units.INT32_MAX)
        self._check_range("publication_reserved_session_id_high", units.INT32_MIN, units.INT32_MAX)
        if low > high or high - low > units.INT32_MAX:
            raise ConfigurationError(
                "the range of reserved session ids is impossible",
                where=_name("publication_reserved_session_id_low"),
                expected="low <= high and fewer than 2^31 ids",
                actual=f"{low} to {high}",
            )

    def _check_sockets(self) -> None:
        sndbuf = self.socket_so_sndbuf or self.os_default_socket_sndbuf_length
        if self.mtu_length > sndbuf:
            raise ConfigurationError(
                "the MTU is longer than SO_SNDBUF",
                where=_name("mtu_length"),
                expected=f"at most {sndbuf}",
                actual=self.mtu_length,
                hint=f"raise {_name('socket_so_sndbuf')}",
            )
        rcvbuf = self.socket_so_rcvbuf or self.os_default_socket_rcvbuf_length
        if self.rcv_initial_window_length > rcvbuf:
            raise ConfigurationError(
                "the initial window is longer than SO_RCVBUF",
                where=_name("rcv_initial_window_length"),
                expected=f"at most {rcvbuf}",
                actual=self.rcv_initial_window_length,
                hint=f"raise {_name('socket_so_rcvbuf')}",
            )
        if self.mtu_length > self.rcv_initial_window_length:
            raise ConfigurationError(
                "the MTU is longer than the initial window",
                where=_name("mtu_length"),
                expected=f"at most {self.rcv_initial_window_length}",
                actual=self.mtu_length,
            )

    def _check_classes(self) -> None:
        for name, known in _KNOWN_CLASSES.items():
            value = self._values.get(name)
            if value and value not in known:
                raise ConfigurationError(
                    "a supplier is not one of this driver's", where=_name(name), expected=" | ".join(known), actual=value
                )
        if self._validator is None and self.driver_termination_validator not in _ALLOW + _DENY:
            raise ConfigurationError(
                "a termination validator is not one of this driver's",
                where=_name("driver_termination_validator"),
                expected=" | ".join(_ALLOW + _DENY),
                actual=self.driver_termination_validator,
            )
        if self.driver_resolver_name or self.driver_resolver_interface:
            raise ConfigurationError(
                "name resolution between drivers: not supported",
                where=_name("driver_resolver_name"),
                expected="no resolver name and interface",
                actual=self.driver_resolver_name or self.driver_resolver_interface,
            )

    def _check_range(self, name: str, low: object, high: int) -> None:
        value = getattr(self, name)
        assert isinstance(low, int)
        if not low <= value <= high:
            raise ConfigurationError(f"{_name(name)} is out of range", where=_name(name), expected=f"{low} to {high}", actual=value)

    def _check_power_of_two(self, name: str) -> None:
        value = getattr(self, name)
        if value & (value - 1):
            raise ConfigurationError(f"{_name(name)} is not a power of two", where=_name(name), expected="a power of two", actual=value)

    def _check_ring_capacity(self, name: str, trailer_length: int) -> None:
        capacity = getattr(self, name) - trailer_length
        if capacity & (capacity - 1):
            raise ConfigurationError(
                f"{_name(name)} has no usable capacity",
                where=_name(name),
                expected=f"a power of two plus {trailer_length} bytes of trailer",
                actual=getattr(self, name),
            )

    def _check_multiple(self, name: str, of: int) -> None:
        value = getattr(self, name)
        if value % of:
            raise ConfigurationError(f"{_name(name)} is not aligned", where=_name(name), expected=f"a multiple of {of}", actual=value)

    def _check_more_than(self, name: str, other: str) -> None:
        value, floor = getattr(self, name), getattr(self, other)
        if value <= floor:
            raise ConfigurationError(
                f"{_name(name)} is too short",
                where=_name(name),
                expected=f"more than {_name(other)}={units.format_duration(floor)}",
                actual=units.format_duration(value),
            )


# A retransmit handler has a fixed number of places.
_MAX_RESEND_MAX = 256


def _name(option: str) -> str:
    return OPTIONS[option].property


def _property_text(name: str, value: object) -> str:
    # A bare number is read in the option's own unit, which need not be nanoseconds.
    return f"{value}ns" if OPTIONS[name].kind == "duration_ns" else str(value)


def _probe_socket_length(option: int) -> tuple[int, int]:
    """Return the default and the largest length of a socket's buffer, as the system tells them."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        default = probe.getsockopt(socket.SOL_SOCKET, option)
        probe.setsockopt(socket.SOL_SOCKET, option, units.INT32_MAX)
        return default, probe.getsockopt(socket.SOL_SOCKET, option)
