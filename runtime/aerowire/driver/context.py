"""The driver's configuration: every option of the generated table, resolved and checked. Aeron: MediaDriver.Context, Configuration."""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Callable, Mapping

from aerowire.base import arguments
from aerowire.base.directory import default_aeron_dir
from aerowire.base.errors import ConfigurationError
from aerowire.base.options import is_in_environment, resolve_options
from aerowire.codecs.tables.options import OPTIONS
from aerowire.driver.event_log.event_selection import DRIVER_EVENTS
from aerowire.driver.names.csv_names import CSV_TABLES, TABLE_OPTIONS
from aerowire.driver.option_checks import ALLOW_TERMINATION, UNTETHERED_LINGER_UNSET, check_options
from aerowire.system.udp import probe_socket_buffers

TerminationValidator = Callable[[str, bytes], bool]

INITIAL_RTT_MAX_NS = 60_000_000_000
_SCOPES = ("driver", "aerowire")

# Threads that run several agents have no processor of their own to name: each goes where the official driver puts it.
_AFFINITY_OF = {"shared": "conductor", "sharednetwork": "sender", "commands": "driver_native_resource_agent"}
# The C driver's form of the arguments of backoff: spins, yields, shortest and longest park. Aeron: aeron_agent.c.
_DASHED_ARGUMENTS = re.compile(r"[0-9]+-[0-9]+(-[0-9]+[mnu]?s?){2}")

