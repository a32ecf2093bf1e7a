"""Options, counters and error codes: defaults as the protocol's reference has them, and labels read back from live drivers."""

from __future__ import annotations

import pytest

from aerowire.codecs.tables.counters import (
    COUNTER_LABEL_FORMATS,
    SYSTEM_COUNTER_LABELS,
    CounterType,
    SystemCounter,
    format_label,
    parse_label,
    system_counter_label,
)
from aerowire.codecs.tables.errors import ERROR_DESCRIPTIONS, ErrorCode
from aerowire.codecs.tables.options import OPTION_BY_ENV, OPTION_BY_PROPERTY, OPTIONS

MS, S = 1_000_000, 1_000_000_000

# AeronStat's view of a sending and a receiving C driver, 1.53.0-SNAPSHOT, taken live.
LIVE_LABELS = [
    (
        CounterType.SND_CHANNEL,
        "snd-channel: aeron:udp?endpoint=127.0.0.1:40402|term-length=64k 127.0.0.1:54902",
        {"channel": "aeron:udp?endpoint=127.0.0.1:40402|term-length=64k", "address": "127.0.0.1:54902"},
    ),
    (
        CounterType.RCV_CHANNEL,
        "rcv-channel: aeron:udp?endpoint=127.0.0.1:40401 127.0.0.1:40401",
        {"channel": "aeron:udp?endpoint=127.0.0.1:40401", "address": "127.0.0.1:40401"},
    ),
    (
        CounterType.LOCAL_SOCKADDR,
        "snd-local-sockaddr: 47 127.0.0.1:54902",
        {"direction": "snd", "channel_status_id": 47, "address": "127.0.0.1:54902"},
    ),
    (
        CounterType.LOCAL_SOCKADDR,
        "rcv-local-sockaddr: 46 127.0.0.1:40401",
        {"direction": "rcv", "channel_status_id": 46, "address": "127.0.0.1:40401"},
    ),
    (
        CounterType.PUB_POS,
        "pub-pos (exclusive): 6 624645062 1001 aeron:udp?endpoint=127.0.0.1:40401|term-length=64k|alias=snap",
        {
            "mode": "exclusive",
            "registration_id": 6,
            "session_id": 624645062,
            "stream_id": 1001,
            "channel": "aeron:udp?endpoint=127.0.0.1:40401|term-length=64k|alias=snap",
        },
    ),
    (
        CounterType.SUB_POS,
        "sub-pos: 4 624645061 1002 aeron:udp?endpoint=127.0.0.1:40402|reliable=false @0",
        {
            "registration_id": 4,
            "session_id": 624645061,
            "stream_id": 1002,
            "channel": "aeron:udp?endpoint=127.0.0.1:40402|reliable=false",
            "join_position": 0,
        },
    ),
    (
        CounterType.RCV_NAKS_SENT,
        "rcv-naks-sent: 6 624645062 1001 aeron:udp?endpoint=127.0.0.1:40401",
        {"registration_id": 6, "session_id": 624645062, "stream_id": 1001, "channel": "aeron:udp?endpoint=127.0.0.1:40401"},
    ),
    (
        CounterType.CLIENT_HEARTBEAT,
        "client-heartbeat: id=1 name= version=1.53.0-SNAPSHOT commit=+guilty",
        {"client_id": 1, "client_name": "", "version": "1.53.0-SNAPSHOT", "commit": "+guilty"},
    ),
]
LIVE_SYSTEM_LABELS = {
    0: "Bytes sent",
    15: "Errors: version=1.53.0-SNAPSHOT commit=+guilty",
    18: "Sender flow control limits, i.e. back-pressure events",
    25: "Resolution changes: driverName=",
    26: "Conductor max cycle time doing its work in ns: SHARED",
    27: "Conductor work cycle exceeded threshold count: threshold=100ms SHARED",
    32: "NameResolver max time in ns",
    33: "NameResolver exceeded threshold count: threshold=5s",
    34: "Aeron software: version=1.53.0-SNAPSHOT commit=+guilty",
    45: "Failed offers to NativeResourceAgentProxy",
}
LIVE_THRESHOLDS = {27: "100ms", 33: "5s"}


@pytest.mark.parametrize(("kind", "label", "fields"), LIVE_LABELS)
def test_labels_of_live_drivers_are_read_and_written(kind: CounterType, label: str, fields: dict[str, int | str]) -> None:
    assert parse_label(kind, label) == fields
    assert format_label(kind, **fields) == label


