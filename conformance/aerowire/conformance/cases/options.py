"""Sets of options that several cases share: each set is a driver of its own, so there are few."""

from __future__ import annotations

# What is 10 s and more by default, short enough to wait for. Order of lives: image < client < unblocking.
SHORT_LIVES = {
    "image_liveness_timeout_ns": "1s",
    "client_liveness_timeout_ns": "2s",
    "publication_unblock_timeout_ns": "3s",
    "untethered_window_limit_timeout_ns": "1s",
    "untethered_linger_timeout_ns": "1s",
    "untethered_resting_timeout_ns": "1s",
    "flow_control_receiver_timeout_ns": "1s",
}

# A driver that keeps names; its counter of neighbours tells the port. The C driver asks for the supplier too.
RESOLVER = {
    "name_resolver_supplier": "driver",
    "driver_resolver_name": "resolver-under-test",
    "driver_resolver_interface": "127.0.0.1:{free_port}",
}

# The same for a case's own driver, with intervals that a case can wait for.
QUICK_RESOLVER = {
    **RESOLVER,
    "driver_resolver_self_resolution_interval_ns": "200ms",
    "driver_resolver_neighbor_resolution_interval_ns": "400ms",
    "driver_resolver_neighbor_timeout_ns": "2s",
}

# Half of all session ids are not for the driver to choose.
FEW_SESSION_IDS = {"publication_reserved_session_id_low": "0", "publication_reserved_session_id_high": str(2**31 - 1)}

# A driver that a client may end. The C driver has another word for it, which its adapter knows.
TERMINATION_ALLOWED = {"driver_termination_validator": "io.aeron.driver.DefaultAllowTerminationValidator"}

# A driver that leaves alone what it finds, and takes with it what it made.
BESIDE_ANOTHER = {"dir_delete_on_start": "false", "dir_delete_on_shutdown": "true"}

# Retransmissions that wait a while, and then keep their places for longer than a case lasts.
SLOW_RESEND = {"retransmit_unicast_delay_ns": "20ms", "retransmit_unicast_linger_ns": "2s"}

# A receiver that tells its group tag, and takes few sessions of a stream.
TAGGED_AND_LIMITED = {"receiver_group_tag": "77", "driver_stream_session_limit": "2"}

# Cubic congestion control that measures, and lets its window alone for a while.
CUBIC = {"cubic_congestion_control_measure_rtt": "true", "cubic_congestion_control_initial_rtt_ns": "300ms"}