# Options that are read, so that the same files and environments serve all drivers, but decide nothing here.
_WITHOUT_EFFECT: Mapping[str, tuple[str, ...]] = {
    "only the resolver csv_table takes arguments": TABLE_OPTIONS,
    "it is how long an agent looks away that polls; the thread that makes and frees files is woken by what there is to do": (
        "driver_native_resource_agent_idle_strategy",
        "driver_native_resource_agent_idle_strategy_init_args",
    ),
    "threads are bound to processors by aeron.*.cpu.affinity, each by its own": (
        "driver_cpuset_affinity",
        "driver_cpuset_warnings_as_errors",
    ),
    "nothing is loaded into this driver": ("driver_dynamic_libraries", "agent_on_start_function"),
    "datagrams go by the system's sockets": ("udp_channel_transport_bindings_media", "conductor_udp_channel_transport_bindings_media"),
    "interceptors lose what comes in; aeron.debug.send.* induce loss of what goes out": ("udp_channel_outgoing_interceptors",),
    "events go to a file of the driver's directory, which `aerowire events` reads": (
        "event_log_filename",
        "event_log_file_max_length",
        "event_log_reader_classname",
        "event_log_render_data",
        "event_log_throw_exceptions",
    ),
    "there are no experimental features": ("enable_experimental_features",),
    "it is for Windows": ("use_windows_high_res_timer",),
}


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
    dir_shared: bool
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
    event_log: str
    event_log_disable: str
    event_buffer_length: int
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
    receiver_image_limit: int
    receiver_image_rate: int
    retransmit_byte_rate: int
    driver_connect: bool
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
    nak_multicast_group_size: int
    nak_multicast_max_backoff_ns: int
    nak_unicast_delay_ns: int
    nak_unicast_retry_delay_ratio: int
    retransmit_unicast_delay_ns: int
    retransmit_unicast_linger_ns: int
    max_resend: int
    unicast_flow_control_rrwm: int
    multicast_flow_control_rrwm: int
    multicast_flow_control_supplier: str
    flow_control_group_tag: int
    flow_control_group_min_size: int
    flow_control_receiver_timeout_ns: int
    flow_control_sm_application_specific_feedback: str
    receiver_group_tag: int | None
    congestion_control_supplier: str
    cubic_congestion_control_measure_rtt: bool
    cubic_congestion_control_initial_rtt_ns: int
    cubic_congestion_control_tcp_mode: bool
    thread_naming: str
    send_to_status_poll_ratio: int
    sender_io_vector_capacity: int
    receiver_io_vector_capacity: int
    driver_resource_free_limit: int
    network_publication_max_messages_per_send: int
    udp_segmentation_offload: bool
    driver_conductor_cycle_threshold_ns: int
    driver_sender_cycle_threshold_ns: int
    driver_reresolution_check_interval_ns: int
    driver_receiver_cycle_threshold_ns: int
    driver_termination_validator: str
    name_resolver_threshold_ns: int
    driver_resolver_name: str
    driver_resolver_interface: str
    driver_resolver_bootstrap_neighbor: str
    driver_resolver_neighbor_timeout_ns: int
    driver_resolver_self_resolution_interval_ns: int
    driver_resolver_neighbor_resolution_interval_ns: int
    driver_resolver_bootstrap_neighbor_resolution_interval_ns: int

    def __init__(
        self,
        *,
        aeron_dir: str | os.PathLike[str] | None = None,
        properties: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        termination_validator: TerminationValidator | None = None,
        capture: str | os.PathLike[str] | None = None,
        capture_overwrite: bool = False,
        **options: object,
    ) -> None:
        """`aeron_dir` is short for the option `dir`; `capture` names a file for every datagram; lengths in bytes or text ("64k")."""
        for name, path in (("aeron_dir", aeron_dir), ("capture", capture)):
            if path is not None and not isinstance(path, str | os.PathLike):
                raise arguments.wrong_type(name, path, "a path as text or os.PathLike", name)
        if aeron_dir is not None:
            options["dir"] = os.fspath(aeron_dir)
        self._values = resolve_options(_SCOPES, options, {} if properties is None else properties, environ)
        self.__dict__.update(self._values)
        if "untethered_linger_timeout_ns" not in self._values.given:
            self.untethered_linger_timeout_ns = UNTETHERED_LINGER_UNSET
        self.aeron_dir: str = str(self._values["dir"] or default_aeron_dir())
        if not self.aeron_dir.isascii():
            raise ConfigurationError(
                "the driver directory is not ASCII",
                where=OPTIONS["dir"].property,
                expected="an ASCII path: the answers to clients hold the names of log files, and the protocol has no other text",
                actual=ascii(self.aeron_dir),
            )
        if not 0 <= self.cubic_congestion_control_initial_rtt_ns <= INITIAL_RTT_MAX_NS:
            raise ConfigurationError(
                "the first round trip of cubic congestion control is out of range",
                where=OPTIONS["cubic_congestion_control_initial_rtt_ns"].property,
                expected="0 to 60 s",
                actual=f"{self.cubic_congestion_control_initial_rtt_ns} ns",
            )
        self.threading_mode = ThreadingMode(self._values["threading_mode"])
        self.capture = None if capture is None else os.fspath(capture)
        self.capture_overwrite = capture_overwrite
        buffers = probe_socket_buffers()
        self.os_default_socket_sndbuf_length, self.os_max_socket_sndbuf_length = buffers.send_default, buffers.send_max
        self.os_default_socket_rcvbuf_length, self.os_max_socket_rcvbuf_length = buffers.receive_default, buffers.receive_max
        self._validator = termination_validator
        self.event_codes = DRIVER_EVENTS.selected(self._values)
        check_options(self, self._values, has_own_validator=termination_validator is not None)
        if self.receiver_group_tag is None and self.flow_control_sm_application_specific_feedback:
            self.receiver_group_tag = _tag(bytes.fromhex(self.flow_control_sm_application_specific_feedback))
        asf = OPTIONS["preferred_multicast_flow_control_asf"]
        self.preferred_feedback = bytes.fromhex(str(self._values[asf.name] or asf.default))
        if "flow_control_group_tag" not in self._values.given:
            self.flow_control_group_tag = _tag(self.preferred_feedback)

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
        if _DASHED_ARGUMENTS.fullmatch(arguments):
            arguments = arguments.replace("-", " ")
        return str(self._values[f"{role}_idle_strategy"]), tuple(arguments.replace(",", " ").split())

    def cpu_affinity(self, role: str) -> int | None:
        """Return the processor that a role's thread is bound to, or None; roles as for `idle_strategy`, and commands."""
        cpu = int(self.number(f"{_AFFINITY_OF.get(role, role)}_cpu_affinity"))
        return cpu if cpu >= 0 else None

    def options_without_effect(self) -> list[str]:
        """Return the properties that somebody set and this driver has no use for, each with the reason."""
        return [
            f"{OPTIONS[name].property}: {reason}"
            for reason, names in _WITHOUT_EFFECT.items()
            for name in names
            if name in self._values.given
            and self._values[name] != OPTIONS[name].default
            and not (name in TABLE_OPTIONS and self._has_table)
        ]

    @property
    def _has_table(self) -> bool:
        return self._values["name_resolver_supplier"] in CSV_TABLES

    def allows_termination(self, token: bytes) -> bool:
        """Return whether a client with `token` may end the driver."""
        if self._validator is not None:
            return self._validator(self.aeron_dir, token)
        return self.driver_termination_validator in ALLOW_TERMINATION

    def to_properties(self) -> dict[str, str]:
        """Return the options as properties, for another process: what differs from the defaults, or from that process's environment."""
        result: dict[str, str] = {}
        for name, value in self._values.items():
            option = OPTIONS[name]
            is_told = name in self._values.given or is_in_environment(option)
            if value is not None and (is_told or (value != option.default and option.default_of is None)):
                result[option.property] = str(value).lower() if isinstance(value, bool) else _property_text(name, value)
        result[OPTIONS["dir"].property] = self.aeron_dir
        return result


def _tag(octets: bytes) -> int:
    # The older form of a tag is its octets as they stand in a status message.
    return int.from_bytes(octets, "little", signed=True)


def _property_text(name: str, value: object) -> str:
    # A bare number is read in the option's own unit, which need not be nanoseconds.
    return f"{value}ns" if OPTIONS[name].kind == "duration_ns" else str(value)