def test_label_without_its_suffix_is_read() -> None:
    assert parse_label(CounterType.SUB_POS, "sub-pos: 1 -2 3 aeron:ipc") == {
        "registration_id": 1,
        "session_id": -2,
        "stream_id": 3,
        "channel": "aeron:ipc",
    }
    assert parse_label(CounterType.CLIENT_HEARTBEAT, "client-heartbeat: id=7") == {"client_id": 7}
    assert parse_label(CounterType.SND_CHANNEL, "snd-channel: aeron:udp?endpoint=h:1 ") == {
        "channel": "aeron:udp?endpoint=h:1",
        "address": "",
    }


def test_label_of_another_type_is_not_read() -> None:
    assert parse_label(CounterType.PUB_LMT, "snd-lmt: 1 2 3 aeron:ipc") is None
    assert parse_label(CounterType.PUB_LMT, "pub-lmt: x 2 3 aeron:ipc") is None
    assert parse_label(999, "anything") is None


def test_system_labels_are_those_of_a_live_driver() -> None:
    fields = {"version": "1.53.0-SNAPSHOT", "commit": "+guilty", "driver_name": "", "threading_mode": "SHARED"}
    found = {key: system_counter_label(key, **fields, threshold=LIVE_THRESHOLDS.get(key, "")) for key in LIVE_SYSTEM_LABELS}
    assert found == LIVE_SYSTEM_LABELS
    assert [counter.value for counter in SystemCounter] == list(range(46)) == [counter.value for counter in SYSTEM_COUNTER_LABELS]


def test_counter_types_of_a_driver_are_there() -> None:
    driver = {kind.value: kind for kind in CounterType if kind.value < 50}
    assert sorted(driver) == [*range(8), *range(9, 22)]
    assert {kind for kind in driver.values() if kind not in COUNTER_LABEL_FORMATS} == {CounterType.SYSTEM}


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("term_buffer_length", 16 << 20),
        ("ipc_term_buffer_length", 64 << 20),
        ("low_file_store_warning_threshold", 160 << 20),
        ("conductor_buffer_length", (1 << 20) + 768),
        ("clients_buffer_length", (1 << 20) + 128),
        ("counters_buffer_length", 8 << 20),
        ("error_buffer_length", 4 << 20),
        ("loss_report_buffer_length", 1 << 20),
        ("mtu_length", 1408),
        ("rcv_initial_window_length", 128 << 10),
        ("rcv_status_message_timeout_ns", 200 * MS),
        ("client_liveness_timeout_ns", 10 * S),
        ("publication_unblock_timeout_ns", 15 * S),
        ("driver_timeout_ns", 10 * S),
        ("nak_unicast_delay_ns", 1000),
        ("nak_multicast_max_backoff_ns", 10 * MS),
        ("retransmit_unicast_delay_ns", 0),
        ("term_buffer_sparse_file", True),
        ("dir_delete_on_start", False),
        ("threading_mode", "DEDICATED"),
        ("receiver_group_tag", None),
        ("driver_stream_session_limit", 2**31 - 1),
        ("client_keepalive_interval_ns", 500 * MS),
        ("client_resource_linger_duration_ns", 3 * S),
        ("debug_receive_data_loss_rate", 0.0),
        ("debug_send_control_reorder_rate", 0.0),
        ("debug_send_data_loss_seed", -1),
    ],
)
def test_defaults_are_aerons(name: str, default: object) -> None:
    assert OPTIONS[name].default == default
    assert type(OPTIONS[name].default) is type(default)


def test_option_without_a_default_follows_another() -> None:
    option = OPTIONS["untethered_linger_timeout_ns"]
    assert (option.default, option.default_of) == (None, "untethered_window_limit_timeout_ns")


def test_options_are_found_by_property_and_environment() -> None:
    assert OPTION_BY_PROPERTY["aeron.client.liveness.timeout"] is OPTION_BY_ENV["AERON_CLIENT_LIVENESS_TIMEOUT"]
    assert OPTION_BY_ENV["AERON_DRIVER_NAME_RESOLVER_THRESHOLD"].property == "aeron.name.resolver.threshold"
    assert all(option.description.endswith(".") for option in OPTIONS.values())
    assert len(OPTION_BY_PROPERTY) == len(OPTION_BY_ENV) == len(OPTIONS)


def test_error_codes_are_numbered_as_the_protocol_says() -> None:
    assert [code.value for code in ErrorCode] == list(range(-1, 15))
    assert ErrorCode(13) is ErrorCode.IMAGE_REJECTED
    assert set(ERROR_DESCRIPTIONS) == set(ErrorCode)
