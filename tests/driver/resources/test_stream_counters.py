"""Counters by label, key and owner: literals from counters of a live official driver."""

from __future__ import annotations

import pytest

from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.driver.resources.stream_counters import StreamCounters, allocate_system_counters
from aerowire.ipc.counters import CountersManager

COUNT = 64
UDP = "aeron:udp?endpoint=127.0.0.1:40402|term-length=64k"
UDP_KEY = b"\x05\0\0\0\0\0\0\0\xc5S;%\xea\x03\0\0\x32\0\0\0" + UDP.encode()


@pytest.fixture
def counters() -> StreamCounters:
    return StreamCounters(CountersManager(bytearray(COUNT * 512), bytearray(COUNT * 128)))


def facts(counters: StreamCounters, counter_id: int) -> tuple[str, int, bytes, int, int, int]:
    manager = counters.manager
    return (
        manager.label(counter_id),
        manager.type_id(counter_id),
        manager.key(counter_id).rstrip(b"\0"),
        manager.registration_id(counter_id),
        manager.owner_id(counter_id),
        manager.reference_id(counter_id),
    )


@pytest.mark.parametrize(
    ("counter_type", "type_id", "name"),
    [
        (CounterType.PUB_POS, 12, "pub-pos (exclusive)"),
        (CounterType.PUB_LMT, 1, "pub-lmt"),
        (CounterType.SND_POS, 2, "snd-pos"),
        (CounterType.SND_LMT, 9, "snd-lmt"),
        (CounterType.SND_BPE, 13, "snd-bpe"),
        (CounterType.SND_NAKS_RECEIVED, 19, "snd-naks-received"),
        (CounterType.RCV_HWM, 3, "rcv-hwm"),
        (CounterType.RCV_POS, 5, "rcv-pos"),
        (CounterType.RCV_NAKS_SENT, 20, "rcv-naks-sent"),
    ],
)
def test_counters_of_a_stream(counters: StreamCounters, counter_type: CounterType, type_id: int, name: str) -> None:
    counter_id = counters.stream(
        counter_type, client_id=4, registration_id=5, session_id=624645061, stream_id=1002, channel=UDP, mode="exclusive"
    )
    assert facts(counters, counter_id) == (f"{name}: 5 624645061 1002 {UDP}", type_id, UDP_KEY, 5, 4, 0)


def test_a_subscriber_position_names_its_image_and_where_it_joined(counters: StreamCounters) -> None:
    counter_id = counters.stream(
        CounterType.SUB_POS, client_id=1, registration_id=2, session_id=624645063, stream_id=2001, channel="aeron:ipc", reference_id=8
    )
    counters.append_join_position(counter_id, 0)
    key = b"\x02\0\0\0\0\0\0\0\xc7S;%\xd1\x07\0\0\t\0\0\0aeron:ipc"
    assert facts(counters, counter_id) == ("sub-pos: 2 624645063 2001 aeron:ipc @0", 4, key, 2, 1, 8)


@pytest.mark.parametrize(("counter_type", "type_id", "prefix"), [(CounterType.SND_CHANNEL, 6, "snd"), (CounterType.RCV_CHANNEL, 7, "rcv")])
def test_an_endpoint_s_status_and_address(counters: StreamCounters, counter_type: CounterType, type_id: int, prefix: str) -> None:
    status_id = counters.channel_status(counter_type, 5, UDP)
    assert counters.manager.value(status_id) == 0
    address_id = counters.local_sockaddr(5, status_id, prefix, "127.0.0.1:54902")
    counters.append_bound_address(status_id, "127.0.0.1:54902")
    assert facts(counters, status_id) == (f"{prefix}-channel: {UDP} 127.0.0.1:54902", type_id, b"\x32\0\0\0" + UDP.encode(), 5, 0, 0)
    key = status_id.to_bytes(4, "little") + b"\x0f\0\0\x00127.0.0.1:54902"
    address = facts(counters, address_id)
    assert (address[0], address[1]) == (f"{prefix}-local-sockaddr: {status_id} 127.0.0.1:54902", 14)
    assert counters.manager.key(address_id).startswith(key)
    assert (counters.manager.value(status_id), counters.manager.value(address_id)) == (1, 1)


def test_a_client_s_heartbeat_beats_at_once(counters: StreamCounters) -> None:
    counter_id = counters.client_heartbeat(4, 1_795_249_507_387)
    assert facts(counters, counter_id) == ("client-heartbeat: id=4", 11, b"\x04", 4, 4, 0)
    assert counters.manager.value(counter_id) == 1_795_249_507_387


def test_long_channels_are_cut_to_the_key_and_the_label(counters: StreamCounters) -> None:
    channel = "aeron:ipc?alias=" + "x" * 1000
    counter_id = counters.stream(CounterType.SUB_POS, client_id=1, registration_id=2, session_id=3, stream_id=4, channel=channel)
    counters.append_join_position(counter_id, 96)
    label, _, key, *_ = facts(counters, counter_id)
    assert len(label) == 380
    assert len(key) == 112
    assert key[16:20] == (92).to_bytes(4, "little")
    status_id = counters.channel_status(CounterType.RCV_CHANNEL, 2, channel)
    counters.append_bound_address(status_id, "127.0.0.1:1")
    assert len(counters.manager.label(status_id)) == 380


def test_system_counters_have_their_number_as_id() -> None:
    manager = CountersManager(bytearray(COUNT * 512), bytearray(COUNT * 128))
    allocate_system_counters(
        manager,
        version="1.53.0-SNAPSHOT",
        commit="+guilty",
        driver_name="",
        threading_mode="SHARED",
        thresholds={
            SystemCounter.CONDUCTOR_CYCLE_TIME_THRESHOLD_EXCEEDED: "100ms",
            SystemCounter.SENDER_CYCLE_TIME_THRESHOLD_EXCEEDED: "100ms",
            SystemCounter.RECEIVER_CYCLE_TIME_THRESHOLD_EXCEEDED: "100ms",
            SystemCounter.NAME_RESOLVER_TIME_THRESHOLD_EXCEEDED: "5s",
        },
    )
    labels = [item.label for item in manager.for_each()]
    assert labels[46:] == [
        "Images refused by limits",
        "Setup requests refused by limits",
        "Receivers refused by full tables",
        "Retransmit bytes refused by limit",
        "Stream ends disbelieved",
        "Error Frames ignored by limit",
    ]
    assert {index: labels[index] for index in (0, 13, 15, 25, 26, 27, 31, 33, 34, 45)} == {
        0: "Bytes sent",
        13: "Flow control over runs",
        15: "Errors: version=1.53.0-SNAPSHOT commit=+guilty",
        25: "Resolution changes: driverName=",
        26: "Conductor max cycle time doing its work in ns: SHARED",
        27: "Conductor work cycle exceeded threshold count: threshold=100ms SHARED",
        31: "Receiver work cycle exceeded threshold count: threshold=100ms SHARED",
        33: "NameResolver exceeded threshold count: threshold=5s",
        34: "Aeron software: version=1.53.0-SNAPSHOT commit=+guilty",
        45: "Failed offers to NativeResourceAgentProxy",
    }
    official = list(manager.for_each())[:46]
    assert {(item.type_id, item.registration_id, item.owner_id, item.key[:4]) for item in official} == {
        (0, index, -1, index.to_bytes(4, "little")) for index in range(46)
    }
